import { type Command, Option } from "commander";
import { drawingOptions } from "../drawing.js";
import { integer, run } from "../options.js";

export function translate(program: Command): void {
  const command = program
    .command("translate")
    .description("translate English sentences to Spanish and show the alignment")
    .argument("[sentences...]", "default: from --file, or from standard input, a line each")
    .option("--file <path>", "read the sentences from a file, a line each")
    .option("--model <folder>", "a model folder; default: the one that comes with heed")
    .option("--beam <n>", "hypotheses kept alive", integer(1, 64), 5)
    .option("--threads <n>", "threads", integer(1, 16), 1)
    .option("--plain", "only the translation, as when the output is piped")
    .addOption(
      new Option(
        "--json",
        "one JSON object a line: text, score, and the sentences with their tokens, words and weights",
      ).conflicts(["plain", "grid"]),
    );
  drawingOptions(command).action(async (sentences: string[], options) => {
    if (sentences.length > 0 && options.file !== undefined)
      command.error("error: sentences come from arguments or from --file, got both");
    const { translateCommand } = await import("../translate.js");
    await run((signal) => translateCommand(sentences, options, signal));
  });
}
