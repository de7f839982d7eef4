import { constants, createReadStream, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import { addAbortSignal, type Readable } from "node:stream";
import { isatty, ReadStream } from "node:tty";
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
    throw explained(error, input, signal);
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
    throw explained(error, input, signal);
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
  return addAbortSignal(signal, file === undefined ? process.stdin : openFile(file));
}

/**
 * A file, a pipe or a terminal by its path.
 *
 * The two latter are read as standard input is: a read of a file takes a thread until it ends, and
 * the process waits for that thread, whatever signal comes. For the same reason a pipe is opened
 * without waiting for who writes to it.
 */
function openFile(path: string): Readable {
  // Windows has no such flag, and no such pipes.
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  if (isatty(fd)) return new ReadStream(fd);
  if (fstatSync(fd).isFIFO()) return new Socket({ fd, readable: true, writable: false });
  return createReadStream(path, { fd });
}

function nameOf({ file }: TextInput): string {
  return file ?? "standard input";
}

/** What is thrown for an error of a stream: it has one of its own for an abort. */
function explained(error: unknown, input: TextInput, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (!(error instanceof Error && "syscall" in error)) return error;
  return new HeedError(`${input.who}: ${nameOf(input)} must be readable, got ${error.message}`);
}
