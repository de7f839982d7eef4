import { ShapeError } from "../errors.js";
import { expectDType, showShape } from "../tensor/check.js";
import type { Tensor } from "../tensor/tensor.js";

/** Where tokens looked, as plain data: it can be posted between threads and drawn anywhere. */
export interface AttentionMap {
  /** What stands above its picture. */
  readonly title?: string | undefined;
  readonly kind: "self" | "cross" | "additive";
  /** Texts of the tokens that look. */
  readonly queries: readonly string[];
  /** Texts of the tokens that are looked at. */
  readonly keys: readonly string[];
  /** [layers][heads][queries][keys] */
  readonly weights: readonly (readonly (readonly Float32Array[])[])[];
}

export interface AttentionMapOptions {
  readonly queries: readonly string[];
  /** Default: the queries, which look at each other. */
  readonly keys?: readonly string[] | undefined;
  /** Default "cross" when keys are given, else "self". */
  readonly kind?: AttentionMap["kind"] | undefined;
  /** Which sequence of the batch; default 0. */
  readonly row?: number | undefined;
  readonly title?: string | undefined;
}

/** What a translation, and a sentence of one, say about where the decoder looked. */
export interface Alignment {
  readonly text?: string;
  readonly source: { readonly tokens: readonly string[]; readonly words: readonly string[] };
  readonly target: { readonly tokens: readonly string[]; readonly words: readonly string[] };
  /** [target pieces][source pieces] */
  readonly attention: readonly Float32Array[];
  /** [target words][source words] */
  readonly alignment: readonly Float32Array[];
}

/** Numbers of a map; layers and heads are 1 at least. */
export interface MapSizes {
  readonly layers: number;
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
}

const KINDS: readonly string[] = ["self", "cross", "additive"];
/** Weights of one map that are drawn at all: 64 MiB. */
const MOST_WEIGHTS = 2 ** 24;

/**
 * The attention of one sequence of a batch, from the weights that ops and modules return.
 *
 * Rows and columns behind the tokens are padding, and left away.
 *
 * @param weights  f32[B, heads, Lq, Lk], f32[B, Lq, Lk] or f32[Lq, Lk]; several are layers
 * @throws {ShapeError} there are more tokens than rows or columns, or a padded key was looked at
 * @throws {RangeError} a weight is no number from 0 up, or the batch has no such row
 * @example
 * const { weights } = attention.forward(x, x, x, { averageWeights: false });
 * const picture = attentionSvg(attentionMap(weights, { queries: words }));
 */
export function attentionMap(
  weights: Tensor | readonly Tensor[],
  options: AttentionMapOptions,
): AttentionMap {
  const { queries, keys = queries, row = 0, title } = options;
  const kind = options.kind ?? (options.keys ? "cross" : "self");
  const layers = Array.isArray(weights) ? (weights as Tensor[]) : [weights as Tensor];
  const map: AttentionMap = {
    ...(title !== undefined && { title }),
    kind,
    queries: [...queries],
    keys: [...keys],
    weights: layers.map((layer) => headsOf(layer, row, queries.length, keys.length)),
  };
  checkMap("attentionMap", map);
  return map;
}

/**
 * Where a translation looked: target words at source words, or target pieces at source pieces.
 *
 * @param by  default "words"
 */
export function alignmentMap(aligned: Alignment, by: "words" | "tokens" = "words"): AttentionMap {
  const { text, source, target, alignment, attention } = aligned;
  return {
    ...(text !== undefined && { title: text }),
    kind: "additive",
    queries: target[by],
    keys: source[by],
    weights: [[by === "words" ? alignment : attention]],
  };
}

/**
 * What every picture asks of a map.
 *
 * @throws {TypeError} a part is of the wrong kind
 * @throws {ShapeError} weights and tokens do not fit
 * @throws {RangeError} a weight is no number from 0 up, or there are too many
 */
export function checkMap(who: string, map: AttentionMap): MapSizes {
  if (typeof map !== "object" || map === null)
    throw new TypeError(`${who}: the map must be an AttentionMap, got ${kindOf(map)}`);
  if (!KINDS.includes(map.kind))
    throw new TypeError(`${who}: kind must be self, cross or additive, got ${kindOf(map.kind)}`);
  if (map.title !== undefined && typeof map.title !== "string")
    throw new TypeError(`${who}: the title must be a string, got ${kindOf(map.title)}`);
  const queries = countTexts(who, "queries", map.queries);
  const keys = countTexts(who, "keys", map.keys);
  const layers = countParts(who, "weights", map.weights);
  if (layers === 0) throw new ShapeError(`${who}: weights must have at least one layer, got none`);
  const heads = countParts(who, "layer 0", map.weights[0]);
  if (heads === 0) throw new ShapeError(`${who}: a layer must have at least one head, got none`);
  if (layers * heads * queries * keys > MOST_WEIGHTS)
    throw new RangeError(
      `${who}: a map must have at most ${MOST_WEIGHTS} weights, got ${showShape([layers, heads, queries, keys])}. Draw fewer layers or tokens`,
    );
  map.weights.forEach((layer, l) => {
    const count = countParts(who, `layer ${l}`, layer);
    if (count !== heads)
      throw new ShapeError(
        `${who}: layer ${l} must have ${heads} heads as the first, got ${count}`,
      );
    layer.forEach((head, h) => {
      checkHead(who, `layer ${l}, head ${h}`, head, queries, keys);
    });
  });
  return { layers, heads, queries, keys };
}

