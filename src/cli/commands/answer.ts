import { type Command, Option } from "commander";
import { drawingOptions } from "../drawing.js";
import { integer, real, run } from "../options.js";

export function answer(program: Command): void {
  const command = program
    .command("answer")
    .description("answer a question with a part of a text")
    .option("--question <text>", "the question")
    .option("--context <text>", "where the answer stands; default: standard input, all of it")
    .addOption(
      new Option("--context-file <path>", "read the context from a file").conflicts("context"),
    )
    .addOption(
      new Option(
        "--questions <path>",
        'many questions: a file with {"question": "…", "context": "…"} on every line',
      ).conflicts(["question", "context", "contextFile"]),
    )
    .option("--model <folder>", "a model folder; default: the one that comes with heed")
    .option(
      "--top <n>",
      "answers wanted at most; several come with their probabilities",
      integer(1, 100),
      1,
    )
    .option(
      "--threshold <p>",
      "give no answer when it is as probable that there is none; above 1 always give one; default: the model's own",
      real(0, 2),
    )
    .option("--longest <n>", "words an answer may have", integer(1, 1000), 20)
    .addOption(
      new Option("--decoding <how>", "the best span, or its best ends each alone")
        .choices(["best", "greedy"])
        .default("best"),
    )
    .option("--threads <n>", "threads", integer(1, 16), 1)
    .option(
      "--json",
      "one JSON object a line: the answers with offsets and probabilities, and the attention",
    );
  drawingOptions(command).action(async (options) => {
    if (options.question === undefined && options.questions === undefined)
      command.error("error: required option '--question <text>' not specified");
    const { answerCommand } = await import("../answer.js");
    await run((signal) => answerCommand(options, signal));
  });
}
