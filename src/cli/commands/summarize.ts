import { type Command, Option } from "commander";
import { drawingOptions } from "../drawing.js";
import { integer, run } from "../options.js";

export function summarize(program: Command): void {
  const command = program
    .command("summarize")
    .description("say in a few words what a text is about, or keep its main sentences")
    .argument("[text]", "default: from --file, or from standard input, the whole of it")
    .option("--file <path>", "read the text from a file")
    .option("--lines", "every line of the input is a text by itself, and gets a line")
    .option("--model <folder>", "a model folder; default: the one that comes with heed")
    .addOption(
      new Option(
        "--mode <mode>",
        "in words of its own, of how the text begins; or in sentences of all of it",
      )
        .choices(["abstractive", "extractive"])
        .default("abstractive"),
    )
    .option("--sentences <n>", "sentences that extractive mode keeps", integer(1, 1000), 3)
    .option("--beam <n>", "hypotheses kept alive", integer(1, 64), 1)
    .option("--threads <n>", "threads", integer(1, 16), 1)
    .option(
      "--json",
      "one JSON object: text, description, score, every sentence with offsets and scores, tokens, words and weights",
    );
  drawingOptions(command).action(async (text: string | undefined, options) => {
    if (text !== undefined && options.file !== undefined)
      command.error("error: the text comes from the argument or from --file, got both");
    if (text !== undefined && options.lines)
      command.error("error: --lines is for --file and standard input, got a text as argument");
    const { summarizeCommand } = await import("../summarize.js");
    await run((signal) => summarizeCommand(text, options, signal));
  });
}
