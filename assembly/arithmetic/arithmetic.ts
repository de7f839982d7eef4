/**
 * Element by element: y = a ∘ b for ∘ in + − × ÷, with three kernels an operation.
 *
 * `addF32` walks three arrays of one size, `addScalarF32` has a number on the right, and
 * `addStridedF32` broadcasts: the host folds any pair of shapes into [outer, rows, n] and gives
 * each operand a stride an axis, 0 where it is repeated. Every element is one IEEE operation, the
 * tail lane by lane through the same word, so a cut cannot change a bit and NaN passes through.
 */

// @ts-ignore: decorator
@inline
const ADD: i32 = 0;
// @ts-ignore: decorator
@inline
const SUB: i32 = 1;
// @ts-ignore: decorator
@inline
const MUL: i32 = 2;
// @ts-ignore: decorator
@inline
const DIV: i32 = 3;

/** a ∘ b in four lanes; `operation` is a constant at every call, so one branch stays. */
// @ts-ignore: decorator
@inline
function apply(operation: i32, a: v128, b: v128): v128 {
  if (operation == ADD) return f32x4.add(a, b);
  if (operation == SUB) return f32x4.sub(a, b);
  if (operation == MUL) return f32x4.mul(a, b);
  return f32x4.div(a, b);
}

/** y[0..n) = a[0..n) ∘ b[0..n). */
// @ts-ignore: decorator
@inline
function zip(operation: i32, y: usize, a: usize, b: usize, n: i32): void {
  const stop = y + ((<usize>n) << 2);
  // Four vectors a turn: V8 pays for an interrupt check at each back edge.
  for (const last = y + ((<usize>n >> 4) << 6); y < last; y += 64, a += 64, b += 64) {
    v128.store(y, apply(operation, v128.load(a), v128.load(b)));
    v128.store(y, apply(operation, v128.load(a, 16), v128.load(b, 16)), 16);
    v128.store(y, apply(operation, v128.load(a, 32), v128.load(b, 32)), 32);
    v128.store(y, apply(operation, v128.load(a, 48), v128.load(b, 48)), 48);
  }
  for (; y + 16 <= stop; y += 16, a += 16, b += 16) {
    v128.store(y, apply(operation, v128.load(a), v128.load(b)));
  }
  for (; y < stop; y += 4, a += 4, b += 4) {
    v128.store32_lane(y, apply(operation, v128.load32_zero(a), v128.load32_zero(b)), 0);
  }
}

/** y[0..n) = a[0..n) ∘ b, where b holds one number in all lanes. */
// @ts-ignore: decorator
@inline
function zipRight(operation: i32, y: usize, a: usize, b: v128, n: i32): void {
  const stop = y + ((<usize>n) << 2);
  for (const last = y + ((<usize>n >> 4) << 6); y < last; y += 64, a += 64) {
    v128.store(y, apply(operation, v128.load(a), b));
    v128.store(y, apply(operation, v128.load(a, 16), b), 16);
    v128.store(y, apply(operation, v128.load(a, 32), b), 32);
    v128.store(y, apply(operation, v128.load(a, 48), b), 48);
  }
  for (; y + 16 <= stop; y += 16, a += 16) v128.store(y, apply(operation, v128.load(a), b));
  for (; y < stop; y += 4, a += 4) {
    v128.store32_lane(y, apply(operation, v128.load32_zero(a), b), 0);
  }
}

/** y[0..n) = a ∘ b[0..n), where a holds one number in all lanes. */
// @ts-ignore: decorator
@inline
function zipLeft(operation: i32, y: usize, a: v128, b: usize, n: i32): void {
  const stop = y + ((<usize>n) << 2);
  for (; y + 16 <= stop; y += 16, b += 16) v128.store(y, apply(operation, a, v128.load(b)));
  for (; y < stop; y += 4, b += 4) {
    v128.store32_lane(y, apply(operation, a, v128.load32_zero(b)), 0);
  }
}

/** Rows [begin, end) of y [outer, rows, n]; strides in floats, 0 repeats, a step is 0 or 1. */
// @ts-ignore: decorator
@inline
function zipStrided(
  operation: i32,
  y: usize,
  a: usize,
  b: usize,
  rows: i32,
  n: i32,
  aOuter: i32,
  aRow: i32,
  aStep: i32,
  bOuter: i32,
  bRow: i32,
  bStep: i32,
  begin: i32,
  end: i32,
): void {
  for (let r = begin; r < end; r++) {
    const outer = r / rows;
    const row = r - outer * rows;
    const yRow = y + ((<usize>(r * n)) << 2);
    const aAt = a + ((<usize>(outer * aOuter + row * aRow)) << 2);
    const bAt = b + ((<usize>(outer * bOuter + row * bRow)) << 2);
    if (!bStep) zipRight(operation, yRow, aAt, v128.load32_splat(bAt), n);
    else if (!aStep) zipLeft(operation, yRow, v128.load32_splat(aAt), bAt, n);
    else zip(operation, yRow, aAt, bAt, n);
  }
}

