import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { StateError } from "../../src/errors.js";
import { beamSearch, type StepDecoder } from "../../src/generation/beam-search.js";
import type { BeamOptions, Hypothesis } from "../../src/generation/row-search.js";
import type { LstmState } from "../../src/nn/lstm.js";
import { mix32, type Runtime } from "../../src/runtime/runtime.js";
import { tensor, zeros } from "../../src/tensor/create.js";
import { expectSameBits } from "../support/compare.js";
import { everyTurn, rushClock } from "../support/event-loop.js";
import { testRuntime } from "../support/runtime.js";

const START = 0;
const END = 1;
const VOCAB = 4;
const SOURCE = 3; // positions
const OPTIONS = { start: START, end: END, banned: [START], lengthPenalty: 1, maxTokens: () => 4 };

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());
afterEach(() => vi.restoreAllMocks());

type Logits = (seed: number, history: readonly number[], id: number) => number;

/** Logits and weights that are told by the source's seed and all tokens so far. */
const scattered: Logits = (seed, history, id) =>
  (4 * mix32(seed + 31 * codeOf(history) + 7919 * id)) / 2 ** 32;

/** A history of at most seven tokens below 8 as a number that f32 holds. */
function codeOf(history: readonly number[]): number {
  return history.reduce((code, id) => 8 * code + id, 1);
}

function historyOf(code: number): number[] {
  return code <= 1 ? [] : [...historyOf(Math.floor(code / 8)), code % 8];
}

function weightOf(seed: number, history: readonly number[], position: number): number {
  return Math.fround(mix32(seed ^ (1 << position) ^ (codeOf(history) << 8)) / 2 ** 32);
}

/** A decoder that keeps each beam's history in its state, so a state on the wrong beam shows. */
function decoderOf(seeds: readonly number[], logits: Logits = scattered) {
  const decoder: StepDecoder<readonly number[]> = {
    runtime,
    step(ids, state, source) {
      const width = ids.size / source.length;
      const before = state.hidden[0]?.read() as Float32Array;
      const histories = Array.from(ids.read(), (id, row) => [
        ...historyOf(before[row] as number),
        id,
      ]);
      const each = (fn: (seed: number, history: number[]) => number[]): number[] =>
        histories.flatMap((history, row) => fn(source[Math.floor(row / width)] as number, history));
      const count = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
      const codes = tensor(runtime, histories.map(codeOf), [ids.size, 1]);
      return {
        logits: tensor(
          runtime,
          each((seed, history) => count(VOCAB).map((id) => logits(seed, history, id))),
          [ids.size, VOCAB],
        ),
        weights: tensor(
          runtime,
          each((seed, history) => count(SOURCE).map((at) => weightOf(seed, history, at))),
          [source.length, width, SOURCE],
        ),
        state: { hidden: [codes], cell: [zeros(runtime, [ids.size, 1])] },
      };
    },
  };
  const encode = (): { source: readonly number[]; state: LstmState } => ({
    source: seeds,
    state: {
      hidden: [tensor(runtime, Array<number>(seeds.length).fill(1), [seeds.length, 1])],
      cell: [zeros(runtime, [seeds.length, 1])],
    },
  });
  return { decoder, encode };
}

function search(
  seeds: readonly number[],
  options: Partial<BeamOptions> & { beams: number },
  logits?: Logits,
): Promise<Hypothesis[][]> {
  const { decoder, encode } = decoderOf(seeds, logits);
  return beamSearch(decoder, seeds.length, encode, { ...OPTIONS, ...options });
}

async function searchOne(
  seed: number,
  options: Partial<BeamOptions> & { beams: number },
  logits?: Logits,
): Promise<Hypothesis> {
  const [[best] = []] = await search([seed], options, logits);
  return best as Hypothesis;
}

function logProbabilities(seed: number, history: readonly number[], logits: Logits): number[] {
  const all = Array.from({ length: VOCAB }, (_, id) => logits(seed, history, id));
  const sum = all.reduce((total, x) => total + Math.exp(x), 0);
  return all.map((x) => x - Math.log(sum));
}

