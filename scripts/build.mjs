// Builds dist/: the kernels (one wasm a target), their signatures for TypeScript, the bundles and
// the declarations.
//
//   node scripts/build.mjs                    all of it
//   node scripts/build.mjs --if-stale         all of it, when a source is newer than the last build
//   node scripts/build.mjs wasm [target …]    kernels and signatures
//   node scripts/build.mjs js | types
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import asc from "assemblyscript/asc";
import { build } from "esbuild";

const STAMP = "dist/.built";
const SOURCES = ["assembly", "src", "scripts/build.mjs", "asconfig.json", "package-lock.json"];
const NODE_ENTRIES = ["src/node.ts", "src/worker.node.ts"];
const WEB_ENTRIES = [
  "src/browser.ts",
  "src/browser-core.ts",
  "src/host.browser.ts",
  "src/worker.browser.ts",
  "src/inspect.ts",
];
// The argument parser is CommonJS: inside of an ES module it needs a require.
const CLI_BANNER = `#!/usr/bin/env node
import { createRequire } from "node:module";
const require = createRequire(import.meta.url);`;

const [what, ...names] = process.argv.slice(2);
mkdirSync("dist", { recursive: true });
if (what === "--if-stale" && !isStale()) process.exit(0);
const all = what === undefined || what === "--if-stale";
if (all) console.log("building dist/ (about a minute) …");
if (all || what === "wasm") {
  const targets = Object.keys(JSON.parse(readFileSync("asconfig.json", "utf8")).targets);
  for (const target of names.length > 0 ? names : targets) await compileKernels(target);
  writeSignatures();
}
if (all || what === "js") await bundle();
if (all || what === "types")
  execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], {
    stdio: "inherit",
  });
if (all) writeFileSync(STAMP, "");

/** Whether a source is newer than the last whole build. */
function isStale() {
  let built;
  try {
    built = statSync(STAMP).mtimeMs;
  } catch {
    return true;
  }
  return SOURCES.flatMap((path) =>
    statSync(path).isDirectory()
      ? readdirSync(path, { recursive: true }).map((file) => `${path}/${file}`)
      : [path],
  ).some((path) => statSync(path).mtimeMs > built && !path.endsWith("kernels/signatures.ts"));
}

async function compileKernels(target) {
  const { error, stderr } = await asc.main(["--config", "asconfig.json", "--target", target]);
  const text = stderr.toString().replace(/^Last converge was suboptimal\.\n/gm, "");
  if (text) process.stderr.write(text);
  if (error) {
    console.error(`build: the kernels for "${target}" must compile, got: ${error.message}`);
    process.exit(1);
  }
}

/** KernelSignatures from the sources: every exported function of assembly/ that ends in begin, end. */
function writeSignatures() {
  const rows = [];
  for (const path of readdirSync("assembly", { recursive: true }).map(String).sort()) {
    if (!path.endsWith(".ts")) continue;
    const source = readFileSync(`assembly/${path}`, "utf8");
    for (const [, inline, name, list] of source.matchAll(
      /((?:@inline\s+)?)^export function (\w+)\(([^)]*)\)/gms,
    )) {
      const parameters = list
        .split(",")
        .map((parameter) => parameter.trim().split(":")[0])
        .filter(Boolean);
      if (inline || parameters.at(-1) !== "end" || parameters.at(-2) !== "begin") continue;
      const args = parameters.slice(0, -2).map((parameter) => `${parameter}: number`);
      rows.push(`  ${name}: [${args.join(", ")}];`);
    }
  }
  const kernels = rows.map((row) => row.trim().split(":")[0]);
  const twice = kernels.filter((name, index) => kernels.indexOf(name) !== index);
  if (twice.length > 0) {
    console.error(
      `build: every kernel must have a name of its own, got twice: ${twice.join(", ")}`,
    );
    process.exit(1);
  }
  const text = `// Made by scripts/build.mjs from assembly/: do not edit.
/** The parameters of every kernel before begin and end; addresses and sizes in bytes and elements. */
export interface KernelSignatures {
${rows.sort().join("\n")}
}
`;
  const path = "src/kernels/signatures.ts";
  if (readText(path) !== text) writeFileSync(path, text);
}

async function bundle() {
  const common = {
    bundle: true,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    logLevel: "warning",
  };
  const output = (entry) => entry.replace(/^src\/(?:cli\/)?(.*)\.ts$/, "dist/$1.mjs");
  for (const entry of NODE_ENTRIES)
    await build({ ...common, entryPoints: [entry], platform: "node", outfile: output(entry) });
  for (const entry of WEB_ENTRIES)
    await build({
      ...common,
      entryPoints: [entry],
      platform: "browser",
      minify: true,
      outfile: output(entry),
    });
  await build({
    ...common,
    entryPoints: ["src/cli/cli.ts"],
    platform: "node",
    minifySyntax: true,
    outfile: output("src/cli/cli.ts"),
    banner: { js: CLI_BANNER },
  });
}

function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
