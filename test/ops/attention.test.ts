import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AttentionOptions, attention, attentionWithWeights } from "../../src/ops/attention.js";
import { dropoutMask } from "../../src/ops/dropout.js";
import { causalMask, paddingMask } from "../../src/ops/mask.js";
import { backwardFrom } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { expectClose, expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { testRuntime } from "../support/runtime.js";

let heed: Runtime;
beforeAll(async () => {
  heed = await testRuntime();
});
afterAll(() => heed.dispose());

/** Operands as arrays, so that a test can spoil some of their numbers. */
function arrays(heads: number, queries: number, keys: number, width: number, valueWidth: number) {
  const random = seeded(9);
  return {
    shapes: {
      q: [heads, queries, width],
      k: [heads, keys, width],
      v: [heads, keys, valueWidth],
      dy: [heads, queries, valueWidth],
    },
    q: random.array(heads * queries * width),
    k: random.array(heads * keys * width),
    v: random.array(heads * keys * valueWidth),
    dy: random.array(heads * queries * valueWidth),
  };
}
type Arrays = ReturnType<typeof arrays>;

interface Everything {
  readonly y: Float32Array;
  readonly weights: Float32Array;
  readonly dq: Float32Array;
  readonly dk: Float32Array;
  readonly dv: Float32Array;
}

/** Output, weights and the gradients of both functions, which must agree to the last bit. */
function everything(x: Arrays, options: () => AttentionOptions): Everything {
  return heed.scope(() => {
    const read = (t: Tensor | null) => t?.read() as Float32Array;
    const given = options();
    const run = (weighted: boolean) => {
      const [q, k, v] = (["q", "k", "v"] as const).map((name) => {
        const t = tensor(heed, x[name], x.shapes[name]);
        t.requiresGrad = true;
        return t;
      }) as [Tensor, Tensor, Tensor];
      const result = weighted
        ? attentionWithWeights(q, k, v, given)
        : { output: attention(q, k, v, given), weights: null };
      backwardFrom(result.output, tensor(heed, x.dy, x.shapes.dy));
      const [dq, dk, dv] = [read(q.grad), read(k.grad), read(v.grad)];
      for (const t of [q, k, v]) t.grad?.dispose();
      return { y: read(result.output), weights: read(result.weights), dq, dk, dv };
    };
    const bare = run(false);
    const full = run(true);
    for (const name of ["y", "dq", "dk", "dv"] as const)
      expectSameBits(bare[name], full[name], `${name} without weights`);
    return full;
  });
}

function expectEqual(actual: Everything, expected: Everything, context: string): void {
  for (const name of ["y", "weights", "dq", "dk", "dv"] as const)
    expectSameBits(actual[name], expected[name], `${context}: ${name}`);
}

describe("attention() worked by hand", () => {
  test("attention() weighs the textbook's three keys", () => {
    heed.scope(() => {
      const q = tensor(heed, [1, 0, 1], [1, 3]);
      const k = tensor(heed, [1, 0, 1, 0, 1, 0, 1, 1, 0], [3, 3]);
      const v = tensor(heed, [0.5, 1.0, 0.2, 0.8, 0.9, 0.3], [3, 2]);
      const { output, weights } = attentionWithWeights(q, k, v);
      // Scores 2/√3, 0, 1/√3; e to them 3.17307, 1, 1.78131; their sum 5.95439.
      const by = [0.5328968375, 0.1679434501, 0.2991597123];
      expectClose(weights.read(), by, 1e-7);
      // 0.5·w₁ + 0.2·w₂ + 0.9·w₃ and 1.0·w₁ + 0.8·w₂ + 0.3·w₃
      expectClose(output.read(), [0.56928084989, 0.75699951127], 2e-7); // three products: 3·2⁻²⁴
    });
  });

  test("attention() mixes the senses of bank by 0.7, 0.2 and 0.1", () => {
    heed.scope(() => {
      const q = tensor(heed, [1], [1, 1]);
      const k = tensor(heed, [Math.log(7), Math.log(2), 0], [3, 1]); // money, river, tree
      const v = tensor(heed, [1, 0, 0, 0, 1, 0, 0, 0, 1], [3, 3]);
      const { output, weights } = attentionWithWeights(q, k, v);
      expectClose(weights.read(), [0.7, 0.2, 0.1], 1e-7);
      expectClose(output.read(), [0.7, 0.2, 0.1], 1e-7);
    });
  });

  test("attention() does not overflow at scores of ten thousand", () => {
    heed.scope(() => {
      const q = tensor(heed, [100], [1, 1]);
      const k = tensor(heed, [100, -100, 99], [3, 1]);
      const v = tensor(heed, [1, 2, 4], [3, 1]);
      expectSameBits(attention(q, k, v).read(), Float32Array.of(1));
    });
  });
});

describe("attention() under masks", () => {
  const [heads, queries, keys, width, valueWidth] = [2, 11, 13, 6, 9] as const;
  /** Hides keys 3 and 12 from all, all keys from query 4, key 5 from the even queries. */
  const shows = (query: number, key: number): boolean =>
    key !== 3 && key !== 12 && query !== 4 && (key !== 5 || query % 2 === 1);
  const bits = Array.from({ length: queries * keys }, (_, i) =>
    shows(Math.floor(i / keys), i % keys) ? 1 : 0,
  );
  const shown = () => ({ mask: tensor(heed, bits, [queries, keys], "u8") });
  const added = () => ({
    mask: tensor(
      heed,
      bits.map((bit) => (bit ? 0 : -Infinity)),
      [queries, keys],
    ),
  });

  test("attention() gives a fully hidden row zeros: output, weights and gradients", () => {
    const { y, weights, dq, dk } = everything(
      arrays(heads, queries, keys, width, valueWidth),
      shown,
    );
    const row = <T extends Float32Array>(x: T, n: number) => x.slice(4 * n, 5 * n);
    expectSameBits(row(y, valueWidth), new Float32Array(valueWidth));
    expectSameBits(row(weights, keys), new Float32Array(keys));
    expectClose(row(dq, width), new Float32Array(width), 0);
    expect(dk.every(Number.isFinite)).toBe(true);
  });

  test("attention() takes u8 zeros and f32 −∞ as the same mask, to the last bit", () => {
    const x = arrays(heads, queries, keys, width, valueWidth);
    expectEqual(everything(x, added), everything(x, shown), "f32");
  });

  for (const bad of [Number.NaN, Infinity, -Infinity])
    for (const [kind, options] of [
      ["u8", shown],
      ["f32", added],
    ] as const)
      test(`attention() does not show ${bad} under a mask of ${kind}`, () => {
        const clean = everything(arrays(heads, queries, keys, width, valueWidth), options);
        const x = arrays(heads, queries, keys, width, valueWidth);
        for (let head = 0; head < heads; head++) {
          for (const key of [3, 12]) {
            const at = head * keys + key;
            x.k.fill(bad, at * width, (at + 1) * width);
            x.v.fill(bad, at * valueWidth, (at + 1) * valueWidth);
          }
          const at = head * queries + 4;
          x.q.fill(bad, at * width, (at + 1) * width);
          x.dy.fill(bad, at * valueWidth, (at + 1) * valueWidth);
        }
        const got = everything(x, options);
        expectSameBits(got.y, clean.y, "y");
        expectSameBits(got.weights, clean.weights, "weights");
        // The sign of a zero gradient is nobody's.
        for (const name of ["dq", "dk", "dv"] as const)
          expectClose(got[name], clean[name], 0, name);
      });

  test("attention() keeps NaN under a causal mask from those who may not see it", () => {
    for (const causal of ["start", "end"] as const) {
      const clean = everything(arrays(heads, queries, keys, width, valueWidth), () => ({ causal }));
      const x = arrays(heads, queries, keys, width, valueWidth);
      x.k.fill(Number.NaN, 8 * width, 9 * width);
      x.v.fill(Number.NaN, 8 * valueWidth, 9 * valueWidth);
      const got = everything(x, () => ({ causal }));
      const first = 8 - (causal === "end" ? keys - queries : 0); // who sees key 8
      const end = first * valueWidth;
      expectSameBits(got.y.slice(0, end), clean.y.slice(0, end), causal);
      expect(got.y.slice(end, queries * valueWidth).every(Number.isNaN)).toBe(true);
      const other = queries * valueWidth;
      expectSameBits(got.y.slice(other), clean.y.slice(other), `${causal}, other head`);
      // A hidden key has weight 0 even where the row is NaN.
      expect(got.weights[first * keys + keys - 1]).toBe(0);
      expectSameBits(got.dq.slice(0, first * width), clean.dq.slice(0, first * width), "dq");
    }
  });

  test("attention() lets NaN through where it is seen", () => {
    const x = arrays(heads, queries, keys, width, valueWidth);
    x.v[5 * valueWidth] = Number.NaN; // head 0, key 5, column 0: hidden from even queries
    const { y } = everything(x, shown);
    for (let query = 0; query < queries; query++)
      expect(Number.isNaN(y[query * valueWidth])).toBe(query !== 4 && query % 2 === 1);
    expect(y[1]).not.toBeNaN();
  });

  test("attention() keeps a row of NaN from the keys that are hidden from it", () => {
    for (const options of [shown, added]) {
      const clean = everything(arrays(heads, queries, keys, width, valueWidth), options);
      const x = arrays(heads, queries, keys, width, valueWidth);
      x.q.fill(Number.NaN, 2 * width, 3 * width); // query 2 sees all keys but 3, 5 and 12
      const { weights, dk, dv } = everything(x, options);
      const row = weights.slice(2 * keys, 3 * keys);
      row.forEach((weight, key) => {
        if (key === 3 || key === 5 || key === 12) expect(weight).toBe(0);
        else expect(weight).toBeNaN();
      });
      for (const key of [3, 5, 12]) {
        const part = (values: Float32Array, n: number) => values.slice(key * n, (key + 1) * n);
        expectClose(part(dk, width), part(clean.dk, width), 0, `dk of key ${key}`);
        expectClose(part(dv, valueWidth), part(clean.dv, valueWidth), 0, `dv of key ${key}`);
      }
    }
  });

  test("attention() adds −10⁴, −10⁹ and the lowest float, and hides nothing by them", () => {
    for (const low of [-1e4, -1e9, -3.4028234663852886e38]) {
      const x = arrays(heads, queries, keys, width, valueWidth);
      const values = bits.map((bit) => (bit ? 0 : low));
      const got = everything(x, () => ({ mask: tensor(heed, values, [queries, keys]) }));
      const hard = everything(x, shown);
      for (let query = 0; query < queries; query++) {
        const from = query * keys;
        const row = got.weights.slice(from, from + keys);
        expect(row.reduce((a, b) => a + b)).toBeCloseTo(1, 6);
        // e^−10⁴ is 0 in f32, so whoever sees another key gets the bits of a hard mask.
        if (query !== 4) expectSameBits(row, hard.weights.slice(from, from + keys), `${low}`);
      }
      for (const values of Object.values(got)) expect(values.every(Number.isFinite)).toBe(true);
    }
  });

  test("attention() gives a padded batch row the bits it has alone", () => {
    const lengths = [13, 7, 1, 0];
    const x = arrays(4, 6, 13, width, valueWidth);
    const padded = everything(x, () => ({
      mask: heed.scope(() => {
        const mask = paddingMask(tensor(heed, Int32Array.from(lengths)), 13);
        return tensor(heed, mask.read(), [4, 1, 13], "u8");
      }),
    }));
    lengths.forEach((length, row) => {
      const cut = (values: Float32Array, rows: number, kept: number, n: number) =>
        values.slice(row * rows * n, (row * rows + kept) * n);
      const alone = everything(
        {
          q: cut(x.q, 6, 6, width),
          k: cut(x.k, 13, length, width),
          v: cut(x.v, 13, length, valueWidth),
          dy: cut(x.dy, 6, 6, valueWidth),
          shapes: {
            q: [1, 6, width],
            k: [1, length, width],
            v: [1, length, valueWidth],
            dy: [1, 6, valueWidth],
          },
        },
        () => ({}),
      );
      const context = `length ${length}`;
      expectSameBits(cut(padded.y, 6, 6, valueWidth), alone.y, context);
      expectClose(cut(padded.dq, 6, 6, width), alone.dq, 0, context);
      expectClose(cut(padded.dk, 13, length, width), alone.dk, 0, context);
      expectClose(cut(padded.dv, 13, length, valueWidth), alone.dv, 0, context);
    });
  });
});

describe("attention() causal", () => {
  test("attention() causal is attention() under the mask of that alignment, to the last bit", () => {
    for (const [queries, keys] of [
      [9, 9],
      [4, 11],
      [11, 4],
      [1, 7],
    ] as const)
      for (const align of ["start", "end"] as const) {
        const x = arrays(2, queries, keys, 5, 4);
        const masked = everything(x, () => ({ mask: causalMask(heed, queries, keys, { align }) }));
        const causal = everything(x, () => ({ causal: align }));
        const context = `${align} ${queries} × ${keys}`;
        expectSameBits(causal.y, masked.y, context);
        expectSameBits(causal.weights, masked.weights, context);
        for (const name of ["dq", "dk", "dv"] as const)
          expectClose(causal[name], masked[name], 0, `${context} ${name}`);
      }
  });

  test("attention() from the end in pieces is one full pass", () => {
    const x = arrays(1, 12, 12, 8, 8);
    const full = everything(x, () => ({ causal: true })).y;
    heed.scope(() => {
      let from = 0;
      for (const count of [5, 1, 4, 2]) {
        const until = from + count;
        const y = attention(
          tensor(heed, x.q.slice(from * 8, until * 8), [1, count, 8]),
          tensor(heed, x.k.slice(0, until * 8), [1, until, 8]),
          tensor(heed, x.v.slice(0, until * 8), [1, until, 8]),
          { causal: "end" },
        );
        expectSameBits(y.read(), full.slice(from * 8, until * 8), `queries ${from} … ${until}`);
        from = until;
      }
    });
  });
});

describe("attention() with dropout", () => {
  test("attention() draws from a seed the mask that dropoutMask draws", () => {
    const x = arrays(2, 7, 13, 4, 5);
    const drawn = everything(x, () => ({ dropout: { p: 0.4, seed: 77 } }));
    const given = everything(x, () => ({
      dropout: { p: 0.4, mask: dropoutMask(heed, [2, 7, 13], 0.4, 77) },
    }));
    expectEqual(drawn, given, "seed 77");
    const dropped = drawn.weights.filter((weight) => weight === 0).length;
    expect(dropped).toBeGreaterThan(40); // of 182, 73 expected
    expect(dropped).toBeLessThan(110);
  });

  test("attention() with dropout of 0 drops nothing, of 1 everything", () => {
    const x = arrays(1, 3, 5, 4, 5);
    const none = everything(x, () => ({}));
    expectEqual(
      everything(x, () => ({ dropout: { p: 0, seed: 1 } })),
      none,
      "p = 0",
    );
    const all = everything(x, () => ({ dropout: { p: 1, seed: 1 } }));
    expectClose(all.y, new Float32Array(15), 0);
    expectClose(all.dq, new Float32Array(12), 0);
  });

  test("attention() hides NaN under dropout too", () => {
    const mask = () => tensor(heed, [1, 1, 0, 1, 1], [5], "u8");
    const options = () => ({ mask: mask(), dropout: { p: 0.5, seed: 3 } });
    const clean = everything(arrays(1, 3, 5, 4, 5), options);
    const x = arrays(1, 3, 5, 4, 5);
    x.k.fill(Number.NaN, 8, 12);
    x.v.fill(Number.NaN, 10, 15);
    const got = everything(x, options);
    expectSameBits(got.y, clean.y);
    expectClose(got.dk, clean.dk, 0);
    expectClose(got.dq, clean.dq, 0);
  });
});

describe("attentionWithWeights()", () => {
  test("attentionWithWeights() sums the gradients of output and weights", () => {
    const x = arrays(2, 6, 7, 4, 5);
    const random = seeded(4);
    const dWeights = random.array(2 * 6 * 7);
    const gradients = (byOutput: boolean, byWeights: boolean) =>
      heed.scope(() => {
        const q = tensor(heed, x.q, x.shapes.q);
        q.requiresGrad = true;
        const k = tensor(heed, x.k, x.shapes.k);
        const v = tensor(heed, x.v, x.shapes.v);
        const { output, weights } = attentionWithWeights(q, k, v);
        const dy = x.dy.map((value) => (byOutput ? value : 0));
        const node = output.node;
        const run = node?.backward;
        if (!node || !run) throw new Error("attentionWithWeights must be recorded");
        // Both outputs belong to one node: hand it both gradients, as a loss over both would.
        node.backward = ([given]) =>
          run([given ?? null, byWeights ? tensor(heed, dWeights, weights.shape) : null]);
        backwardFrom(output, tensor(heed, dy, x.shapes.dy));
        const dq = q.grad?.read() as Float32Array;
        q.grad?.dispose();
        return dq;
      });
    const both = gradients(true, true);
    const [one, other] = [gradients(true, false), gradients(false, true)];
    // Three roundings of sums of 7 terms: 3·7·2⁻²⁴.
    expectClose(
      both,
      one.map((value, i) => value + (other[i] as number)),
      1.3e-6,
    );
  });
});

describe("attention() and memory", () => {
  test("attention() and its gradients take memory linear in length", () => {
    const peak = (length: number): number => {
      const random = seeded(1);
      const before = heed.memory.usedBytes;
      let most = 0;
      heed.scope(() => {
        const make = () => {
          const t = tensor(heed, random.array(length * 8), [1, length, 8]);
          t.requiresGrad = true;
          return t;
        };
        const [q, k, v] = [make(), make(), make()];
        const y = attention(q, k, v, { causal: true });
        backwardFrom(y, tensor(heed, random.array(length * 8), y.shape));
        most = heed.memory.peakBytes - before;
        for (const t of [q, k, v]) t.grad?.dispose();
      });
      return most;
    };
    // 2,048 queries and keys: their weights alone would be 16 MiB, and are needed twice.
    expect(peak(2048)).toBeLessThan(8 * 2 ** 20);
  });
});
