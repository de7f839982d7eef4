import { Command, InvalidArgumentError, Option } from "commander";
import { version } from "../../package.json";
import { HeedError } from "../errors.js";
import { printable } from "./printable.js";
import { interruptible } from "./signals.js";

/** Exit codes beside 0 for success. */
const TOLD = 1;
const WRONG_USE = 2;
const INTERRUPTED = 130;

// A reader that has seen enough (`| head`) closes the pipe.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

const program = new Command("heed")
  .description("Attention models in WebAssembly: run them, see what they looked at, train them.")
  .version(version)
  .showHelpAfterError("(heed --help shows what there is)")
  .configureOutput({ outputError: (text, write) => write(printable(text, "\n")) })
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : WRONG_USE));

program
  .command("translate")
  .description("translate English sentences to Spanish and show the alignment")
  .argument("[sentences...]", "default: from --file, or from standard input, a line each")
  .option("--file <path>", "read the sentences from a file, a line each")
  .option("--model <folder>", "a model folder; default: the one that comes with heed")
  .option("--beam <n>", "hypotheses kept alive", integer(1, 64), 5)
  .option("--threads <n>", "threads", integer(1, 16), 1)
  .option("--plain", "only the translation, as when the output is piped")
  .addOption(new Option("--grid", "the alignment too, even when piped").conflicts("plain"))
  .addOption(
    new Option(
      "--json",
      "one JSON object a line: text, score, and the sentences with their tokens, words and weights",
    ).conflicts(["plain", "grid"]),
  )
  .action(async (sentences: string[], options, command: Command) => {
    if (sentences.length > 0 && options.file !== undefined)
      command.error("error: sentences come from arguments or from --file, got both");
    const { translateCommand } = await import("./translate.js");
    await run((signal) => translateCommand(sentences, options, signal));
  });

program
  .command("train")
  .description("train a model")
  .command("translate")
  .description("train a translator on pairs of sentences; stopped by Ctrl-C, it goes on next time")
  .requiredOption("--data <folder>", "holds train.tsv and dev.tsv (or .tsv.gz): SOURCE<TAB>TARGET")
  .requiredOption("--out <folder>", "where the model and the checkpoint go")
  .option("--tokenizer <file>", "a tokenizer.json; default: that of the model that comes with heed")
  .option("--epochs <n>", "passes over the data", integer(1, 1000), 10)
  .option("--batch <n>", "pairs a step", integer(1, 4096), 64)
  .option("--rate <x>", "highest learning rate", real(0, 1), 0.002)
  .option("--embedding <n>", "width of embeddings", integer(1, 4096), 192)
  .option("--hidden <n>", "width of the LSTMs", integer(1, 4096), 256)
  .option("--layers <n>", "LSTM layers on each side", integer(1, 8), 1)
  .option("--dropout <p>", "probability", real(0, 0.9), 0.2)
  .option("--unidirectional", "an encoder that reads forward only", false)
  .option("--smoothing <x>", "label smoothing", real(0, 0.9), 0.1)
  .option("--forcing <x>", "share of steps that are fed the true token", real(0, 1), 1)
  .option("--patience <n>", "epochs without improvement before it stops", integer(1, 1000), 3)
  .option("--seed <n>", "of weights, order and dropout", integer(0, 2 ** 31 - 1), 1)
  .option("--limit <n>", "use only the first n pairs", integer(1, 1e9))
  .addOption(
    new Option("--storage <kind>", "how the model's weights are written")
      .choices(["f16", "int8"])
      .default("f16"),
  )
  .option("--threads <n>", "threads; default: the machine's cores", integer(1, 16))
  .action(async (options) => {
    const { trainCommand } = await import("./train.js");
    await run((signal) => trainCommand(options, signal), "stopping; once more to stop at once");
  });

await program.parseAsync();

/** Runs a command and turns what it throws into a message and an exit code; mistakes of ours show their stack. */
async function run(work: (signal: AbortSignal) => Promise<void>, notice = ""): Promise<void> {
  const { signal, release } = interruptible(notice);
  try {
    await work(signal);
  } catch (error) {
    if (error === signal.reason) process.exitCode = INTERRUPTED;
    else if (isTold(error)) {
      process.stderr.write(`heed: ${printable(error.message)}\n`);
      process.exitCode = TOLD;
    } else throw error;
  } finally {
    release();
  }
}

/** Errors that explain themselves: heed's own, values out of range, and the system's about files. */
function isTold(error: unknown): error is Error {
  return (
    error instanceof HeedError ||
    error instanceof RangeError ||
    (error instanceof Error && "syscall" in error)
  );
}

function integer(least: number, most: number): (text: string) => number {
  return number(`a whole number from ${least} to ${most}`, Number.isInteger, least, most);
}

function real(least: number, most: number): (text: string) => number {
  return number(`a number from ${least} to ${most}`, Number.isFinite, least, most);
}

function number(
  rule: string,
  fits: (x: number) => boolean,
  least: number,
  most: number,
): (text: string) => number {
  return (text) => {
    const x = /^[-+.e\d]+$/i.test(text) ? Number(text) : Number.NaN;
    if (!fits(x) || x < least || x > most) throw new InvalidArgumentError(`It must be ${rule}.`);
    return x;
  };
}
