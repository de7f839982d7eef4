import type { Command } from "commander";
import { integer, run } from "../options.js";
import { trainingOptions } from "./training-options.js";

export function trainLongRange(train: Command): void {
  const command = train
    .command("long-range")
    .description("a causal language model of one block, on plain text")
    .requiredOption("--data <folder>", "holds train.txt and dev.txt (or .txt.gz): a passage a line")
    .option(
      "--tokenizer <file>",
      "a tokenizer.json with <pad>, <s> and </s>; without --from it must be said",
    )
    .option("--width <n>", "width of embeddings", integer(1, 4096), 192)
    .option("--heads <n>", "heads; the width is a multiple", integer(1, 256), 6)
    .option("--positions <n>", "tokens of the longest passage", integer(4, 5000), 256)
    .option("--limit <n>", "use only the first n passages", integer(1, 1e9));
  trainingOptions(command, {
    epochs: 4,
    batch: 4,
    rate: 0.003,
    patience: 2,
    storage: "f16",
  }).action(async (options) => {
    const { trainCommand, RESUMES } = await import("../train.js");
    const { languageProgram } = await import("../train-long-range.js");
    await run((signal) => trainCommand(languageProgram, options, signal), RESUMES);
  });
}
