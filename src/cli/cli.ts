import { Command } from "commander";
import { version } from "../../package.json";
import { trainTranslate } from "./commands/train-translate.js";
import { translate } from "./commands/translate.js";
import { printable } from "./printable.js";

const WRONG_USE = 2;

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

translate(program);

const train = program
  .command("train")
  .description("train a model; stopped by Ctrl-C, it goes on next time");
trainTranslate(train);

await program.parseAsync();
