/** A value of a row: a number, the text or number of a category; NaN, null and undefined are missing values. */
export type Value = number | string | boolean | bigint | null | undefined;

/** A row: a value for each column, in the order of `Forest.columns`. */
export type Row = ArrayLike<Value>;

/** What a file or a row has that it must not have. */
export class BoostForestError extends Error {
  /** Number of the error in boostforest.h. */
  readonly status: number;
}

/** A tree or a forest. */
export interface Forest {
  /** Names of the columns; x0, x1, … without names in the fit. */
  readonly columns: readonly string[];
  /** Levels of each column that is a category, as text; null for numbers. */
  readonly categories: readonly (readonly string[] | null)[];
  /** Labels of the classes, as text; null for regressors. */
  readonly classes: readonly string[] | null;
  readonly nTrees: number;
  /** Whether there are prediction intervals: the forest was fitted with what they need. */
  readonly hasIntervals: boolean;
  /** The target of each row (Float64Array) or, of a classifier, its most probable class (strings). */
  predict(rows: ArrayLike<Row>): Float64Array | string[];
  /** The probability of each class, an array for each row. */
  predictProba(rows: ArrayLike<Row>): Float64Array[];
  /** For each row [lower, upper], which hold the target with probability `coverage` (0.9 unless said otherwise). */
  predictInterval(rows: ArrayLike<Row>, coverage?: number): [number, number][];
}

export interface Options {
  /** boostforest.wasm, where it does not lie beside index.js; it is used for all models from then on. */
  wasm?: WebAssembly.Module | BufferSource | Promise<BufferSource>;
}

/** Load a model file: the bytes that `save_model` has written. Rejects with a BoostForestError if they are not one. */
export function load(
  bytes: ArrayBuffer | ArrayBufferView | Promise<ArrayBuffer | ArrayBufferView>,
  options?: Options,
): Promise<Forest>;
