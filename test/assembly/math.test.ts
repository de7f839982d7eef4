/**
 * The words of assembly/math against float64, in units of the last place, over all exponents. They
 * are inlined into kernels, so a small module with one loop a word is compiled here.
 */
import { readFileSync } from "node:fs";
import asc from "assemblyscript/asc";
import { beforeAll, describe, expect, test } from "vitest";
import { erf, sigmoid } from "../reference/activation.js";
import { expectSameBits } from "../support/compare.js";
import { type Random, seeded } from "../support/random.js";
import { ulpError } from "../support/ulp.js";

type Word = "exp4" | "expNegative4" | "tanh4" | "sigmoid4" | "erf4" | "log4";

interface Claim {
  readonly file: string;
  readonly exact: (x: number) => number;
  /** What the docstring says, ulp. */
  readonly ulps: number;
  /** Where the function bends; samples are dense in ±range. */
  readonly range: number;
  readonly accepts?: (x: number) => boolean;
}

const CLAIMS: Record<Word, Claim> = {
  exp4: { file: "exp", exact: Math.exp, ulps: 2, range: 105 },
  expNegative4: {
    file: "exp",
    exact: (x) => (Math.exp(x) < 2 ** -126 ? 0 : Math.exp(x)),
    ulps: 2,
    range: 88,
    accepts: (x) => x <= 0,
  },
  tanh4: { file: "tanh", exact: Math.tanh, ulps: 4, range: 10 },
  sigmoid4: { file: "sigmoid", exact: sigmoid, ulps: 4, range: 105 },
  erf4: { file: "erf", exact: erf, ulps: 4, range: 4.5 },
  log4: { file: "log", exact: Math.log, ulps: 4, range: 4 },
};
const WORDS = Object.keys(CLAIMS) as Word[];
const SAMPLES = 1 << 15;
const X = 64;
const Y = X + 4 * SAMPLES;

let loops: Record<Word, (n: number) => void>;
const memory = new WebAssembly.Memory({ initial: 16 });

beforeAll(async () => {
  const source = WORDS.map(
    (word) => `
import { ${word} } from "./math/${CLAIMS[word].file}";
export function loop_${word}(n: i32): void {
  for (let i: usize = 0; i < <usize>n << 2; i += 16)
    v128.store(${Y} + i, ${word}(v128.load(${X} + i)));
}`,
  ).join("\n");
  let binary: Uint8Array<ArrayBuffer> | null = null;
  const { error, stderr } = await asc.main(
    "words.ts --outFile words.wasm --runtime stub --importMemory --noExportMemory --enable simd -O3".split(
      " ",
    ),
    {
      readFile: (name: string) => readSource(name, source),
      writeFile: (_: string, contents: string | Uint8Array) => {
        if (typeof contents !== "string") binary = new Uint8Array(contents);
      },
      listFiles: () => [],
    },
  );
  if (error || !binary) throw new Error(`asc: the words must compile: ${stderr}`);
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(binary), { env: { memory } });
  loops = Object.fromEntries(WORDS.map((word) => [word, exports[`loop_${word}`]])) as typeof loops;
});

describe.each(WORDS)("%s()", (word) => {
  const { exact, ulps, range, accepts = () => true } = CLAIMS[word];

  test(`is within ${ulps} ulp of float64 over all exponents and where it bends`, () => {
    const random = seeded(11);
    for (const draw of [anyFloat, within(range), within(1)]) {
      const x = Float32Array.from({ length: SAMPLES }, () => draw(random)).filter(accepts);
      let worst = { error: 0, x: 0, y: 0 };
      apply(word, x).forEach((y, i) => {
        const at = x[i] as number;
        const error = ulpError(y, exact(at));
        // expNegative4 alone may give 0 below the smallest normal number.
        if (word === "expNegative4" && Math.abs(y - exact(at)) <= 2 ** -126) return;
        if (error > worst.error) worst = { error, x: at, y };
      });
      expect(worst.error, `seed 11: ${word}(${worst.x}) = ${worst.y}`).toBeLessThanOrEqual(ulps);
    }
  });

  test("has the exact values at its special points", () => {
    const points = [0, -0, 1e-45, -1e-45, Infinity, -Infinity, 1e30, -1e30, Number.NaN];
    const x = Float32Array.from(points.filter((at) => accepts(at) || Number.isNaN(at)));
    apply(word, x).forEach((y, i) => {
      expect(y, `${word}(${x[i]})`).toBe(Math.fround(exact(x[i] as number)));
    });
  });
});

test("tanh4() and erf4() never pass ±1, reach it, and are odd", () => {
  const x = Float32Array.from({ length: SAMPLES }, (_, i) => 2 + (i * 8) / SAMPLES);
  for (const word of ["tanh4", "erf4"] as const) {
    const y = apply(word, x);
    expect(y.reduce((most, value) => Math.max(most, value))).toBe(1);
    expect(y.at(-1)).toBe(1);
    const negative = apply(
      word,
      x.map((at) => -at),
    );
    expectSameBits(
      negative,
      y.map((value) => -value),
    );
  }
});

function apply(word: Word, x: Float32Array): Float32Array {
  new Float32Array(memory.buffer, X, SAMPLES).fill(0);
  new Float32Array(memory.buffer, X, x.length).set(x);
  loops[word]((x.length + 3) & ~3);
  return new Float32Array(memory.buffer, Y, x.length).slice();
}

function anyFloat(random: Random): number {
  return new Float32Array(Uint32Array.of(random.integer(2 ** 32)).buffer)[0] as number;
}

function within(range: number): (random: Random) => number {
  return (random) => (2 * random.uniform() - 1) * range;
}

function readSource(name: string, source: string): string | null {
  if (name === "words.ts") return source;
  try {
    return readFileSync(new URL(`../../assembly/${name}`, import.meta.url), "utf8");
  } catch {
    return null; // asc asks for several spellings of a path
  }
}
