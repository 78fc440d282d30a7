// Models of boostforest in JavaScript: boostforest.h, compiled to WebAssembly, and what calls it.

const DOUBLE = 8;
const STATUS_OK = 0;

let shared = null; // the module, once it is compiled

/** What a file or a row has that it must not have; `status` is that of boostforest.h. */
export class BoostForestError extends Error {
  constructor(message, status) {
    super(message);
    this.name = "BoostForestError";
    this.status = status;
  }
}

async function compile(wasm) {
  if (wasm instanceof WebAssembly.Module) return wasm;
  if (wasm !== undefined) return WebAssembly.compile(await wasm);
  const url = new URL("boostforest.wasm", import.meta.url);
  if (url.protocol === "file:" && typeof process !== "undefined") {
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(url));
  }
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`boostforest.wasm cannot be fetched: ${answer.status} ${answer.statusText}`);
  return WebAssembly.compile(await answer.arrayBuffer());
}

/** Memory and functions of one instance: each model has its own, so that all of it is given back at once. */
async function start(wasm) {
  if (wasm !== undefined) shared = compile(wasm);
  shared ??= compile();
  let module;
  try {
    module = await shared;
  } catch (error) {
    shared = null; // the next call tries again
    throw error;
  }
  let upper = 0; // of a 64-bit number that Emscripten hands over in two halves
  const imports = { env: { setTempRet0: (value) => (upper = value), getTempRet0: () => upper } };
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    // Nothing is read, written or asked for: the functions that the C library names are not called.
    if (kind === "function") (imports[from] ??= {})[name] ??= () => 0;
  }
  const { exports } = await WebAssembly.instantiate(module, imports);
  exports._initialize?.();
  return exports;
}

/**
 * Load a model file.
 *
 * @param bytes what `save_model` has written: an ArrayBuffer, a Uint8Array, or a promise of one
 * @param options `wasm`: boostforest.wasm, where it does not lie beside this file
 */
export async function load(bytes, options = {}) {
  const content = await bytes;
  if (!(content instanceof ArrayBuffer) && !ArrayBuffer.isView(content)) {
    throw new TypeError("load needs the bytes of a model file: an ArrayBuffer or a Uint8Array");
  }
  const view = ArrayBuffer.isView(content)
    ? new Uint8Array(content.buffer, content.byteOffset, content.byteLength)
    : new Uint8Array(content);
  return new Forest(await start(options.wasm), view);
}

class Forest {
  #c; // the functions of boostforest.h
  #forest;
  #kinds;
  #work = { at: 0, size: 0 };

