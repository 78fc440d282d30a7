// Loads the package and boostforest.wasm from the folder that is the first argument; for each line of JSON on standard
// input, {path, rows, coverage}, writes one with what the model says. {"big": "…"} stands for a BigInt.
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { load } = await import(pathToFileURL(`${process.argv[2]}/index.js`));
const cell = (value) => (value !== null && typeof value === "object" ? BigInt(value.big) : value);

async function answer({ path, rows, coverage }) {
  const forest = await load(await readFile(path));
  const { columns, classes, categories, nTrees, hasIntervals } = forest;
  const table = rows.map((row) => (Array.isArray(row) ? row.map(cell) : row));
  const predicted = Array.from(forest.predict(table));
  const probabilities = classes === null ? null : forest.predictProba(table).map((row) => Array.from(row));
  const intervals = hasIntervals ? forest.predictInterval(table, coverage) : null;
  return { columns, classes, categories, nTrees, predicted, probabilities, intervals };
}

for await (const line of createInterface({ input: process.stdin })) {
  const found = await answer(JSON.parse(line)).catch((error) => ({
    error: error.message,
    name: error.name,
    status: error.status,
  }));
  console.log(JSON.stringify(found));
}
