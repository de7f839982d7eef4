import { type Command, Option } from "commander";
import { drawingOptions } from "../drawing.js";
import { integer, run } from "../options.js";

export function disambiguate(program: Command): void {
  const command = program
    .command("disambiguate")
    .description("tell in which sense a word is used, and which labelled sentences are like it")
    .argument("[sentences...]", "default: from --file, or from standard input, a line each")
    .option("--word <word>", "the word, in any form; an unknown one names those that are known")
    .option("--file <path>", "read the sentences from a file, a line each")
    .option("--model <folder>", "a model folder; default: the one that comes with heed")
    .option("--nearest <n>", "labelled sentences shown with each answer", integer(0, 100), 3)
    .option("--threads <n>", "threads", integer(1, 16), 1)
    .option("--json", "one JSON object a line: the sentence, and each occurrence of the word")
    .addOption(
      new Option(
        "--evaluate <folder>",
        "how often the model is right on a part of the bank.tsv and homographs.tsv there",
      ).conflicts(["word", "file", "nearest", "grid", "svg", "html"]),
    )
    .addOption(
      new Option("--part <name>", "of --evaluate").choices(["test", "validation"]).default("test"),
    );
  drawingOptions(command).action(async (sentences: string[], options) => {
    const { word, file, evaluate } = options;
    if (sentences.length > 0 && (file !== undefined || evaluate !== undefined))
      command.error("error: sentences come from arguments or from a file, got both");
    if (evaluate !== undefined) {
      const { evaluateSenses } = await import("../evaluate-senses.js");
      await run((signal) => evaluateSenses(options, signal));
      return;
    }
    if (word === undefined) command.error("error: required option '--word <word>' not specified");
    const { disambiguateCommand } = await import("../disambiguate.js");
    await run((signal) => disambiguateCommand(sentences, options, signal));
  });
}
