import { type Command, Option } from "commander";
import { integer, real } from "../options.js";

/** What a training program does when nothing is said. */
export interface TrainingDefaults {
  readonly epochs: number;
  readonly batch: number;
  readonly rate: number;
  /** Absent for models that have none. */
  readonly dropout?: number;
  readonly patience: number;
  readonly storage: "f16" | "int8";
}

/** Adds the options that all training programs have; see TrainOptions. */
export function trainingOptions(command: Command, defaults: TrainingDefaults): Command {
  if (defaults.dropout !== undefined)
    command.option("--dropout <p>", "probability", real(0, 0.9), defaults.dropout);
  return command
    .requiredOption(
      "--out <folder>",
      "where the model and the checkpoint go: after Ctrl-C the same command goes on from there",
    )
    .option(
      "--from <folder>",
      "a model of the same sizes whose weights it begins with; default: drawn by the seed",
    )
    .option("--epochs <n>", "passes over the data", integer(1, 1000), defaults.epochs)
    .option("--batch <n>", "items a step", integer(1, 4096), defaults.batch)
    .option("--rate <x>", "highest learning rate", real(0, 1), defaults.rate)
    .option(
      "--patience <n>",
      "epochs without improvement before it stops",
      integer(1, 1000),
      defaults.patience,
    )
    .option("--seed <n>", "of weights, order and dropout", integer(0, 2 ** 31 - 1), 1)
    .addOption(
      new Option("--storage <kind>", "how the model's weights are written")
        .choices(["f16", "int8"])
        .default(defaults.storage),
    )
    .option("--threads <n>", "threads; default: the machine's cores", integer(1, 16));
}
