import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import type { ParallelComparison } from "../../src/tasks/parallel.js";
import { heed, start } from "./run.js";

const SMALL = "--batch 2 --length 6 --width 16 --heads 2 --runs 2".split(" ");

describe("heed parallel", () => {
  test("prints a table for one thread and two, in 80 columns, and what the single calls are", async () => {
    const { code, stdout, stderr } = await heed(["parallel", ...SMALL]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /^2 sequences of 6 positions, width 16, 2 heads; 2 runs of each\n\n1 thread /,
    );
    expect(stdout).toContain("\n2 threads ");
    for (const name of ["one call", "6 calls of one position", "LSTM, 6 steps"])
      expect(
        stdout.match(new RegExp(`^${name} +[\\d.]+ ms +[\\d.]+ ms +[\\d.]+ ms +[\\d.]+ ×$`, "gm")),
      ).toHaveLength(2);
    expect(stdout).toMatch(/another\nfunction, with results up to [\d.]+ off\./);
    for (const line of stdout.split("\n")) expect(stringWidth(line)).toBeLessThanOrEqual(80);
  });

  test("prints every number with --json", async () => {
    const { code, stdout } = await heed(["parallel", ...SMALL, "--threads", "2", "--json"]);
    expect(code).toBe(0);
    const { comparisons } = JSON.parse(stdout) as { comparisons: ParallelComparison[] };
    expect(comparisons).toHaveLength(1);
    expect(comparisons[0]).toMatchObject({
      batch: 2,
      length: 6,
      width: 16,
      heads: 2,
      threads: 2,
      runs: 2,
    });
    expect(comparisons[0]?.timings.map(({ what }) => what)).toEqual([
      "oneCall",
      "singleCalls",
      "lstm",
    ]);
  });

  test.each(["SIGINT", "SIGTERM"] as const)("ends with 130 on %s", async (signal) => {
    const { child, outcome, seen } = start("parallel", "--runs", "1000");
    await seen("stdout", "runs of each");
    child.kill(signal);
    expect(await outcome).toMatchObject({ code: 130, stderr: "" });
  });

  test.each([
    [["--threads", "1,x"], 2, /It must be a whole number from 1 to 16/],
    [["--threads", "17"], 2, /It must be a whole number from 1 to 16/],
    [["--runs", "0"], 2, /It must be a whole number from 1 to 1000/],
    [["--heads", "3"], 2, /^error: --width must be a multiple of --heads, got 16 and 3\n/],
  ])("says what is wrong with %j", async (args, code, message) => {
    const found = await heed(["parallel", ...SMALL, ...args]);
    expect(found).toMatchObject({ code, stdout: "" });
    expect(found.stderr).toMatch(message);
  });
});