  constructor(c, bytes) {
    this.#c = c;
    const status = this.#take(4);
    const place = this.#take(bytes.length);
    new Uint8Array(c.memory.buffer).set(bytes, place);
    this.#forest = c.bf_load(place, bytes.length, status);
    c.free(place);
    const number = new Int32Array(c.memory.buffer)[status / 4];
    c.free(status);
    if (this.#forest === 0) throw this.#error(number);
    const count = (n, text) => Object.freeze(Array.from({ length: n }, (_, i) => text(i)));
    const nColumns = c.n_columns(this.#forest);
    this.columns = count(nColumns, (j) => this.#text(c.column_name(this.#forest, j)));
    const nClasses = c.n_classes(this.#forest);
    this.classes = nClasses === 0 ? null : count(nClasses, (k) => this.#text(c.class_name(this.#forest, k)));
    this.nTrees = c.n_trees(this.#forest);
    this.hasIntervals = c.has_intervals(this.#forest) !== 0;
    this.#kinds = count(nColumns, (j) => c.column_kind(this.#forest, j));
    this.categories = count(nColumns, (j) => (this.#kinds[j] === 0 ? null : this.#levels(j)));
    Object.freeze(this);
  }

  /** The target of each row or, of a classifier, its most probable class. */
  predict(rows) {
    const results = this.#results(rows);
    if (this.classes === null) return results;
    const n = this.classes.length;
    return Array.from({ length: results.length / n }, (_, i) => {
      const own = results.subarray(i * n, (i + 1) * n);
      return this.classes[own.indexOf(Math.max(...own))];
    });
  }

  /** The probability of each class, an array for each row. */
  predictProba(rows) {
    if (this.classes === null) throw new TypeError("predictProba is for classifiers: this model predicts numbers");
    const results = this.#results(rows);
    const n = this.classes.length;
    return Array.from({ length: results.length / n }, (_, i) => results.slice(i * n, (i + 1) * n));
  }

  /** For each row [lower, upper], which hold the target with probability `coverage`. */
  predictInterval(rows, coverage = 0.9) {
    const c = this.#c;
    const { place, n } = this.#put(rows);
    const work = this.#take(DOUBLE * (c.bf_work(this.#forest, 1) + 2));
    try {
      return Array.from({ length: n }, (_, i) => {
        const row = place + DOUBLE * i * this.columns.length;
        const status = c.bf_interval(this.#forest, row, this.columns.length, coverage, work, work + 2 * DOUBLE);
        if (status !== STATUS_OK) throw this.#error(status, i);
        return Array.from(new Float64Array(c.memory.buffer, work, 2));
      });
    } finally {
      c.free(work);
      c.free(place);
    }
  }

  #results(rows) {
    const c = this.#c;
    const { place, n } = this.#put(rows);
    const nResults = n * c.bf_n_results(this.#forest);
    const results = this.#take(DOUBLE * nResults + 4);
    const work = this.#workspace(c.bf_work(this.#forest, n));
    const done = results + DOUBLE * nResults;
    const status = c.bf_predict_rows(this.#forest, place, n, this.columns.length, results, work, done);
    const found = new Float64Array(c.memory.buffer, results, nResults).slice();
    const row = new Uint32Array(c.memory.buffer)[done / 4];
    c.free(results);
    c.free(place);
    if (status !== STATUS_OK) throw this.#error(status, row);
    return found;
  }

  /** Put rows into memory, categories as numbers of their levels. */
  #put(rows) {
    if (typeof rows?.length !== "number") throw new TypeError("rows must be an array of rows");
    const d = this.columns.length;
    const place = this.#take(DOUBLE * rows.length * d);
    try {
      for (let i = 0; i < rows.length; ++i) {
        if (rows[i]?.length !== d) {
          throw new TypeError(`row ${i} must be an array of ${d} values; got ${rows[i]?.length ?? typeof rows[i]}`);
        }
        for (let j = 0; j < d; ++j) {
          const value = this.#value(rows[i][j], i, j);
          new Float64Array(this.#c.memory.buffer)[place / DOUBLE + i * d + j] = value;
        }
      }
    } catch (error) {
      this.#c.free(place);
      throw error;
    }
    return { place, n: rows.length };
  }

  #value(value, i, j) {
    const kind = this.#kinds[j];
    const isMissing = value === null || value === undefined || (typeof value === "number" && Number.isNaN(value));
    if (kind === 0) {
      if (isMissing) return NaN;
      if (typeof value === "number" || typeof value === "boolean") return Number(value);
    } else {
      if (isMissing) return this.#c.bf_text_level(this.#forest, j, 0);
      if (kind === 2 && typeof value !== "string" && typeof value !== "bigint") {
        return this.#c.bf_number_level(this.#forest, j, Number(value));
      }
      if (typeof value === "string" ? kind === 1 : typeof value === "bigint" && kind === 2) return this.#level(j, value);
    }
    const wanted = kind === 1 ? "text" : "a number";
    throw new TypeError(`column ${this.columns[j]} of row ${i} must be ${wanted}; got ${typeof value}`);
  }

  #level(j, value) {
    const bytes = new TextEncoder().encode(String(value));
    const place = this.#take(bytes.length + 1);
    const memory = new Uint8Array(this.#c.memory.buffer);
    memory.set(bytes, place);
    memory[place + bytes.length] = 0;
    const level = bytes.includes(0) ? NaN : this.#c.bf_text_level(this.#forest, j, place);
    this.#c.free(place);
    return level;
  }

  #levels(j) {
    const found = [];
    for (let place; (place = this.#c.level_name(this.#forest, j, found.length)) !== 0; ) {
      found.push(this.#text(place));
    }
    return Object.freeze(found);
  }

  #workspace(n) {
    if (n > this.#work.size) {
      this.#c.free(this.#work.at);
      this.#work.size = 0;
      this.#work.at = this.#take(DOUBLE * n);
      this.#work.size = n;
    }
    return this.#work.at;
  }

  #take(n) {
    const place = this.#c.malloc(Math.max(n, DOUBLE));
    if (place === 0) throw new RangeError(`there is not enough memory for ${n} bytes`);
    return place;
  }

  #text(place) {
    const memory = new Uint8Array(this.#c.memory.buffer);
    return new TextDecoder().decode(memory.subarray(place, memory.indexOf(0, place)));
  }

  #error(status, row) {
    const reason = this.#text(this.#c.bf_error(status));
    return new BoostForestError(row === undefined ? reason : `row ${row}: ${reason}`, status);
  }
}
