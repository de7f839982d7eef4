// Writes docs/ops.md from the docstrings of what src/ops/index.ts exports.
// node scripts/docs.mjs [--check]; with --check nothing is written, and a page that is out of date fails.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const PAGE = "docs/ops.md";
const INTRO = `# Ops

The differentiable functions of heed: tensors in, new tensors out. Shapes, masks and errors stand in
each docstring. Made by \`npm run docs\` from src/ops: do not edit.

| op | what it is | source |
| --- | --- | --- |
`;

const rows = exportsOf("src/ops/index.ts").map(
  ({ name, parameters, summary, file }) =>
    `| \`${name}(${parameters})\` | ${summary.replaceAll("|", "\\|")} | [${file}](../src/ops/${file}) |\n`,
);
const page = INTRO + rows.join("");

if (!process.argv.includes("--check")) {
  mkdirSync("docs", { recursive: true });
  writeFileSync(PAGE, page);
  console.log(`docs: ${PAGE} has ${rows.length} ops`);
} else if (read(PAGE) !== page) {
  console.error(`docs: ${PAGE} must say what src/ops says, but is out of date. Run npm run docs`);
  process.exit(1);
}

/** Every function an index hands on, in its order. */
function exportsOf(index) {
  const found = [];
  for (const [, names, file] of read(index).matchAll(
    /^export (\*|\{[^}]*\}) from "\.\/(.+)\.js";$/gm,
  )) {
    const wanted = names === "*" ? null : new Set(names.match(/\w+/g));
    for (const entry of functionsOf(`${file}.ts`))
      if (!wanted || wanted.has(entry.name)) found.push(entry);
  }
  return found;
}

/** The exported functions of one file of src/ops, overloads once. */
function functionsOf(file) {
  const source = read(`src/ops/${file}`);
  const seen = new Map();
  const pattern =
    /(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?export function (\w+)(?:<[^>(]*>)?\(([^)]*)\)/g;
  for (const [, docstring, name, list] of source.matchAll(pattern)) {
    if (seen.has(name)) continue;
    if (!docstring) {
      console.error(`docs: ${name} in src/ops/${file} must have a docstring, got none`);
      process.exit(1);
    }
    seen.set(name, {
      name,
      file,
      parameters: parametersOf(list),
      summary: firstSentence(docstring),
    });
  }
  return [...seen.values()];
}

/** "x: Tensor, axis = -1" → "x, axis" */
function parametersOf(list) {
  const flat = list.replaceAll(/\{[^{}]*\}|<[^<>]*>/g, "");
  const names = flat.split(",").map((one) => one.trim().match(/^(?:\.\.\.)?\w+/)?.[0]);
  return names.filter(Boolean).join(", ");
}

function firstSentence(docstring) {
  const lines = docstring.split("\n").map((line) => line.replace(/^\s*\* ?/, "").trim());
  const end = lines.findIndex(
    (line, index) => index > 0 && (line === "" || line.startsWith("@")) && lines[index - 1] !== "",
  );
  const paragraph = lines
    .slice(0, end < 0 ? undefined : end)
    .join(" ")
    .trim();
  return paragraph.match(/^.*?[.!](?=\s|$)/)?.[0] ?? paragraph.replace(/:$/, ".");
}

function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
