import { describe, expect, it } from "vitest";
import { embedding, embeddingGrad } from "../reference/embedding.js";
import { overEveryCut } from "../support/every-cut.js";
import { loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

// Around the vector of 4, the turn of 8, and the block of 16 columns.
const WIDTHS = [1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65];
const VOCAB = 11;

const kernels = loadKernels("simd");
const random = seeded(47);
const someIds = (count: number): number[] =>
  Array.from({ length: count }, () => random.integer(VOCAB));

describe("embedding", () => {
  it("embeddingF32() reads rows [2, 0, 2] of a table", () => {
    kernels.reset();
    const table = kernels.f32([1, 2, 3, 4, 5, 6]);
    const y = kernels.guarded(6);
    kernels.call("embeddingF32", [y, table, kernels.i32([2, 0, 2]), 2], 0, 3);
    expect([...kernels.read(y, 6)]).toEqual([5, 6, 1, 2, 5, 6]);
  });

  it("embeddingF32() copies rows of every width, bit by bit", () => {
    for (const width of WIDTHS)
      for (const count of [0, 1, 6]) {
        const table = random.array(VOCAB * width);
        table[width - 1] = -0;
        const ids = someIds(count);
        const actual = overEveryCut(kernels, "embeddingF32", count, () => {
          const y = kernels.guarded(count * width);
          const args = [y, kernels.f32(table), kernels.i32(ids), width] as const;
          return { args: [...args], read: () => kernels.read(y, count * width) };
        });
        expect(actual).toEqual(Array.from(embedding(table, ids, width)));
      }
  });

  it("embeddingGradF32() adds each row to its id's, on top of what is there", () => {
    kernels.reset();
    const dTable = kernels.guarded(6);
    kernels.write(dTable, [100, 200, 300, 400, 500, 600]);
    const dy = kernels.f32([1, 2, 3, 4, 5, 6]);
    kernels.call("embeddingGradF32", [dTable, dy, kernels.i32([2, 0, 2]), 3, 2, -1], 0, 1);
    expect([...kernels.read(dTable, 6)]).toEqual([103, 204, 300, 400, 506, 608]);
  });

  it("embeddingGradF32() sums in the order of the ids, whatever the cut", () => {
    for (const width of WIDTHS)
      for (const count of [0, 1, 60]) {
        const dy = random.array(count * width);
        const ids = someIds(count);
        const actual = gradient(dy, ids, width, -1);
        const expected = new Float32Array(VOCAB * width);
        ids.forEach((id, i) => {
          for (let j = 0; j < width; j++)
            expected[id * width + j] =
              (expected[id * width + j] as number) + (dy[i * width + j] as number);
        });
        expect(actual).toEqual(Array.from(expected));
      }
  });

  it("embeddingGradF32() leaves the row of the padding id alone", () => {
    const [width, ids] = [19, someIds(50)];
    const dy = random.array(50 * width).map((value) => Math.round(8 * value)); // exact sums
    const actual = gradient(dy, ids, width, 3);
    expect(actual).toEqual(Array.from(embeddingGrad(dy, ids, VOCAB, width, 3)));
    expect(actual.slice(3 * width, 4 * width)).toEqual(new Array(width).fill(0));
  });
});

function gradient(
  dy: ArrayLike<number>,
  ids: ArrayLike<number>,
  width: number,
  padding: number,
): number[] {
  const range = Math.ceil(width / 16);
  return overEveryCut(kernels, "embeddingGradF32", range, () => {
    const dTable = kernels.guarded(VOCAB * width);
    kernels.write(dTable, new Float32Array(VOCAB * width));
    const args = [dTable, kernels.f32(dy), kernels.i32(ids), ids.length, width, padding] as const;
    return { args: [...args], read: () => kernels.read(dTable, VOCAB * width) };
  });
}
