/**
 * Drives every case of catalogue/: value and gradients against a float64 reference, every build and
 * thread count against every other, and the manners that all ops share. Fresh memory holds NaN here
 * and all work is split, however small (test/support/runtime.ts).
 */
import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DTypeError, StateError } from "../../src/errors.js";
import * as ops from "../../src/ops/index.js";
import { noGrad } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import { expectClose, expectCloseNorm, expectSameBits } from "../support/compare.js";
import {
  type Arrays,
  arraysOf,
  cotangentOf,
  type Evaluation,
  evaluate,
  gradientNames,
  SEED,
  tensorsOf,
  widened,
} from "../support/evaluate.js";
import { directionalDifference, finiteDifferences } from "../support/gradient.js";
import { seeded } from "../support/random.js";
import { testRuntime } from "../support/runtime.js";
import type { OpCase } from "./op-case.js";

/** Elements of an input that are moved one by one; a direction through all of them follows. */
const COORDINATES = 24;
/** f32 arithmetic against differences in float64: sums of up to a thousand terms stay below 3e-6. */
const GRADIENT_TOLERANCE = 1e-5;

/** What ops/ exports beside its ops: the tape. */
const NOT_OPS = new Set([
  "BackwardPass",
  "backward",
  "backwardFrom",
  "gradientOf",
  "noGrad",
  "record",
  "recordMany",
  "wants",
]);
/** Ops that move elements of any type. */
const ANY_DTYPE = new Set(["reshape", "transpose", "permute", "slice", "concat"]);

const BUILDS = [
  { build: "simd", threads: 1 },
  { build: "threads", threads: 1 },
  { build: "threads", threads: 2 },
  { build: "threads", threads: 3 },
  { build: "debug", threads: 2 },
] as const;
const RELAXED = [
  { build: "relaxed", threads: 1 },
  { build: "relaxed-threads", threads: 2 },
] as const;

const catalogue = await Promise.all(
  readdirSync(new URL("./catalogue/", import.meta.url))
    .filter((file) => file.endsWith(".ts"))
    .sort()
    .map(async (file) => {
      const word = file.slice(0, -".ts".length);
      const { cases } = (await import(`./catalogue/${word}.ts`)) as { cases: OpCase[] };
      return { word, cases };
    }),
);
const allCases = catalogue.flatMap(({ cases }) => cases);

let exact: Runtime[];
let relaxed: Runtime[];
let simd: Runtime;
beforeAll(async () => {
  exact = await Promise.all(BUILDS.map((options) => testRuntime(options)));
  relaxed = await Promise.all(RELAXED.map((options) => testRuntime(options)));
  simd = exact[0] as Runtime;
});
afterAll(() => {
  for (const runtime of [...exact, ...relaxed]) runtime.dispose();
});

describe.each(allCases.map((c) => [`${c.op}() ${c.name}`, c] as const))("%s", (title, c) => {
  const what = `${title} (seed ${SEED})`;
  const wanted = gradientNames(c);
  const arrays = arraysOf(c);
  let first: Evaluation;
  beforeAll(() => {
    first = evaluate(simd, c, arrays);
  });

  test("is its float64 reference", () => {
    expectClose(first.y, c.reference(widened(arrays)), c.tolerance, what);
  });

  if (wanted.length > 0)
    test("has the gradients of finite differences", () => {
      for (const name of wanted) checkGradient(c, name, arrays, first, what);
    });

  test("gives the same bits in every exact build, on one thread, two and three", () => {
    exact.slice(1).forEach((runtime, index) => {
      const { build, threads } = BUILDS[index + 1] as (typeof BUILDS)[number];
      const other = evaluate(runtime, c, arrays);
      expectSameBits(other.y, first.y, `${what}, ${build} on ${threads}: y`);
      for (const name of wanted)
        expectSameBits(
          other.gradients[name] as Float32Array,
          first.gradients[name] as Float32Array,
          `${what}, ${build} on ${threads}: ∂/∂${name}`,
        );
    });
  });

  test("stays within tolerance in the relaxed builds, the same on one thread and two", () => {
    const reference = c.reference(widened(arrays));
    const results = relaxed.map((runtime) => evaluate(runtime, c, arrays));
    for (const result of results) {
      expectClose(result.y, reference, c.tolerance, `${what}, relaxed`);
      for (const name of wanted)
        expectCloseNorm(
          result.gradients[name] as Float32Array,
          first.gradients[name] as Float32Array,
          c.gradTolerance ?? GRADIENT_TOLERANCE,
          `${what}, relaxed: ∂/∂${name}`,
        );
    }
    const [one, two] = results as [Evaluation, Evaluation];
    expectSameBits(two.y, one.y, `${what}, relaxed on two threads`);
  });

  test("gives all memory back, and asks for no more the next time", () => {
    const { memory } = simd;
    const { usedBytes, capacityBytes } = memory;
    evaluate(simd, c, arrays);
    expect(memory.usedBytes).toBe(usedBytes);
    expect(memory.capacityBytes).toBe(capacityBytes);
  });

  test("changes no input, and gives the same bits without the tape", () => {
    for (const [name, values] of Object.entries(arrays))
      expectSameBits(first.inputs[name] as typeof values, values, `${what}: ${name}`);
    simd.seed(SEED);
    const y = simd.scope(() => noGrad(simd, () => c.run(tensorsOf(simd, c, arrays), simd)).read());
    expectSameBits(y, first.y, `${what}, without the tape`);
  });
});