/** An index of a layer or head, counted from 0. @throws {RangeError} there is no such one */
export function expectIndex(who: string, name: string, index: number, count: number): number {
  if (!(Number.isInteger(index) && index >= 0 && index < count))
    throw new RangeError(`${who}: ${name} must lie in 0 … ${count - 1}, got ${index}`);
  return index;
}

/** What a map is, in words. */
export function nameOf(kind: AttentionMap["kind"]): string {
  return kind === "additive" ? "additive attention" : `${kind}-attention`;
}

/** A layer's weights averaged over its heads. */
export function meanOfHeads(heads: readonly (readonly Float32Array[])[]): readonly Float32Array[] {
  const [first = [], ...others] = heads;
  if (others.length === 0) return first;
  return first.map((row, query) =>
    row.map((_, key) => {
      let sum = 0;
      for (const head of heads) sum += head[query]?.[key] ?? 0;
      return sum / heads.length;
    }),
  );
}

/** [heads][queries][keys] of one sequence of a batch, without what is padding. */
function headsOf(layer: Tensor, row: number, queries: number, keys: number): Float32Array[][] {
  expectDType("attentionMap", layer, "f32", "weights");
  const { shape } = layer;
  if (shape.length < 2 || shape.length > 4)
    throw new ShapeError(
      `attentionMap: weights must be [B, heads, Lq, Lk], [B, Lq, Lk] or [Lq, Lk], got ${showShape(shape)}`,
    );
  const [height, width] = shape.slice(-2) as [number, number];
  const batch = shape.length > 2 ? (shape[0] as number) : 1;
  const heads = shape.length > 3 ? (shape[1] as number) : 1;
  if (!(Number.isInteger(row) && row >= 0 && row < batch))
    throw new RangeError(`attentionMap: row must lie in 0 … ${batch - 1}, got ${row}`);
  if (queries > height || keys > width)
    throw new ShapeError(
      `attentionMap: weights must have a row a query and a column a key, got ${showShape(shape)} for ${queries} queries and ${keys} keys`,
    );
  const values = layer.read() as Float32Array;
  return Array.from({ length: heads }, (_, head) =>
    Array.from({ length: queries }, (_, query) => {
      const from = ((row * heads + head) * height + query) * width;
      const padding = values.subarray(from + keys, from + width);
      if (padding.some((weight) => weight !== 0))
        throw new ShapeError(
          `attentionMap: keys that are left away must have weight 0, got ${showShape(shape)} for ${keys} keys, and query ${query} looks behind them. Mask the padding, or name all keys`,
        );
      return values.slice(from, from + keys);
    }),
  );
}

function countTexts(who: string, name: string, texts: unknown): number {
  const { length } = expectArray(who, name, texts);
  (texts as unknown[]).forEach((text, index) => {
    if (typeof text !== "string")
      throw new TypeError(`${who}: ${name} must be strings, got ${kindOf(text)} at ${index}`);
  });
  return length;
}

function countParts(who: string, name: string, parts: unknown): number {
  return expectArray(who, name, parts).length;
}

function expectArray(who: string, name: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value))
    throw new TypeError(`${who}: ${name} must be an array, got ${kindOf(value)}`);
  return value;
}

function checkHead(who: string, where: string, head: unknown, queries: number, keys: number): void {
  const rows = expectArray(who, where, head);
  if (rows.length !== queries)
    throw new ShapeError(
      `${who}: ${where} must have a row for each of ${queries} queries, got ${rows.length}`,
    );
  rows.forEach((row, query) => {
    if (!(row instanceof Float32Array))
      throw new TypeError(
        `${who}: ${where}, query ${query} must be a Float32Array, got ${kindOf(row)}. Use Float32Array.from`,
      );
    if (row.length !== keys)
      throw new ShapeError(
        `${who}: ${where}, query ${query} must have a weight for each of ${keys} keys, got ${row.length}`,
      );
    const bad = row.findIndex((weight) => !(weight >= 0 && weight < Infinity));
    if (bad >= 0)
      throw new RangeError(
        `${who}: weights must be numbers from 0 up, got ${row[bad]} at ${where}, query ${query}, key ${bad}`,
      );
  });
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value;
}
