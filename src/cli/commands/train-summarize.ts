import { type Command, Option } from "commander";
import { integer, real, run } from "../options.js";
import { trainingOptions } from "./training-options.js";

export function trainSummarize(train: Command): void {
  const command = train
    .command("summarize")
    .description("a summarizer, on paragraphs and their summaries")
    .requiredOption(
      "--data <folder>",
      "holds train.tsv and dev.tsv (or .tsv.gz): PARAGRAPH<TAB>SUMMARY",
    )
    .option(
      "--tokenizer <file>",
      "a tokenizer.json; default: that of the model that comes with heed",
    )
    .option("--embedding <n>", "width of embeddings", integer(1, 4096), 128)
    .option("--hidden <n>", "width of the LSTMs", integer(1, 4096), 128)
    .option("--layers <n>", "LSTM layers on each side", integer(1, 8), 1)
    .addOption(
      new Option("--bridge <kind>", "how the encoder's two directions start the decoder")
        .choices(["sum", "linear"])
        .default("sum"),
    )
    .option("--cut <n>", "tokens of a paragraph that are read", integer(1, 1000), 80)
    .option(
      "--exercises <n>",
      "epochs that learn from exercises.tsv in place of train.tsv, the first ones",
      integer(0, 1000),
      0,
    )
    .option("--hiding <p>", "share of the source tokens hidden in training", real(0, 0.9), 0.1)
    .option("--echo <x>", "weight of telling source tokens again", real(0, 10), 0.3)
    .option("--smoothing <x>", "label smoothing", real(0, 0.9), 0.1)
    .option("--limit <n>", "use only the first n pairs", integer(1, 1e9));
  trainingOptions(command, {
    epochs: 20,
    batch: 32,
    rate: 0.002,
    dropout: 0.3,
    patience: 5,
    storage: "f16",
  }).action(async (options) => {
    const { trainCommand, RESUMES } = await import("../train.js");
    const { summarizationProgram } = await import("../train-summarize.js");
    await run((signal) => trainCommand(summarizationProgram, options, signal), RESUMES);
  });
}
