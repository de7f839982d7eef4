import { createReadStream } from "node:fs";
import { addAbortSignal, type Readable } from "node:stream";
import { FormatError, HeedError } from "../errors.js";
import { linesOf } from "./lines.js";

export interface TextInput {
  /** The command, for errors. */
  readonly who: string;
  /** A path; standard input when absent. */
  readonly file?: string | undefined;
  /** What a person at a terminal is asked for. */
  readonly prompt: string;
}

/** Bytes of a text that is read as a whole. */
const LARGEST = 2 ** 22;

/**
 * The lines of a file or of standard input, as many at a time as have come.
 *
 * @throws {HeedError} it cannot be read
 * @throws {FormatError} see linesOf()
 * @throws the signal's reason
 */
export async function* readLines(input: TextInput, signal: AbortSignal): AsyncGenerator<string[]> {
  try {
    yield* linesOf(open(input, signal), nameOf(input));
  } catch (error) {
    throw explained(error, input, "sentences", signal);
  }
}

/**
 * The whole text of a file or of standard input.
 *
 * @throws {HeedError} it cannot be read
 * @throws {FormatError} TEXT_UTF8; TEXT_LENGTH more than 4 MiB
 * @throws the signal's reason
 */
export async function readText(input: TextInput, signal: AbortSignal): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const part of open(input, signal) as AsyncIterable<Uint8Array>) {
      size += part.length;
      if (size > LARGEST)
        throw new FormatError(
          "TEXT_LENGTH",
          `${nameOf(input)}: a text must have at most ${LARGEST} bytes, got more. Give its parts`,
        );
      parts.push(part);
    }
  } catch (error) {
    throw explained(error, input, "text", signal);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(parts));
  } catch {
    throw new FormatError(
      "TEXT_UTF8",
      `${nameOf(input)}: the text must be UTF-8, got other bytes. Convert it, with iconv for example`,
    );
  }
}

function open({ file, prompt }: TextInput, signal: AbortSignal): Readable {
  if (file === undefined && process.stdin.isTTY) process.stderr.write(`${prompt}, then Ctrl-D\n`);
  return addAbortSignal(signal, file === undefined ? process.stdin : createReadStream(file));
}

function nameOf({ file }: TextInput): string {
  return file ?? "standard input";
}

/** What is thrown for an error of a stream: it has one of its own for an abort. */
function explained(error: unknown, { who }: TextInput, what: string, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (!(error instanceof Error && "syscall" in error)) return error;
  return new HeedError(`${who}: the ${what} must be readable, got ${error.message}`);
}
