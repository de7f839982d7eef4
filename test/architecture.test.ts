/**
 * Imports point down, never up, never sideways. Each line of LAYERS may use the lines above it and,
 * of its own line, only its own folder.
 */
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, test } from "vitest";

const LAYERS: readonly (readonly string[])[] = [
  ["errors.ts", "exact-math.ts", "platform/platform.ts"],
  ["memory", "platform"],
  ["kernels"],
  ["runtime"],
  ["tensor"],
  ["ops"],
  ["nn", "optim"],
  ["models", "train"],
  ["io", "generation", "inspect"],
  ["tasks"],
  ["entries"], // every other file of src/, and cli/
];
const ENTRIES = "entries";

/** Packages, and the folders that may use them. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "@assemblyscript/loader": ["kernels"],
  "@huggingface/tokenizers": ["io"],
  commander: ["cli"],
  "string-width": ["cli", "inspect"],
};

interface Import {
  /** Relative to src/. */
  readonly from: string;
  readonly line: number;
  readonly text: string;
  /** A file relative to src/, or what stands between the quotes. */
  readonly to: string;
}

/** All rules that an import breaks, each as one line. */
function faults(source: string, from: string): string[] {
  return importsOf(source, from).flatMap((found) => {
    const broken = brokenRule(found);
    return broken ? [`src/${from}:${found.line}: ${found.text} — ${broken}`] : [];
  });
}

function brokenRule({ from, to }: Import): string | null {
  const family = familyOf(from);
  if (to.startsWith("node:"))
    return family === "platform" || from.startsWith("cli/") || /(^|\.)node\.ts$/.test(from)
      ? null
      : "only platform/, cli/ and Node's entries may know Node";
  if (!to.endsWith(".ts")) {
    if (to.endsWith(".json") && from.startsWith("cli/")) return null;
    const users = PACKAGES[to];
    if (!users) return `only ${Object.keys(PACKAGES).join(", ")} may be imported`;
    return users.includes(from.split("/")[0] as string) ? null : `only ${users} may use ${to}`;
  }
  const target = familyOf(to);
  if (target === family) return null;
  if (target === "platform" && family !== ENTRIES)
    return "only entries may choose a platform; what is needed from it is handed in";
  const [mine, its] = [levelOf(family), levelOf(target)];
  if (its > mine) return `${family} must not import upward`;
  if (its === mine && its > 0) return `${family} and ${target} stand side by side`;
  return null;
}

function importsOf(source: string, from: string): Import[] {
  const pattern =
    /^(?:import|export)\b[^;"']*?\bfrom\s*["']([^"']+)["']|^import\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/gm;
  return [...source.matchAll(pattern)].map((match) => {
    const path = (match[1] ?? match[2] ?? match[3]) as string;
    const line = source.slice(0, match.index).split("\n").length;
    const text = match[0].replaceAll(/\s+/g, " ");
    return { from, line, text, to: resolve(from, path) };
  });
}

function resolve(from: string, path: string): string {
  if (!path.startsWith(".")) return path;
  return posix.join(posix.dirname(from), path).replace(/\.js$/, ".ts");
}

/** The entry of LAYERS that a file of src/ belongs to. */
function familyOf(file: string): string {
  const names = LAYERS.flat();
  const folder = file.split("/")[0] as string;
  return names.includes(file) ? file : names.includes(folder) ? folder : ENTRIES;
}

function levelOf(family: string): number {
  return LAYERS.findIndex((families) => families.includes(family));
}

const files = readdirSync("src", { recursive: true })
  .map((path) => String(path).replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".ts"))
  .sort();

function read(file: string): string {
  return readFileSync(`src/${file}`, "utf8");
}

