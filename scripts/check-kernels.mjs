// Reads every kernel build and refuses what would break kernels that share one memory: see KINDS OF FAULTS.
// node scripts/check-kernels.mjs [folder]; the folder is dist by default.
//
// KINDS OF FAULTS. Each thread has an instance of its own over the same memory, so a module must hold
// nothing: a data segment would be written again at every instantiation, a mutable global would differ
// between threads. It must need nothing but the memory, and every build must offer the same kernels.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readModule } from "./wasm-module.mjs";

const SHARED = /threads|debug/;

const folder = process.argv[2] ?? "dist";
const files = readdirSync(folder).filter((file) => file.endsWith(".wasm"));
const faults = [];
const kernels = new Map(); // file → names of its functions
for (const file of files.sort()) {
  try {
    const module = readModule(readFileSync(join(folder, file)));
    faults.push(...check(module, SHARED.test(file)).map((fault) => `${file}: ${fault}`));
    kernels.set(file, namesOf(module));
  } catch (error) {
    faults.push(`${file}: must be a WebAssembly module, got ${error.message}`);
  }
}
faults.push(...compareBuilds(kernels));
if (files.length === 0)
  faults.push(`${folder}: must hold kernel builds, got none. Run npm run build:wasm`);
for (const fault of faults) console.error(`check-kernels: ${fault}`);
if (faults.length > 0) process.exit(1);
console.log(
  `check-kernels: ${files.length} builds of ${kernels.get(files[0]).length} kernels hold nothing and need only memory`,
);

function check({ imports, globals, exports, segments, start }, shared) {
  const found = [];
  if (segments > 0)
    found.push(`must have no data segment, got ${segments}. A string, an array or Mathf makes one`);
  if (globals.mutable > 0)
    found.push(
      `must have no mutable global, got ${globals.mutable}. A let outside of functions, or an optional parameter, makes one`,
    );
  if (start) found.push("must have no start function. Code outside of functions makes one");
  for (const { module, name, kind } of imports)
    if (module !== "env" || name !== "memory" || kind !== "memory")
      found.push(`must import env.memory only, got the ${kind} ${module}.${name}`);
  const memory = imports.find(({ kind }) => kind === "memory");
  if (!memory) found.push("must import env.memory, got no memory");
  else if (memory.shared !== shared)
    found.push(`must import ${shared ? "a shared" : "an unshared"} memory, as its name says`);
  const seen = new Set();
  for (const { name, kind } of exports) {
    if (seen.has(name)) found.push(`must export each name once, got ${name} twice`);
    seen.add(name);
    if (kind !== "function") found.push(`must export functions only, got the ${kind} ${name}`);
    if (name.includes("@varargs") || name === "__setArgumentsLength")
      found.push(`must have no optional parameters, got the export ${name}`);
  }
  return found;
}

/** Every build must have the kernels of the first. */
function compareBuilds(kernels) {
  const [[first, names] = [], ...others] = kernels;
  return others.flatMap(([file, own]) => {
    const odd = [
      ...names.filter((name) => !own.includes(name)).map((name) => `lacks ${name}`),
      ...own.filter((name) => !names.includes(name)).map((name) => `has ${name} besides`),
    ];
    return odd.length ? [`${file}: must have the kernels of ${first}, but ${odd.join(", ")}`] : [];
  });
}

function namesOf({ exports }) {
  return exports.filter(({ kind }) => kind === "function").map(({ name }) => name);
}