/** y = a + b, elements [begin, end). y may be a or b. Backward needs neither. */
export function addF32(y: usize, a: usize, b: usize, begin: i32, end: i32): void {
  const at = (<usize>begin) << 2;
  zip(ADD, y + at, a + at, b + at, end - begin);
}

/** y = a − b, elements [begin, end). y may be a or b. Backward needs neither. */
export function subF32(y: usize, a: usize, b: usize, begin: i32, end: i32): void {
  const at = (<usize>begin) << 2;
  zip(SUB, y + at, a + at, b + at, end - begin);
}

/** y = a·b, elements [begin, end). y may be a or b. Backward needs a and b. */
export function mulF32(y: usize, a: usize, b: usize, begin: i32, end: i32): void {
  const at = (<usize>begin) << 2;
  zip(MUL, y + at, a + at, b + at, end - begin);
}

/** y = a / b, elements [begin, end). y may be a or b. Backward needs b and y. */
export function divF32(y: usize, a: usize, b: usize, begin: i32, end: i32): void {
  const at = (<usize>begin) << 2;
  zip(DIV, y + at, a + at, b + at, end - begin);
}

/** y = a + value, elements [begin, end). y may be a. */
export function addScalarF32(y: usize, a: usize, value: f32, begin: i32, end: i32): void {
  const at = (<usize>begin) << 2;
  zipRight(ADD, y + at, a + at, f32x4.splat(value), end - begin);
}

/** y = scale·x, elements [begin, end). y may be x. */
export function scaleF32(y: usize, x: usize, scale: f32, begin: i32, end: i32): void {
  const at = (<usize>begin) << 2;
  zipRight(MUL, y + at, x + at, f32x4.splat(scale), end - begin);
}

/** y = a / value, elements [begin, end). y may be a. Not a product with 1/value: that rounds twice. */
export function divScalarF32(y: usize, a: usize, value: f32, begin: i32, end: i32): void {
  const at = (<usize>begin) << 2;
  zipRight(DIV, y + at, a + at, f32x4.splat(value), end - begin);
}

/**
 * y = a + b with broadcasting, y [outer, rows, n], rows [begin, end) of outer·rows.
 * Strides are in floats and 0 where an operand is repeated; aStep and bStep are 0 or 1, not both 0.
 */
export function addStridedF32(
  y: usize,
  a: usize,
  b: usize,
  rows: i32,
  n: i32,
  aOuter: i32,
  aRow: i32,
  aStep: i32,
  bOuter: i32,
  bRow: i32,
  bStep: i32,
  begin: i32,
  end: i32,
): void {
  zipStrided(ADD, y, a, b, rows, n, aOuter, aRow, aStep, bOuter, bRow, bStep, begin, end);
}

/** y = a − b with broadcasting; arguments as addStridedF32. */
export function subStridedF32(
  y: usize,
  a: usize,
  b: usize,
  rows: i32,
  n: i32,
  aOuter: i32,
  aRow: i32,
  aStep: i32,
  bOuter: i32,
  bRow: i32,
  bStep: i32,
  begin: i32,
  end: i32,
): void {
  zipStrided(SUB, y, a, b, rows, n, aOuter, aRow, aStep, bOuter, bRow, bStep, begin, end);
}

/** y = a·b with broadcasting; arguments as addStridedF32. */
export function mulStridedF32(
  y: usize,
  a: usize,
  b: usize,
  rows: i32,
  n: i32,
  aOuter: i32,
  aRow: i32,
  aStep: i32,
  bOuter: i32,
  bRow: i32,
  bStep: i32,
  begin: i32,
  end: i32,
): void {
  zipStrided(MUL, y, a, b, rows, n, aOuter, aRow, aStep, bOuter, bRow, bStep, begin, end);
}

/** y = a / b with broadcasting; arguments as addStridedF32. */
export function divStridedF32(
  y: usize,
  a: usize,
  b: usize,
  rows: i32,
  n: i32,
  aOuter: i32,
  aRow: i32,
  aStep: i32,
  bOuter: i32,
  bRow: i32,
  bStep: i32,
  begin: i32,
  end: i32,
): void {
  zipStrided(DIV, y, a, b, rows, n, aOuter, aRow, aStep, bOuter, bRow, bStep, begin, end);
}
