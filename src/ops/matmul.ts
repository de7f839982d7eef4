import { ShapeError } from "../errors.js";
import { broadcastShapes, expectDType, sameRuntime, showShape, sizeOf } from "../tensor/check.js";
import { empty } from "../tensor/create.js";
import type { Shape, Tensor } from "../tensor/tensor.js";
import { type Matrix, multiply, multiplyAdd } from "./product.js";
import { gradientOf, record } from "./tape.js";

export interface MatmulOptions {
  /** a is stored [..., k, m]. */
  readonly transposeA?: boolean;
  /** b is stored [..., n, k]. */
  readonly transposeB?: boolean;
}

/**
 * Matrix product of the last two axes: c[..., i, j] = Σₖ a[..., i, k]·b[..., k, j].
 *
 * @param a  f32[..., m, k], or [..., k, m] with transposeA
 * @param b  f32[..., k, n], or [..., n, k] with transposeB
 * @returns f32[..., m, n]; the leading axes broadcast; zeros where k = 0
 * @throws {ShapeError} the shapes above do not fit
 * @example
 * const scores = matmul(q, k, { transposeB: true });
 */
export function matmul(a: Tensor, b: Tensor, options: MatmulOptions = {}): Tensor {
  const { transposeA = false, transposeB = false } = options;
  const { shape, m, n, k, items } = plan(a, b, transposeA, transposeB);
  const { runtime } = a;
  const aItem = (x: Tensor, item: number): Matrix => matrix(x, item, m, k, transposeA);
  const bItem = (x: Tensor, item: number): Matrix => matrix(x, item, k, n, transposeB);
  const cItem = (x: Tensor, item: number): Matrix => matrix(x, item, m, n, false);

  const c = empty(runtime, shape);
  items.forEach(([ia, ib], ic) => {
    multiply(runtime, cItem(c, ic).address, aItem(a, ia), bItem(b, ib));
  });

  return record("matmul", c, [a, b], (dc) => {
    const da = gradientOf(a);
    const db = gradientOf(b);
    items.forEach(([ia, ib], ic) => {
      const [ma, mb, mc] = [aItem(a, ia), bItem(b, ib), cItem(dc, ic)];
      if (da) {
        // da = dc·bᵀ, stored as a is: transposed, it is b·dcᵀ.
        const target = aItem(da, ia).address;
        if (transposeA) multiplyAdd(runtime, target, mb, flipped(mc));
        else multiplyAdd(runtime, target, mc, flipped(mb));
      }
      if (db) {
        // db = aᵀ·dc; transposed, dcᵀ·a.
        const target = bItem(db, ib).address;
        if (transposeB) multiplyAdd(runtime, target, flipped(mc), ma);
        else multiplyAdd(runtime, target, flipped(ma), mc);
      }
    });
    return [null, null];
  });
}

interface Plan {
  readonly shape: number[];
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** For each matrix of the result, which matrices of a and b make it. */
  readonly items: [ia: number, ib: number][];
}

function plan(a: Tensor, b: Tensor, transposeA: boolean, transposeB: boolean): Plan {
  expectDType("matmul", a, "f32", "a");
  expectDType("matmul", b, "f32", "b");
  sameRuntime("matmul", a, b);
  const [aRows, aColumns] = lastTwo(a, "a");
  const [bRows, bColumns] = lastTwo(b, "b");
  const [m, k] = transposeA ? [aColumns, aRows] : [aRows, aColumns];
  const [kOfB, n] = transposeB ? [bColumns, bRows] : [bRows, bColumns];
  if (k !== kOfB)
    throw new ShapeError(
      `matmul: a and b must agree in the axis summed over, got ${k} of a ${showShape(a.shape)} ` +
        `and ${kOfB} of b ${showShape(b.shape)}. See transposeA and transposeB`,
    );
  const aLead = a.shape.slice(0, -2);
  const bLead = b.shape.slice(0, -2);
  const lead = broadcastShapes("matmul", aLead, bLead);
  const shape = [...lead, m, n];
  const count = sizeOf(lead);
  // One b for all: the matrices of a stand below each other and are one tall product.
  if (!transposeA && sizeOf(bLead) === 1 && sizeOf(aLead) === count)
    return { shape, m: count * m, n, k, items: [[0, 0]] };
  const aIndex = broadcastIndex(aLead, lead);
  const bIndex = broadcastIndex(bLead, lead);
  const items = aIndex.map((ia, i): [number, number] => [ia, bIndex[i] ?? 0]);
  return { shape, m, n, k, items };
}

/** For each element of `full` in order, the element of `shape` that broadcasts to it. */
function broadcastIndex(shape: Shape, full: Shape): number[] {
  let index = [0];
  shape = [...Array(full.length - shape.length).fill(1), ...shape];
  full.forEach((length, axis) => {
    const own = shape[axis] ?? 1;
    index = index.flatMap((base) =>
      Array.from({ length }, (_, i) => base * own + (own === 1 ? 0 : i)),
    );
  });
  return index;
}

function lastTwo(x: Tensor, name: string): [number, number] {
  const [rows, columns] = x.shape.slice(-2);
  if (rows === undefined || columns === undefined)
    throw new ShapeError(
      `matmul: ${name} must have at least two axes, got ${showShape(x.shape)}. Add one of length 1`,
    );
  return [rows, columns];
}

/** Matrix number `item` of x, [rows, columns] as it enters the product. */
function matrix(
  x: Tensor,
  item: number,
  rows: number,
  columns: number,
  transposed: boolean,
): Matrix {
  const address = x.ptr + item * rows * columns * 4;
  return transposed
    ? { address, rows: columns, columns: rows, transposed }
    : { address, rows, columns };
}

function flipped(x: Matrix): Matrix {
  return { ...x, transposed: !x.transposed };
}