describe("src/", () => {
  test("has imports that point down only", () => {
    expect(files.length).toBeGreaterThan(20);
    expect(files.flatMap((file) => faults(read(file), file))).toEqual([]);
  });

  test("names kernels in ops/ only", () => {
    const kernels = new Set(
      [...read("kernels/signatures.ts").matchAll(/^ {2}(\w+): \[/gm)].map((match) => match[1]),
    );
    expect(kernels.size).toBeGreaterThan(20);
    const named = files
      .filter((file) => familyOf(file) !== "ops")
      .flatMap((file) =>
        read(file)
          .split("\n")
          .flatMap((text, index) => {
            const names = [...text.matchAll(/"(\w+)"/g)].filter(([, name]) => kernels.has(name));
            return names.length ? [`src/${file}:${index + 1}: ${text.trim()}`] : [];
          }),
      );
    expect(named).toEqual([]);
  });

  test("imports files that exist, with the extension of what will run", () => {
    const missing = files.flatMap((file) =>
      importsOf(read(file), file)
        .filter(({ to }) => to.endsWith(".ts") && !files.includes(to))
        .map(({ line, text }) => `src/${file}:${line}: ${text}`),
    );
    expect(missing).toEqual([]);
  });

  // A call takes some 120,000 arguments; longer lists overflow the stack.
  test("hands no list of any length to a call", () => {
    const spread =
      /(?:Math\.(?:max|min)|\.(?:push|unshift|fromCharCode|fromCodePoint)|\.apply)\((?:[^()[\]{}]*, )?\.\.\./;
    expect("all.push(...some)").toMatch(spread);
    expect("Math.max(0, ...some)").toMatch(spread);
    const found = files.flatMap((file) =>
      read(file)
        .split("\n")
        .flatMap((text, index) =>
          spread.test(text) ? [`src/${file}:${index + 1}: ${text.trim()}`] : [],
        ),
    );
    expect(found).toEqual([]);
  });

  test("says what came in every RangeError: the command line tells those by it", () => {
    const silent = files.flatMap((file) =>
      [...read(file).matchAll(/new RangeError\(([^;]*);/g)].flatMap(([error, text]) =>
        /, got |error\.message/.test(text ?? "") ? [] : [`src/${file}: ${error}`],
      ),
    );
    expect(silent).toEqual([]);
  });

  test("opens files to read from in one place of cli/", () => {
    const opening = files.filter(
      (file) =>
        file.startsWith("cli/") && /createReadStream|openSync|readFileSync/.test(read(file)),
    );
    expect(opening).toEqual(["cli/input.ts"]);
  });

  test("keeps every file below 500 lines", () => {
    const long = files.filter(
      (file) => file !== "kernels/signatures.ts" && read(file).split("\n").length > 500,
    );
    expect(long).toEqual([]);
  });
});

describe("the rules", () => {
  test.each([
    ["upward", "tensor/tensor.ts", 'import { softmax } from "../ops/softmax.js";'],
    [
      "upward, for a type too",
      "memory/memory.ts",
      'import type { Tensor } from "../tensor/tensor.js";',
    ],
    [
      "upward over several lines",
      "ops/a.ts",
      'import {\n  Linear,\n  type X,\n} from "../nn/linear.js";',
    ],
    ["upward by export", "nn/index.ts", 'export * from "../models/seq2seq.js";'],
    ["upward when called", "ops/a.ts", 'const x = await import("../nn/linear.js");'],
    ["to an entry", "tasks/translate.ts", 'import { init } from "../node.js";'],
    ["sideways", "nn/linear.ts", 'import { AdamW } from "../optim/adam-w.js";'],
    ["sideways between io and generation", "io/a.ts", 'import "../generation/beam-search.js";'],
    ["to a platform", "runtime/start.ts", 'import { nodePlatform } from "../platform/node.js";'],
    [
      "from a platform upward",
      "platform/node.ts",
      'import { Runtime } from "../runtime/runtime.js";',
    ],
    ["to Node", "io/safetensors.ts", 'import { readFile } from "node:fs/promises";'],
    ["to Node from a page", "browser.ts", 'import { join } from "node:path";'],
    [
      "to a package of another folder",
      "io/a.ts",
      'import { instantiate } from "@assemblyscript/loader";',
    ],
    ["to an unknown package", "io/a.ts", 'import lodash from "lodash";'],
  ])("refuse an import %s", (_, from, source) => {
    expect(faults(source, from)).toHaveLength(1);
  });

  test.each([
    ["down", "ops/softmax.ts", 'import { empty } from "../tensor/create.js";'],
    ["inside of a folder", "nn/lstm.ts", 'import { Module } from "./module.js";'],
    [
      "of the platform's vocabulary",
      "kernels/pool.ts",
      'import type { Platform } from "../platform/platform.js";',
    ],
    ["of errors", "memory/memory.ts", 'import { StateError } from "../errors.js";'],
    [
      "of Node by Node's entry",
      "worker.node.ts",
      'import * as threads from "node:worker_threads";',
    ],
    ["of an entry by the command line", "cli/cli.ts", 'import { init } from "../node.js";'],
    [
      "by training of what it uses",
      "train/trainer.ts",
      'import { AdamW } from "../optim/adam-w.js";',
    ],
  ])("allow an import %s", (_, from, source) => {
    expect(faults(source, from)).toEqual([]);
  });

  test("name the file, the line and the import", () => {
    const source = '/** A file. */\nimport { x } from "../ops/x.js";\n';
    expect(faults(source, "tensor/t.ts")).toEqual([
      'src/tensor/t.ts:2: import { x } from "../ops/x.js" — tensor must not import upward',
    ]);
  });
});
