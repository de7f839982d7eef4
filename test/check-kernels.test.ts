import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import asc from "assemblyscript/asc";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const FLAGS = "--runtime stub --importMemory --noExportMemory --noAssert --enable simd,threads";
const GOOD = "export function addF32(y: usize, begin: i32, end: i32): void { store<f32>(y, 1); }";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "heed-kernels-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Compiles one source of AssemblyScript into the folder. */
async function compile(file: string, source: string, flags = ""): Promise<void> {
  const { error, stderr } = await asc.main(
    ["a.ts", "-o", "a.wasm", "--config", "none", ...FLAGS.split(" "), ...flags.split(" ")].filter(
      Boolean,
    ),
    {
      readFile: (name) => (name === "a.ts" ? source : null),
      writeFile: (_, contents) => writeFileSync(join(folder, file), contents),
      listFiles: () => [],
    },
  );
  if (error) throw new Error(`${error.message}\n${stderr}`);
}

function run(): { status: number | null; text: string } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["scripts/check-kernels.mjs", folder],
    { encoding: "utf8" },
  );
  return { status, text: stdout + stderr };
}

describe("scripts/check-kernels.mjs", () => {
  test("passes kernels that hold nothing", async () => {
    await compile("heed.simd.wasm", GOOD);
    await compile("heed.threads.wasm", GOOD, "--sharedMemory --initialMemory 1 --maximumMemory 9");
    expect(run()).toEqual({
      status: 0,
      text: "check-kernels: 2 builds of 1 kernels hold nothing and need only memory\n",
    });
  });

  test.each([
    ["no data segment", `export function f(): usize { return changetype<usize>("text"); }`],
    [
      "no data segment",
      `const a: StaticArray<f32> = [1, 2]; export function f(i: i32): f32 { return a[i]; }`,
    ],
    ["no mutable global", `let n = 0; export function f(): i32 { return ++n; }`],
    ["no mutable global", `export function f(a: i32, b: i32 = 1): i32 { return a + b; }`],
    ["env.memory only", `declare function g(): void; export function f(): void { g(); }`],
    ["no start function", `let n = 0; export function f(): i32 { return n; } n = load<i32>(64);`],
    ["export functions only", `export const n = 5; export function f(): void {}`],
  ])("insists on %s: not %s", async (fault, source) => {
    await compile("heed.simd.wasm", source);
    const { status, text } = run();
    expect(text).toContain("check-kernels: heed.simd.wasm: must");
    expect(text).toContain(fault);
    expect(status).toBe(1);
  });

  test("refuses a memory that is not what the build's name says", async () => {
    await compile("heed.threads.wasm", GOOD);
    expect(run().text).toContain("heed.threads.wasm: must import a shared memory");
  });

  test("refuses a build that lacks a kernel", async () => {
    await compile("heed.simd.wasm", GOOD);
    await compile("heed.relaxed.wasm", GOOD.replace("addF32", "subF32"));
    expect(run().text).toContain(
      "must have the kernels of heed.relaxed.wasm, but lacks subF32, has addF32 besides",
    );
  });

  test("refuses what is no WebAssembly module", () => {
    writeFileSync(join(folder, "heed.simd.wasm"), "text");
    expect(run()).toMatchObject({ status: 1 });
    writeFileSync(join(folder, "heed.simd.wasm"), Buffer.from("0061736d0100000002ff", "hex"));
    expect(run().text).toContain("must be a WebAssembly module, got an end too early");
  });

  test("refuses an empty folder", () => {
    expect(run().text).toContain("must hold kernel builds, got none");
  });
});
