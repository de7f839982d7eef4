import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";

/** What each example must say, at least. */
const SAYS: Readonly<Record<string, RegExp>> = {
  "01-tensor.mjs": /f32\[2, 2\].*0\.119.* bytes in use, on 1 thread\n$/s,
  "02-gradient.mjs": /x = 2: slope 1\.105\d, tried 1\.105\d\n$/s,
  "03-attention.mjs": /the +100 % +0 % +0 % +0 %\n.*sleeps( +\d+ %){4}\n$/s,
  "04-training-by-hand.mjs":
    /step 200: loss 0\.00\d\d\n0 xor 0: 0\.\d % one\n0 xor 1: (100\.0|99\.\d) % one\n/s,
  "05-lstm.mjs": /step 0: \d+ of 32 right\n.*step 125: 32 of 32 right\n$/s,
  "06-seq2seq.mjs": /^… .*\n +El ← \S+ \(\d+ %\)\n/s,
  "07-block.mjs": /^step 0: loss 2\.\d+\n.*step 200: loss 0\.0\d+\n(.+\n){6}6 +▓▓.*\n\n$/s,
  "08-load-a-state-dict.mjs": /weight_hh_l0: F32 \[16,4\]\n.*the same output: true\n$/s,
  "09-summarise.mjs":
    /^village in .*\n +village ← village \(\d+ %\)\n.*\n +0: Calow is .*\(said already, at \d+\)/s,
  "10-answer.mjs":
    /^Who built the old bridge\?\n +\d+ % {2}two brothers {2}\[\d+, \d+\)\n.*no answer \(\d+ %\)\n$/s,
  "11-disambiguate.mjs": /money \(100 %\), by "money"\n.*river \(\d+ %\).*( +\S+){3} +1\.00\n$/s,
  "12-draw-attention.mjs": /^ +The .*\nEl .*\nheads\.svg and report\.html are in \S+\n$/s,
};

describe("examples/", () => {
  const folder = mkdtempSync(join(tmpdir(), "heed-examples-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const files = readdirSync("examples").filter((file) => file.endsWith(".mjs"));

  test("are all tried here", () => {
    expect(files).toEqual(Object.keys(SAYS));
  });

  test.each(files)(
    "%s is short, opens with what it shows, and says what it should",
    async (file) => {
      const source = readFileSync(`examples/${file}`, "utf8");
      expect(source).toMatch(/^\/\/ [A-Z]/);
      expect(source.split("\n").length).toBeLessThanOrEqual(40);
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [`examples/${file}`], {
        env: { ...process.env, TMPDIR: folder, TEMP: folder },
      });
      expect(stderr).toBe("");
      expect(stdout).toMatch(SAYS[file] as RegExp);
    },
  );
});
