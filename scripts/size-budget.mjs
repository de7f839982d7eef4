// Weighs what is shipped, compressed with brotli as servers send it, and fails over budget.
// node scripts/size-budget.mjs [folder]; the folder is dist by default.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";

/** Bytes after brotli. A page loads one kernel build, the entry, and a worker when it has threads. */
const BUDGETS = [
  { files: /^heed\.debug\.wasm$/, most: Infinity, aim: Infinity }, // not shipped
  { files: /^heed\..*\.wasm$/, most: 40_000, aim: 20_000 },
  { files: /^worker\..*\.mjs$/, most: 4_000, aim: 2_000 },
  { files: /^(browser|host\.browser)\.mjs$/, most: 60_000, aim: 40_000 },
  { files: /^browser-core\.mjs$/, most: 70_000, aim: 40_000 }, // before a page's bundler shakes it
  { files: /^inspect\.mjs$/, most: 20_000, aim: 16_000 }, // loaded by pages that draw
  // Read from disk, not minified; the command line holds every task, its training and the parser.
  { files: /^node\.mjs$/, most: 120_000, aim: 80_000 },
  { files: /^cli\.mjs$/, most: 160_000, aim: 120_000 },
];

const folder = process.argv[2] ?? "dist";
const rows = readdirSync(folder)
  .filter((file) => /\.(wasm|mjs)$/.test(file))
  .sort()
  .map(weigh);

console.log(row("file", "bytes", "brotli", "budget", ""));
for (const { file, size, brotli, budget } of rows)
  console.log(row(file, size, brotli, show(budget?.most), verdict(brotli, budget)));

const over = rows.filter(({ brotli, budget }) => !budget || brotli > budget.most);
for (const { file, brotli, budget } of over)
  console.error(
    budget
      ? `size-budget: ${file} must be at most ${budget.most} bytes after brotli, got ${brotli}`
      : `size-budget: ${file} must have a budget, got none. Add one to scripts/size-budget.mjs`,
  );
if (!rows.some(({ file }) => file.endsWith(".wasm"))) {
  console.error(`size-budget: ${folder} must hold kernel builds, got none. Run npm run build`);
  process.exit(1);
}
process.exit(over.length > 0 ? 1 : 0);

function weigh(file) {
  const bytes = readFileSync(join(folder, file));
  const budget = BUDGETS.find(({ files }) => files.test(file));
  return { file, size: bytes.length, brotli: brotliCompressSync(bytes).length, budget };
}

function verdict(brotli, budget) {
  if (!budget || brotli > budget.most) return "over";
  return brotli > budget.aim ? `above the aim of ${budget.aim}` : "";
}

function show(bytes) {
  return bytes === undefined ? "none" : bytes === Infinity ? "–" : bytes;
}

function row(file, size, brotli, budget, note) {
  const columns = [
    String(file).padEnd(28),
    ...[size, brotli, budget].map((n) => String(n).padStart(9)),
  ];
  return `${columns.join("")}  ${note}`.trimEnd();
}
