import { type Command, Option } from "commander";
import { drawingOptions } from "../drawing.js";
import { integer, run, wholeNumbers } from "../options.js";

export function longRange(program: Command): void {
  const command = program
    .command("long-range")
    .description("what a word sees far behind it, and how far a marked word is found again")
    .argument(
      "[sentence]",
      "default: the one about the cat by the window, and then the recall task",
    )
    .option("--from <word>", "the word that looks; default: the last one")
    .option("--to <word>", "a word before it; default: those it looks at most")
    .option("--model <folder>", "a language model; default: the one that comes with heed")
    .option("--perplexity <file>", "instead: how well the model predicts a text, a passage a line")
    .addOption(
      new Option(
        "--recall",
        "only the recall task, an attention block beside an LSTM of the same size",
      ).conflicts(["from", "to", "model", "perplexity", "grid", "svg", "html"]),
    )
    .option("--recall-models <folder>", "holds attention/ and lstm/; default: those with heed")
    .option("--distances <list>", "of the recall task, with commas", wholeNumbers(1, 500))
    .option("--count <n>", "sequences of each distance", integer(1, 1e6), 200)
    .option("--seed <n>", "of the sequences", integer(0, 2 ** 31 - 1), 1)
    .option("--plot <file>", "write the recall task's curves as a picture (SVG)")
    .option("--threads <n>", "threads", integer(1, 16), 1)
    .option("--json", "one JSON object a line: the sentence, then the recall task");
  drawingOptions(command).action(async (sentence: string | undefined, options) => {
    const kinds = [sentence, options.perplexity, options.recall].filter((one) => one !== undefined);
    if (kinds.length > 1)
      command.error("error: a sentence, --perplexity and --recall exclude each other, got several");
    const { plot, distances, recallModels } = options;
    if ((sentence ?? options.perplexity) !== undefined && (plot ?? distances ?? recallModels))
      command.error("error: --plot, --distances and --recall-models are for the recall task alone");
    const { longRangeCommand } = await import("../long-range.js");
    await run((signal) => longRangeCommand(sentence, options, signal));
  });
}
