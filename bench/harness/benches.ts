import { readdirSync } from "node:fs";
import type { Bench } from "./bench.js";

const FOLDER = new URL("../", import.meta.url);

/** Every bench of bench/*.bench.ts, file by file. */
export async function allBenches(): Promise<Bench[]> {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith(".bench.ts"));
  const benches: Bench[] = [];
  for (const file of files.sort()) {
    const module = (await import(new URL(file, FOLDER).href)) as { benches: readonly Bench[] };
    benches.push(...module.benches);
  }
  const names = benches.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice) throw new Error(`bench: names must differ, got "${twice}" twice`);
  return benches;
}
