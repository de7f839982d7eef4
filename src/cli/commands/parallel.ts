import type { Command } from "commander";
import { integer, run, wholeNumbers } from "../options.js";

export function parallel(program: Command): void {
  program
    .command("parallel")
    .description("time attention over a whole sequence against position by position and an LSTM")
    .option("--batch <n>", "sequences side by side", integer(1, 256), 32)
    .option("--length <n>", "positions of a sequence", integer(1, 2000), 100)
    .option("--width <n>", "width of a position", integer(1, 2048), 256)
    .option("--heads <n>", "heads; the width is a multiple", integer(1, 256), 8)
    .option("--runs <n>", "times that each is run", integer(1, 1000), 5)
    .option("--threads <list>", "thread counts, with commas", wholeNumbers(1, 16), [1, 2])
    .option("--json", "one JSON object: sizes, and every time in milliseconds")
    .action(async (options, command: Command) => {
      const { width, heads } = options;
      if (width % heads !== 0)
        command.error(`error: --width must be a multiple of --heads, got ${width} and ${heads}`);
      const { parallelCommand } = await import("../parallel.js");
      await run((signal) => parallelCommand(options, signal));
    });
}
