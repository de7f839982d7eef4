import { describe, expect, it } from "vitest";
import { overEveryCut } from "../support/every-cut.js";
import { loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

const SIZES = [0, 1, 3, 4, 5, 7, 8, 9, 17, 64, 65];
const BLOCK = 4096;

const kernels = loadKernels("simd");
const random = seeded(73);

describe("allFiniteF32()", () => {
  it("finds one NaN or infinity wherever it is", () => {
    for (const n of [...SIZES, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3]) {
      const blocks = Math.ceil(n / BLOCK);
      const flags = (x: ArrayLike<number>): number[] =>
        overEveryCut(kernels, "allFiniteF32", blocks, () => {
          const y = kernels.guarded(blocks);
          return { args: [y, kernels.f32(x), n], read: () => kernels.readI32(y, blocks) };
        });
      const x = random.array(n).fill(3.4e38, 0, 1);
      expect(flags(x)).toEqual(new Array(blocks).fill(1));
      const places = [0, 1, 2, 3, 4, 5, 6, 7, n - 2, n - 1, BLOCK - 1, BLOCK];
      for (const at of new Set(places.filter((place) => place >= 0 && place < n)))
        for (const value of [Number.NaN, Infinity, -Infinity])
          expect(flags(x.with(at, value))).toEqual(
            Array.from({ length: blocks }, (_, block) =>
              block === Math.floor(at / BLOCK) ? 0 : 1,
            ),
          );
    }
  });
});