/** Every ended sequence of at most `most` tokens with its score, by trying them all. */
function enumerate(
  seed: number,
  most: number,
  penalty: number,
): { ids: number[]; score: number }[] {
  const found: { ids: number[]; score: number }[] = [];
  const walk = (ids: number[], logProbability: number): void => {
    const next = logProbabilities(seed, [START, ...ids], scattered);
    const score = (logProbability + (next[END] as number)) / ((5 + ids.length) / 6) ** penalty;
    found.push({ ids, score });
    if (ids.length === most) return;
    for (const id of [2, 3]) walk([...ids, id], logProbability + (next[id] as number));
  };
  walk([], 0);
  return found.sort((a, b) => b.score - a.score);
}

describe("beamSearch()", () => {
  const seeds = [1, 2, 3, 4, 5, 6, 7, 8];

  test.each([0, 1, 2.5])(
    "finds the best of all sequences under a length penalty of %d",
    async (lengthPenalty) => {
      // 16 histories of four tokens are alive at most: a beam of 32 loses none.
      const found = await search(seeds, { beams: 32, lengthPenalty });
      seeds.forEach((seed, row) => {
        const [want] = enumerate(seed, 4, lengthPenalty);
        const best = found[row]?.[0];
        expect({ seed, ids: best?.ids, ended: best?.ended }).toEqual({
          seed,
          ids: want?.ids,
          ended: true,
        });
        // five sums of f32 log-probabilities near 1
        expect(Math.abs((best?.score ?? 0) - (want?.score ?? 0))).toBeLessThan(1e-5);
      });
    },
  );

  test("ranks all its hypotheses as an enumeration does", async () => {
    const [found = []] = await search([5], { beams: 40, maxTokens: () => 2, lengthPenalty: 0 });
    const best = enumerate(5, 2, 0).slice(0, found.length);
    expect(found.map(({ ids }) => ids)).toEqual(best.map(({ ids }) => ids));
  });

  test("takes the likeliest token at each step when the beam is 1", async () => {
    for (const seed of seeds) {
      const want: number[] = [];
      for (let last = START; last !== END && want.length < 4; ) {
        const next = logProbabilities(seed, [START, ...want], scattered);
        last = [END, 2, 3].reduce((a, b) => ((next[b] as number) > (next[a] as number) ? b : a));
        if (last !== END) want.push(last);
      }
      expect((await searchOne(seed, { beams: 1 })).ids).toEqual(want);
    }
  });

  test("lets state and weights follow the beams", async () => {
    const rows = await search(seeds, { beams: 5 });
    rows.forEach((hypotheses, row) => {
      for (const { ids, weights, ended } of hypotheses) {
        expect(weights).toHaveLength(ids.length + (ended ? 1 : 0));
        weights.forEach((weight, step) => {
          const history = [START, ...ids.slice(0, step)];
          const want = [0, 1, 2].map((at) => weightOf(seeds[row] as number, history, at));
          expect([...weight]).toEqual(want);
        });
      }
    });
  });

  test("never chooses banned ids, however likely", async () => {
    const banned = [START, 3];
    const rows = await search(seeds, { beams: 3, banned }, (seed, history, id) =>
      banned.includes(id) ? 20 : scattered(seed, history, id),
    );
    const ids = rows.flatMap((hypotheses) => hypotheses.flatMap((found) => [...found.ids]));
    expect(new Set(ids)).toEqual(new Set([2]));
  });

  test("cuts a result off that does not end", async () => {
    const endless: Logits = (_, __, id) => (id === END ? -Infinity : id === 2 ? 1 : 0);
    const best = await searchOne(1, { beams: 2 }, endless);
    expect(best).toMatchObject({ ids: [2, 2, 2, 2], ended: false });
    expect(best.weights).toHaveLength(4);
  });

  test("lets a result end after its last allowed token", async () => {
    const late: Logits = (_, history, id) => (id === END ? (history.length === 5 ? 9 : -9) : id);
    expect(await searchOne(1, { beams: 2 }, late)).toMatchObject({
      ids: [3, 3, 3, 3],
      ended: true,
    });
  });

  test("gives nothing where no token is allowed", async () => {
    const best = await searchOne(1, { beams: 2, maxTokens: () => 0 });
    expect(best).toMatchObject({ ids: [], weights: [], ended: false });
  });

  test("gives a row of a batch the bits that it gives alone", async () => {
    const maxTokens = (row: number): number => [4, 1, 3, 0, 4, 2, 4, 4][row] as number;
    const together = await search(seeds, { beams: 3, maxTokens });
    for (const [row, seed] of seeds.entries()) {
      const [alone = []] = await search([seed], { beams: 3, maxTokens: () => maxTokens(row) });
      expect(together[row]?.map(({ ids, score }) => ({ ids, score }))).toEqual(
        alone.map(({ ids, score }) => ({ ids, score })),
      );
      alone.forEach(({ weights }, rank) => {
        weights.forEach((weight, step) => {
          expectSameBits(together[row]?.[rank]?.weights[step] as Float32Array, weight);
        });
      });
    }
  });

  test("puts equals in the order of beams, then of ids", async () => {
    const even: Logits = (_, history, id) =>
      id === END ? (history.length < 4 ? -Infinity : 1) : 0;
    const [found = []] = await search([1], { beams: 3, lengthPenalty: 0 }, even);
    expect(found.map(({ ids }) => ids)).toEqual([
      [2, 2, 2],
      [2, 2, 3],
      [2, 3, 2],
    ]);
  });

  test("copes with a beam wider than the vocabulary", async () => {
    expect((await searchOne(3, { beams: 64 })).ids).toEqual(enumerate(3, 4, 1)[0]?.ids);
  });

  test("tells the best so far after each step, the result at last", async () => {
    const told: (readonly number[])[] = [];
    const best = await searchOne(6, {
      beams: 4,
      onStep: ([ids]) => void told.push(ids as readonly number[]),
    });
    expect(told.length).toBeGreaterThan(0);
    expect(told.at(-1)).toEqual(best.ids);
  });

  test("stops at a signal and leaves no tensor behind", async () => {
    const before = runtime.memory.usedBytes;
    const controller = new AbortController();
    const reason = new Error("enough");
    const searching = search(seeds, {
      beams: 3,
      signal: controller.signal,
      onStep: () => controller.abort(reason),
    });
    await expect(searching).rejects.toBe(reason);
    expect(runtime.memory.usedBytes).toBe(before);
  });

  test("leaves no tensor behind when it ends, or when the decoder throws", async () => {
    const before = runtime.memory.usedBytes;
    await search(seeds, { beams: 3 });
    expect(runtime.memory.usedBytes).toBe(before);
    const failing: Logits = (_, history, id) => {
      if (history.length > 2) throw new Error("broken");
      return id === END ? -9 : 0;
    };
    await expect(search(seeds, { beams: 3 }, failing)).rejects.toThrow("broken");
    expect(runtime.memory.usedBytes).toBe(before);
  });

  test("lets the event loop turn when a slice of time is used up", async () => {
    rushClock();
    let turns = 0;
    const release = everyTurn(() => turns++);
    let steps = 0;
    await search([1], { beams: 2, maxTokens: () => 6, onStep: () => void steps++ }, (_, __, id) =>
      id === END ? -Infinity : 0,
    );
    release();
    expect(steps).toBeGreaterThan(5);
    expect(turns).toBeGreaterThanOrEqual(steps);
  });

  test("says so when logits are NaN", async () => {
    const broken = search([1], { beams: 2 }, () => Number.NaN);
    await expect(broken).rejects.toThrow(StateError);
    await expect(broken).rejects.toThrow(
      "beamSearch: some token must have a probability above 0, got none",
    );
  });

  test.each([
    [{ beams: 0 }, "beams must be an integer from 1 to 64, got 0"],
    [{ beams: 1.5 }, "beams must be an integer from 1 to 64, got 1.5"],
    [{ beams: 65 }, "beams must be an integer from 1 to 64, got 65"],
    [{ beams: 2, lengthPenalty: -1 }, "lengthPenalty must lie in 0 … 10, got -1"],
    [
      { beams: 2, lengthPenalty: "5" as unknown as number },
      'lengthPenalty must be a number, got "5"',
    ],
    [
      { beams: 2, lengthPenalty: null as unknown as number },
      "lengthPenalty must be a number, got null",
    ],
    [
      { beams: 2, lengthPenalty: [] as unknown as number },
      "lengthPenalty must be a number, got []",
    ],
    [
      { beams: 2, lengthPenalty: true as unknown as number },
      "lengthPenalty must be a number, got true",
    ],
    [{ beams: 2, lengthPenalty: Number.NaN }, "lengthPenalty must lie in 0 … 10, got NaN"],
  ])("refuses %o", async (options, message) => {
    await expect(search([1], options)).rejects.toThrow(`beamSearch: ${message}`);
  });
});