describe.each(firstCases())("%s()", (op, c) => {
  const arrays = arraysOf(c);
  const names = Object.keys(c.inputs);

  test("refuses an operand that was freed", () => {
    for (const name of names)
      simd.scope(() => {
        const tensors = tensorsOf(simd, c, arrays);
        tensors[name]?.dispose();
        expect(() => c.run(tensors, simd), name).toThrow(StateError);
      });
  });

  if (names.length > 1)
    test("refuses operands of two runtimes", () => {
      const other = relaxed[0] as Runtime;
      for (const name of names)
        other.scope(() =>
          simd.scope(() => {
            const strange = tensorsOf(other, c, arrays)[name];
            const tensors = { ...tensorsOf(simd, c, arrays), ...(strange && { [name]: strange }) };
            expect(() => c.run(tensors, simd), name).toThrow(StateError);
          }),
        );
    });

  if (!ANY_DTYPE.has(op))
    test("refuses an operand of the wrong element type", () => {
      for (const [name, { shape, dtype = "f32" }] of Object.entries(c.inputs))
        simd.scope(() => {
          const size = shape.reduce((product, length) => product * length, 1);
          const wrong = tensor(simd, new Int32Array(size), shape, dtype === "i32" ? "f32" : "i32");
          const tensors = { ...tensorsOf(simd, c, arrays), [name]: wrong };
          expect(() => c.run(tensors, simd), name).toThrow(DTypeError);
        });
    });
});

describe("ops/index.ts", () => {
  const covered = new Set(allCases.map((c) => c.op));
  const exported = Object.entries(ops as Record<string, unknown>)
    .filter(([name, value]) => typeof value === "function" && !NOT_OPS.has(name))
    .map(([name]) => name);

  test("exports no op that the catalogue lacks", () => {
    expect(exported.filter((name) => !covered.has(name))).toEqual([]);
  });

  test("exports every op of the catalogue", () => {
    expect([...covered].filter((name) => !exported.includes(name))).toEqual([]);
  });

  test("stands beside a catalogue that names no two cases alike", () => {
    const names = allCases.map((c) => `${c.op}() ${c.name}`);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});

/** One case an op, for what does not depend on the numbers: the one with the most inputs. */
function firstCases(): (readonly [op: string, c: OpCase])[] {
  const best = new Map<string, OpCase>();
  for (const c of allCases) {
    const other = best.get(c.op);
    if (!other || Object.keys(c.inputs).length > Object.keys(other.inputs).length)
      best.set(c.op, c);
  }
  return [...best];
}

/** A gradient against differences of Σ cotangent · reference, at some elements and along a line. */
function checkGradient(
  c: OpCase,
  name: string,
  arrays: Arrays,
  { y, gradients }: Evaluation,
  what: string,
): void {
  const gradient = gradients[name] as Float32Array;
  const inputs = widened(arrays);
  const cotangent = cotangentOf(y.length);
  const loss = (x: Float64Array): number => {
    const values = c.reference({ ...inputs, [name]: x });
    let sum = 0;
    for (let i = 0; i < y.length; i++) {
      const value = values[i] as number;
      if (Number.isFinite(value)) sum += value * (cotangent[i] as number);
    }
    return sum;
  };
  const at = inputs[name] as Float64Array;
  const tolerance = c.gradTolerance ?? GRADIENT_TOLERANCE;

  const chosen = coordinates(at);
  const differences = finiteDifferences(loss, at, chosen);
  const analytic = chosen.map((index) => gradient[index] as number);
  expectCloseNorm(analytic, differences, tolerance, `${what}: ∂/∂${name} at [${chosen}]`);
  if (chosen.length === at.length) return;

  const direction = seeded(SEED + 2).array(at.length);
  let along = 0;
  for (let i = 0; i < at.length; i++) along += (gradient[i] as number) * (direction[i] as number);
  const size = Math.max(1, Math.hypot(...gradient));
  const expected = directionalDifference(loss, at, direction);
  expectClose([along / size], [expected / size], tolerance, `${what}: ∂/∂${name} along a line`);
}

/** All elements when they are few, else the first and last ones (tails) and some between. */
function coordinates(x: Float64Array): number[] {
  const all = Array.from({ length: x.length }, (_, index) => index);
  if (x.length <= COORDINATES) return all;
  const third = COORDINATES / 3;
  const random = seeded(SEED + 3);
  const between = Array.from({ length: third }, () => third + random.integer(x.length - 2 * third));
  return [...new Set([...all.slice(0, third), ...between, ...all.slice(-third)])];
}
