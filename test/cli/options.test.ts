import { InvalidArgumentError } from "commander";
import { afterEach, describe, expect, test, vi } from "vitest";
import { integer, real, run, wholeNumbers } from "../../src/cli/options.js";
import { FormatError, ShapeError } from "../../src/errors.js";

const LARGE = 2 ** 31;

describe("integer()", () => {
  test.each([
    ["0", 0],
    ["7", 7],
    ["-3", -3],
    ["1000", 1000],
  ])("takes %j", (text, value) => {
    expect(integer(-LARGE, LARGE)(text)).toBe(value);
  });

  test.each([
    ..."3. 3.0 .3 +3 3e0 1e3 0x3 0b1 0o7 007 -0 -- - 1_000 1,000 3n NaN Infinity ٣ ３ abc".split(
      " ",
    ),
    ...["", " 3", "3 ", "\t3", "3\n", "1 2", "−3", "1".repeat(400), `${"1".repeat(1e5)}x`],
  ])("refuses %j", (text) => {
    expect(() => integer(-LARGE, LARGE)(text)).toThrow(InvalidArgumentError);
  });

  test("takes its bounds, and nothing beyond", () => {
    expect([integer(1, 64)("1"), integer(1, 64)("64")]).toEqual([1, 64]);
    for (const text of ["0", "65", "-1"])
      expect(() => integer(1, 64)(text)).toThrow("It must be a whole number from 1 to 64.");
  });
});

describe("wholeNumbers()", () => {
  test("takes whole numbers with commas between", () => {
    expect(wholeNumbers(1, 9)("1,2,9")).toEqual([1, 2, 9]);
  });

  test.each(["", ",", "1,", ",1", "1,,2", "1, 2", "1;2", "1,2.", "1,+2"])("refuses %j", (text) => {
    expect(() => wholeNumbers(1, 9)(text)).toThrow(InvalidArgumentError);
  });
});

describe("real()", () => {
  test.each([
    ["0", 0],
    ["0.5", 0.5],
    [".5", 0.5],
    ["1e-4", 1e-4],
    ["2.5E+1", 25],
    ["-3", -3],
  ])("takes %j", (text, value) => {
    expect(real(-100, 100)(text)).toBe(value);
  });

  test.each([
    ..."3. +3 0x3 . - -. e5 1e 1e+ 1.2.3 1,5 NaN Infinity 1_0 1e999 ٣".split(" "),
    ...["", " 3", "3 ", "1 2", `${"1".repeat(1e5)}x`],
  ])("refuses %j", (text) => {
    expect(() => real(-100, 100)(text)).toThrow(InvalidArgumentError);
  });
});

describe("run()", () => {
  afterEach(() => {
    process.exitCode = undefined;
    vi.restoreAllMocks();
  });

  const told = async (error: unknown): Promise<string> => {
    const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    await run(() => Promise.reject(error));
    expect(process.exitCode).toBe(1);
    return write.mock.calls.map(([text]) => text).join("");
  };

  test.each([
    new ShapeError("softmax: x must have a row, got []"),
    new FormatError("X", "a.json: must hold an object, got null"),
    new RangeError("translate: beam must be a whole number from 1 to 64, got 0"),
    Object.assign(new Error("ENOENT: no such file, open 'x'"), { syscall: "open" }),
  ])("tells %s on one line", async (error) => {
    expect(await told(error)).toBe(`heed: ${error.message}\n`);
  });

  /** What the engine throws by itself. */
  const caught = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      return error;
    }
  };
  const overflow = (): number => overflow() + 1;
  test.each(
    [
      caught(overflow),
      caught(() => Math.max(...new Array<number>(1e6))),
      caught(() => new Array(-1)),
      caught(() => new Float32Array(-1)),
      caught(() => "x".repeat(2 ** 30)),
      caught(() => (1).toFixed(101)),
      caught(() => "x".normalize("NFX")),
      caught(() => (undefined as unknown as string).length),
      caught(() => JSON.parse("{")),
    ].map((error) => [String(error), error] as const),
  )("passes on what is a mistake of ours: %s", async (_, error) => {
    expect(error).toBeInstanceOf(Error);
    const running = run(() => Promise.reject(error));
    await expect(running).rejects.toBe(error);
    expect(process.exitCode).toBeUndefined();
  });
});
