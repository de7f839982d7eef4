import type { Command } from "commander";
import { integer, real, run } from "../options.js";
import { trainingOptions } from "./training-options.js";

export function trainDisambiguate(train: Command): void {
  const command = train
    .command("disambiguate")
    .description("a model that tells senses of words, on labelled sentences and plain text")
    .requiredOption("--data <folder>", "holds bank.tsv and homographs.tsv")
    .option(
      "--text <files...>",
      "plain text to learn embeddings from: the first cell of each line, .gz or not",
      [],
    )
    .option(
      "--tokenizer <file>",
      "a tokenizer.json; default: that of the model that comes with heed",
    )
    .option("--embedding <n>", "width of embeddings", integer(1, 4096), 96)
    .option(
      "--context <n>",
      "width in which words attend; default: no projection",
      integer(1, 4096),
    )
    .option("--window <n>", "words of the context on each side", integer(1, 1000), 20)
    .option("--temperature <x>", "what cosines are divided by", real(0.001, 1000), 0.1)
    .option(
      "--repeats <n>",
      "how often an epoch shows each labelled sentence",
      integer(1, 1000),
      8,
    );
  trainingOptions(command, {
    epochs: 8,
    batch: 256,
    rate: 0.002,
    dropout: 0.3,
    patience: 3,
    storage: "int8",
  }).action(async (options) => {
    const { trainCommand, RESUMES } = await import("../train.js");
    const { disambiguationProgram } = await import("../train-disambiguate.js");
    await run((signal) => trainCommand(disambiguationProgram, options, signal), RESUMES);
  });
}
