// @ts-nocheck: AssemblyScript, which limit.ts compiles at its start.
/** The two limits of this machine for WebAssembly: arithmetic in registers, and reading memory. */

/**
 * a ← a·x + y in twelve independent chains of four lanes: 96 flops a turn. Twelve chains, x, y and a
 * product fill V8's fifteen vector registers.
 */
export function multiplyAdd(turns: i32, factor: f32, summand: f32): f32 {
  const x = f32x4.splat(factor);
  const y = f32x4.splat(summand);
  let a0 = f32x4.splat(1);
  let a1 = f32x4.splat(2);
  let a2 = f32x4.splat(3);
  let a3 = f32x4.splat(4);
  let a4 = f32x4.splat(5);
  let a5 = f32x4.splat(6);
  let a6 = f32x4.splat(7);
  let a7 = f32x4.splat(8);
  let a8 = f32x4.splat(9);
  let a9 = f32x4.splat(10);
  let a10 = f32x4.splat(11);
  let a11 = f32x4.splat(12);
  do {
    a0 = f32x4.add(f32x4.mul(a0, x), y);
    a1 = f32x4.add(f32x4.mul(a1, x), y);
    a2 = f32x4.add(f32x4.mul(a2, x), y);
    a3 = f32x4.add(f32x4.mul(a3, x), y);
    a4 = f32x4.add(f32x4.mul(a4, x), y);
    a5 = f32x4.add(f32x4.mul(a5, x), y);
    a6 = f32x4.add(f32x4.mul(a6, x), y);
    a7 = f32x4.add(f32x4.mul(a7, x), y);
    a8 = f32x4.add(f32x4.mul(a8, x), y);
    a9 = f32x4.add(f32x4.mul(a9, x), y);
    a10 = f32x4.add(f32x4.mul(a10, x), y);
    a11 = f32x4.add(f32x4.mul(a11, x), y);
  } while (--turns > 0);
  a0 = f32x4.add(f32x4.add(a0, a1), f32x4.add(a2, a3));
  a4 = f32x4.add(f32x4.add(a4, a5), f32x4.add(a6, a7));
  a8 = f32x4.add(f32x4.add(a8, a9), f32x4.add(a10, a11));
  return f32x4.extract_lane(f32x4.add(a0, f32x4.add(a4, a8)), 0);
}

/** Adds up `bytes` from address 0, a multiple of 128; with more than eight loads a turn V8 spills. */
export function read(bytes: i32): f32 {
  let a0 = f32x4.splat(0);
  let a1 = a0;
  let a2 = a0;
  let a3 = a0;
  let a4 = a0;
  let a5 = a0;
  let a6 = a0;
  let a7 = a0;
  for (let at: usize = 0; at < <usize>bytes; at += 128) {
    a0 = f32x4.add(a0, v128.load(at));
    a1 = f32x4.add(a1, v128.load(at, 16));
    a2 = f32x4.add(a2, v128.load(at, 32));
    a3 = f32x4.add(a3, v128.load(at, 48));
    a4 = f32x4.add(a4, v128.load(at, 64));
    a5 = f32x4.add(a5, v128.load(at, 80));
    a6 = f32x4.add(a6, v128.load(at, 96));
    a7 = f32x4.add(a7, v128.load(at, 112));
  }
  a0 = f32x4.add(f32x4.add(a0, a1), f32x4.add(a2, a3));
  a4 = f32x4.add(f32x4.add(a4, a5), f32x4.add(a6, a7));
  return f32x4.extract_lane(f32x4.add(a0, a4), 0);
}
