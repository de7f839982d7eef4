import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdirSync, openSync, symlinkSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { readLines, readText } from "../../src/cli/input.js";
import { senseModel } from "../support/sense-model.js";
import { heed, start, temporaryFolder } from "./run.js";
import { writeSmallAnswerer, writeSmallModel } from "./small-model.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);
const POSIX = process.platform !== "win32";
const pipe = (name: string): string => {
  execFileSync("mkfifo", [path(name)]);
  return path(name);
};
const never = new AbortController().signal;

/** A pipe's end to write to: there is none before somebody reads. */
async function openedBySomeone(pipe: string): Promise<number> {
  for (;;)
    try {
      return openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENXIO") throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
}

/** Both ways to read a file, as one text. */
const WAYS: Record<string, (file: string, signal: AbortSignal) => Promise<string>> = {
  readText: (file, signal) => readText({ who: "test", file, prompt: "" }, signal),
  readLines: async (file, signal) => {
    const found: string[] = [];
    for await (const lines of readLines({ who: "test", file, prompt: "" }, signal))
      for (const line of lines) found.push(line);
    return found.join("\n");
  },
};

describe.each(Object.entries(WAYS))("%s()", (way, read) => {
  beforeAll(() => writeFileSync(path("text"), "one\ntwo"));

  test("reads a file, and one by a link to it", async () => {
    expect(await read(path("text"), never)).toBe("one\ntwo");
    symlinkSync(path("text"), path(`link-${way}`));
    expect(await read(path(`link-${way}`), never)).toBe("one\ntwo");
  });

  test.runIf(POSIX)("reads a device, and a pipe as its writer fills it", async () => {
    expect(await read("/dev/null", never)).toBe("");
    const file = pipe(`filled-${way}`);
    const text = `${"x".repeat(99)}\n`.repeat(5000).trimEnd();
    const [found] = await Promise.all([read(file, never), writeFile(file, text)]);
    expect(found).toBe(text);
  });

  test.runIf(POSIX)("stops waiting for a pipe's writer when it is told to", async () => {
    const controller = new AbortController();
    const reading = read(pipe(`empty-${way}`), controller.signal);
    setTimeout(() => controller.abort(new Error("enough")), 50);
    await expect(reading).rejects.toThrow("enough");
  });

  test("names what it cannot read", async () => {
    mkdirSync(path(`folder-${way}`));
    for (const [file, reason] of [
      [path(`folder-${way}`), "EISDIR"],
      [path("none"), "ENOENT"],
      [join(path("text"), "below"), "ENOTDIR"],
    ] as const)
      await expect(read(file, never)).rejects.toThrow(
        new RegExp(`^test: ${file} must be readable, got ${reason}: `),
      );
  });
});

describe.runIf(POSIX)("a pipe that nothing comes from", () => {
  const [translator, answerer, senses] = ["translator", "answerer", "senses"].map(path) as [
    string,
    string,
    string,
  ];

  beforeAll(async () => {
    await writeSmallModel(translator);
    await writeSmallAnswerer(answerer);
    mkdirSync(senses);
    for (const [name, bytes] of Object.entries(senseModel()))
      writeFileSync(join(senses, name), bytes);
    pipe("waiting");
  });

  const WAITING: readonly (readonly string[])[] = [
    ["translate", "--model", translator, "--file"],
    ["answer", "--model", answerer, "--question", "a", "--context-file"],
    ["answer", "--model", answerer, "--questions"],
    ["disambiguate", "--model", senses, "--word", "bank", "--file"],
  ];

  test.each(WAITING)("ends with the first SIGTERM: %s %s %s %s", async (...args) => {
    const { child, outcome } = start(...args, path("waiting"));
    const writer = await openedBySomeone(path("waiting"));
    child.kill("SIGTERM");
    expect(await outcome).toMatchObject({ code: 130, stdout: "", stderr: "" });
    closeSync(writer);
  });

  test("is refused where a whole file is loaded", async () => {
    const args = ["train", "translate", "--data", folder, "--out", path("out"), "--tokenizer"];
    const { code, stderr } = await heed([...args, path("waiting")]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^heed: .*waiting: the file must be readable, got not a regular file\n$/,
    );
  });
});
