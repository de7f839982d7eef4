import type { Command } from "commander";
import { integer, real, run } from "../options.js";
import { trainingOptions } from "./training-options.js";

export function trainTranslate(train: Command): void {
  const command = train
    .command("translate")
    .description("a translator, on pairs of sentences")
    .requiredOption(
      "--data <folder>",
      "holds train.tsv and dev.tsv (or .tsv.gz): SOURCE<TAB>TARGET[<TAB>LINKS]",
    )
    .option(
      "--tokenizer <file>",
      "a tokenizer.json; default: that of the model that comes with heed",
    )
    .option("--embedding <n>", "width of embeddings", integer(1, 4096), 192)
    .option("--hidden <n>", "width of the LSTMs", integer(1, 4096), 256)
    .option("--layers <n>", "LSTM layers on each side", integer(1, 8), 1)
    .option("--unidirectional", "an encoder that reads forward only", false)
    .option("--smoothing <x>", "label smoothing", real(0, 0.9), 0.1)
    .option("--forcing <x>", "share of steps that are fed the true token", real(0, 1), 1)
    .option("--guide <x>", "weight of looking where LINKS say", real(0, 10), 0.5)
    .option("--limit <n>", "use only the first n pairs", integer(1, 1e9));
  trainingOptions(command, {
    epochs: 10,
    batch: 64,
    rate: 0.002,
    dropout: 0.2,
    patience: 3,
    storage: "f16",
  }).action(async (options) => {
    const { trainCommand, RESUMES } = await import("../train.js");
    const { translationProgram } = await import("../train-translate.js");
    await run((signal) => trainCommand(translationProgram, options, signal), RESUMES);
  });
}
