import { type Command, Option } from "commander";
import { integer, run } from "../options.js";
import { trainingOptions } from "./training-options.js";

export function trainRecall(train: Command): void {
  const command = train
    .command("recall")
    .description("finding a marked word again, on sequences that it draws itself")
    .addOption(
      new Option("--architecture <kind>", "an attention block or an LSTM of the same size")
        .choices(["attention", "lstm"])
        .default("attention"),
    )
    .option(
      "--tokenizer <file>",
      "a tokenizer.json; default: that of the model that comes with heed",
    )
    .option("--width <n>", "default: 64 for attention, 48 for an LSTM", integer(1, 4096))
    .option("--heads <n>", "of the attention", integer(1, 64), 1)
    .option("--sequences <n>", "sequences to learn from", integer(1, 1e7), 20_000);
  trainingOptions(command, {
    epochs: 4,
    batch: 32,
    rate: 0.003,
    patience: 4,
    storage: "f16",
  }).action(async (options) => {
    const { trainCommand, RESUMES } = await import("../train.js");
    const { recallProgram } = await import("../train-recall.js");
    await run((signal) => trainCommand(recallProgram, options, signal), RESUMES);
  });
}
