import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";

export interface Outcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCommand {
  readonly child: ChildProcess;
  readonly outcome: Promise<Outcome>;
  /** Resolves when the text has come from the stream. */
  seen(stream: "stdout" | "stderr", text: string | RegExp): Promise<void>;
}

/** Starts dist/cli.mjs, its standard input left open. */
export function start(...args: string[]): RunningCommand {
  const child = spawn(process.execPath, ["dist/cli.mjs", ...args], {
    env: { ...process.env, NO_COLOR: "1" },
  });
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8");
    child[name].on("data", (part: string) => {
      text[name] += part;
    });
  }
  // The command may end before it has read all.
  child.stdin.on("error", () => {});
  const outcome = new Promise<Outcome>((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal, ...text }));
  });
  const seen = async (stream: "stdout" | "stderr", wanted: string | RegExp): Promise<void> => {
    const found = (): boolean =>
      typeof wanted === "string" ? text[stream].includes(wanted) : wanted.test(text[stream]);
    while (!found()) {
      if (child.exitCode !== null || child.signalCode !== null)
        expect.fail(`${wanted} must come on ${stream}, got ${JSON.stringify(text)} and an end`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  return { child, outcome, seen };
}

/** Runs dist/cli.mjs to its end. No outcome may show a stack or a raw control character. */
export async function heed(
  args: readonly string[],
  input: string | Uint8Array = "",
): Promise<Outcome> {
  const { child, outcome } = start(...args);
  child.stdin?.end(input);
  const found = await outcome;
  expect(found.stderr).not.toMatch(/^ {4}at /m);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not come
  expect(found.stdout + found.stderr).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f]/);
  return found;
}

/** A fresh folder that is gone after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "heed-cli-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
