import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { version } from "../../package.json";
import { heed } from "./run.js";

describe("heed", () => {
  test.each([
    [["translate", "--beam", "0", "a"], /--beam <n>.* It must be a whole number from 1 to 64/],
    [["translate", "--beam", "x", "a"], /--beam <n>.* It must be a whole number from 1 to 64/],
    [["translate", "--beam", "0x5", "a"], /--beam <n>.* It must be a whole number/],
    [
      ["translate", "--threads", "99", "a"],
      /--threads <n>.* It must be a whole number from 1 to 16/,
    ],
    [["translate", "--unknown", "a"], /unknown option '--unknown'/],
    [["translate", "--unknown\u001b[31m", "a"], /unknown option '--unknown\\u001b\[31m'/],
    [["translate", "--file", "x.txt", "a"], /from arguments or from --file, got both/],
    [["translate", "--plain", "--json", "a"], /'--json' cannot be used with option '--plain'/],
    [["fly"], /unknown command 'fly'/],
    [["train", "translate", "--out", "x"], /required option '--data <folder>' not specified/],
    [["train", "translate", "--data", "x", "--out", "y", "--rate", "2"], /number from 0 to 1/],
    [
      ["train", "translate", "--data", "x", "--out", "y", "--storage", "f8"],
      /choices are f16, int8/,
    ],
  ])("%j is wrong use", async (args, message) => {
    const { code, stdout, stderr } = await heed(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });

  const inShell = async (script: string): Promise<{ code: number | null; stderr: string }> => {
    const child = spawn("sh", ["-c", script, process.execPath], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    child.stderr.on("data", (data) => {
      stderr += data;
    });
    const [code] = await once(child, "close");
    return { code, stderr };
  };

  test.runIf(existsSync("/dev/full"))(
    "says on one line that its output cannot be written",
    async () => {
      const sentences = '"The cat." "The dog."';
      for (const args of [
        "--version",
        "--help",
        "translate --help",
        `translate --plain ${sentences}`,
      ])
        expect(await inShell(`"$0" dist/cli.mjs ${args} > /dev/full`)).toEqual({
          code: 1,
          stderr:
            "heed: standard output must be writable, got ENOSPC: no space left on device, write\n",
        });
      const untold = await inShell(`"$0" dist/cli.mjs translate --beam 0 2> /dev/full`);
      expect(untold).toEqual({ code: 2, stderr: "" });
    },
  );

  test.each([[[]], [["train"]]])("%j shows what there is", async (args) => {
    const { code, stderr } = await heed(args);
    expect(code).toBe(2);
    expect(stderr).toContain("Usage: heed");
  });

  test("--version tells the version", async () => {
    expect(await heed(["--version"])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  test.each([
    [["--help"], ["translate", "train"]],
    [
      ["translate", "--help"],
      ["--file", "--model", "--beam", "--plain", "--grid", "--json"],
    ],
    [
      ["train", "translate", "--help"],
      ["--data", "--out", "--tokenizer", "--storage", "Ctrl-C"],
    ],
  ])("%j fits into 80 columns", async (args, parts) => {
    const { code, stdout } = await heed(args);
    expect(code).toBe(0);
    for (const part of parts) expect(stdout).toContain(part);
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });
});
