import fc from "fast-check";
import { expect, test } from "vitest";
import { FormatError } from "../../src/errors.js";
import { parseSafetensors } from "../../src/io/safetensors.js";
import { stFile } from "./build-file.js";

const seed = Date.now();
const RUNS = 5_000;

/** A value or a FormatError, and nothing that reaches outside the file. */
function expectSound(file: Uint8Array): void {
  try {
    const { tensors } = parseSafetensors(file);
    let total = 0;
    for (const { data } of tensors.values()) total += data.length;
    expect(total).toBeLessThan(file.length);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    expect(error.code).toMatch(/^(ST|JSON)_[A-Z0-9]+/);
    expect(error.message).not.toMatch(/\p{Cc}/u);
  }
}

test(`parseSafetensors() gives a value or a FormatError for any bytes (seed ${seed})`, () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => expectSound(bytes)),
    { seed, numRuns: RUNS },
  );
});

const number = fc.oneof(
  fc.nat(16),
  fc.constantFrom(-1, -0, 1.5, 2 ** 31, 2 ** 32, 2 ** 48, 2 ** 53, 1e300, "8", null),
);
const tensor = fc.record(
  {
    dtype: fc.constantFrom("F32", "F16", "I8", "I64", "F64", "", 1, null),
    shape: fc.oneof(fc.array(number, { maxLength: 10 }), fc.constantFrom(null, 2, "2")),
    data_offsets: fc.oneof(fc.tuple(number, number), fc.array(number, { maxLength: 3 })),
    extra: fc.anything({ maxDepth: 1 }),
  },
  { requiredKeys: [] },
);
const name = fc.constantFrom("a", "b", "c", "__metadata__", "__proto__", "constructor", "");

test(`parseSafetensors() gives a value or a FormatError for any header (seed ${seed})`, () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(name, tensor), { maxLength: 4 }), fc.nat(64), (entries, data) => {
      const fields = entries.map(
        ([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`,
      );
      expectSound(stFile(`{${fields}}`, data));
    }),
    { seed, numRuns: RUNS },
  );
});

test(`parseSafetensors() gives a value or a FormatError for changed bytes (seed ${seed})`, () => {
  const header =
    '{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b":{"dtype":"U8","shape":[3],"data_offsets":[24,27]}}';
  const whole = stFile(header, 27);
  const change = fc.tuple(fc.nat(whole.length - 1), fc.constantFrom(...'\0 "\\{}[]:,019-eux\xff'));
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), fc.nat(3), (changes, cut) => {
      const file = whole.slice(0, whole.length - cut);
      for (const [at, char] of changes) file[at] = char.charCodeAt(0);
      expectSound(file);
    }),
    { seed, numRuns: RUNS },
  );
});
