import { Command, CommanderError } from "commander";
import { version } from "../../package.json";
import { answer } from "./commands/answer.js";
import { disambiguate } from "./commands/disambiguate.js";
import { longRange } from "./commands/long-range.js";
import { parallel } from "./commands/parallel.js";
import { summarize } from "./commands/summarize.js";
import { trainAnswer } from "./commands/train-answer.js";
import { trainDisambiguate } from "./commands/train-disambiguate.js";
import { trainLongRange } from "./commands/train-long-range.js";
import { trainRecall } from "./commands/train-recall.js";
import { trainSummarize } from "./commands/train-summarize.js";
import { trainTranslate } from "./commands/train-translate.js";
import { translate } from "./commands/translate.js";
import { TOLD, WRONG_USE } from "./options.js";
import { printable } from "./printable.js";

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough (`| head`) closes the pipe.
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`heed: standard output must be writable, got ${printable(error.message)}\n`);
  process.exit(TOLD);
});
// Where nothing can be told, work goes on: a training does not end with the reader of its progress.
process.stderr.on("error", () => {});

const program = new Command("heed")
  .description("Attention models in WebAssembly: run them, see what they looked at, train them.")
  .version(version)
  .configureHelp({ subcommandTerm: (command) => command.name() })
  .showHelpAfterError("(heed --help shows what there is)")
  .configureOutput({ outputError: (text, write) => write(printable(text, "\n")) })
  .exitOverride();

translate(program);
summarize(program);
answer(program);
disambiguate(program);
longRange(program);
parallel(program);

const train = program
  .command("train")
  .description("train a model; stopped by Ctrl-C, it goes on next time");
trainAnswer(train);
trainDisambiguate(train);
trainTranslate(train);
trainSummarize(train);
trainLongRange(train);
trainRecall(train);

try {
  await program.parseAsync();
} catch (error) {
  // Help, the version, or wrong use: it is told already.
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : WRONG_USE;
}
