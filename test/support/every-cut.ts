import type { KernelSignatures } from "../../src/kernels/signatures.js";
import { expectSameBits } from "./compare.js";
import type { KernelBench } from "./kernel.js";

/** A kernel's arguments in fresh buffers, and its outputs. */
export interface PreparedCall<K extends keyof KernelSignatures> {
  readonly args: KernelSignatures[K];
  read(): ArrayLike<number>;
}

/**
 * Runs a kernel over [0, range) in one piece, then cut in several ways and in any order: the
 * outputs must have the same bits and the guards must stand.
 *
 * @param prepare  called anew for every cut, after the buffers were forgotten
 * @returns the outputs
 */
export function overEveryCut<K extends keyof KernelSignatures>(
  kernels: KernelBench,
  kernel: K,
  range: number,
  prepare: () => PreparedCall<K>,
): number[] {
  const run = (parts: readonly (readonly [number, number])[]): number[] => {
    kernels.reset();
    const { args, read } = prepare();
    for (const [begin, end] of parts) kernels.call(kernel, args, begin, end);
    kernels.checkGuards();
    return Array.from(read());
  };
  const whole = run([[0, range]]);
  for (const parts of cutsOf(range))
    expectSameBits(run(parts), whole, `${kernel} over ${JSON.stringify(parts)}`);
  return whole;
}

/** Ways to cut [0, range): unit by unit from the back, in thirds, at one, and at every place if few. */
function cutsOf(range: number): (readonly [number, number])[][] {
  const single = Array.from({ length: Math.min(range, 40) }, (_, i) => [i, i + 1] as const);
  if (range > 40) single.push([40, range]);
  const third = Math.floor(range / 3);
  const places = range <= 12 ? Array.from({ length: range + 1 }, (_, i) => i) : [0, 1, range - 1];
  return [
    single.toReversed(),
    [
      [third, range - third],
      [0, third],
      [range - third, range],
    ],
    ...places.map((at) => [[at, range] as const, [0, at] as const]),
  ];
}
