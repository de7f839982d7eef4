import { Command, InvalidArgumentError, Option } from "commander";
import { version } from "../../package.json";
import { HeedError } from "../errors.js";
import { init } from "../node.js";
import { interruptible } from "./signals.js";

/** Exit codes: 1 an error that was told, 2 wrong use, 130 interrupted. */
const INTERRUPTED = 130;

const program = new Command("heed")
  .description("Attention models in WebAssembly: run them, see what they looked at, train them.")
  .version(version)
  .showHelpAfterError("(heed --help shows what there is)")
  .configureOutput({ outputError: (text, write) => write(text) })
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2));

program
  .command("translate")
  .description("translate English sentences to Spanish and show the alignment")
  .argument("[sentences...]", "default: from --file, or from standard input, a line each")
  .option("--file <path>", "read the sentences from a file, a line each")
  .option("--model <folder>", "a model folder; default: the one shipped with heed")
  .option("--beam <n>", "hypotheses kept alive", integer(1, 64), 5)
  .addOption(threadsOption())
  .option("--plain", "only the translation, as when piped")
  .option("--json", "one JSON object a line: text, tokens, words, attention, alignment")
  .action(async (sentences: string[], options) => {
    const { translateCommand } = await import("./translate.js");
    await run((signal) => translateCommand(sentences, options, signal));
  });

program
  .command("train")
  .description("train a model; stop it with Ctrl-C and start it again to go on")
  .command("translate")
  .description("train a translator on pairs of sentences")
  .requiredOption("--data <folder>", "holds train.tsv(.gz) and dev.tsv: SOURCE<TAB>TARGET lines")
  .requiredOption("--out <folder>", "where the model and the checkpoint go")
  .requiredOption("--tokenizer <file>", "a tokenizer.json")
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
  .option("--limit <n>", "use only the first n pairs", integer(1, 1e9), 1e9)
  .addOption(threadsOption())
  .action(async (options) => {
    const { trainTranslate } = await import("./train.js");
    await run(async (signal) => {
      const heed = await init(options.threads ? { threads: options.threads } : {});
      try {
        await trainTranslate(heed, options, signal);
      } finally {
        heed.dispose();
      }
    });
  });

await program.parseAsync();

async function run(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const { signal, release } = interruptible();
  try {
    await work(signal);
  } catch (error) {
    if (signal.aborted) process.exitCode = INTERRUPTED;
    else if (error instanceof HeedError || error instanceof RangeError) {
      process.stderr.write(`heed: ${error.message}\n`);
      process.exitCode = 1;
    } else throw error;
  } finally {
    release();
  }
}

function threadsOption(): Option {
  return new Option("--threads <n>", "threads; default: the machine's cores").argParser(
    integer(1, 16),
  );
}

function integer(least: number, most: number): (text: string) => number {
  return number(`a whole number from ${least} to ${most}`, (x) => Number.isInteger(x), least, most);
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
    const x = text.trim() === "" ? Number.NaN : Number(text);
    if (!fits(x) || x < least || x > most) throw new InvalidArgumentError(`It must be ${rule}.`);
    return x;
  };
}
