import type { Command } from "commander";
import { integer, real, run } from "../options.js";
import { trainingOptions } from "./training-options.js";

export function trainAnswer(train: Command): void {
  const command = train
    .command("answer")
    .description("a model that answers questions with parts of a context")
    .requiredOption(
      "--data <folder>",
      "holds train.jsonl and dev.jsonl (or .gz): a question, its context and answers a line",
    )
    .option(
      "--tokenizer <file>",
      "a tokenizer.json; default: that of the model that comes with heed",
    )
    .option("--embedding <n>", "width of embeddings", integer(1, 4096), 96)
    .option("--hidden <n>", "width of each direction of the LSTMs", integer(1, 4096), 96)
    .option("--heads <n>", "heads of the attention", integer(1, 256), 4)
    .option("--layers <n>", "LSTM layers of each encoder", integer(1, 8), 1)
    .option("--window <n>", "tokens of the longest context", integer(16, 4096), 256)
    .option(
      "--unanswerable <x>",
      "share of questions that are learned on another's context too",
      real(0, 1),
      0.2,
    )
    .option("--limit <n>", "use only the first n questions", integer(1, 1e9));
  trainingOptions(command, {
    epochs: 6,
    batch: 64,
    rate: 0.002,
    dropout: 0.25,
    patience: 3,
    storage: "f16",
  }).action(async (options) => {
    const { trainCommand, RESUMES } = await import("../train.js");
    const { answerProgram } = await import("../train-answer.js");
    await run((signal) => trainCommand(answerProgram, options, signal), RESUMES);
  });
}
