import { InvalidArgumentError } from "commander";
import { HeedError } from "../errors.js";
import { printable } from "./printable.js";
import { interruptible } from "./signals.js";

// Exit codes beside 0 for success.
export const TOLD = 1;
export const WRONG_USE = 2;
const INTERRUPTED = 130;

/** Runs a command and turns what it throws into a message and an exit code; mistakes of ours show their stack. */
export async function run(
  work: (signal: AbortSignal) => Promise<void>,
  notice = "",
): Promise<void> {
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

/**
 * Errors that explain themselves: heed's own, values out of range, and the system's about files. The
 * engine has RangeErrors too, such as a stack overflow: those do not say what came.
 */
function isTold(error: unknown): error is Error {
  return (
    error instanceof HeedError ||
    (error instanceof RangeError && error.message.includes(", got ")) ||
    (error instanceof Error && "syscall" in error)
  );
}

const WHOLE = /^(?:0|-?[1-9]\d*)$/;
const DECIMAL = /^-?(?:\d+(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?$/i;

/** Reads an option's value as a whole number: digits, and a minus before them. */
export function integer(least: number, most: number): (text: string) => number {
  return number(`a whole number from ${least} to ${most}`, WHOLE, least, most);
}

/** Reads an option's value as whole numbers with commas between. */
export function wholeNumbers(least: number, most: number): (text: string) => number[] {
  return (text) => text.split(",").map(integer(least, most));
}

/** Reads an option's value as a number: 0.1, .1 or 1e-1. */
export function real(least: number, most: number): (text: string) => number {
  return number(`a number from ${least} to ${most}`, DECIMAL, least, most);
}

function number(rule: string, form: RegExp, least: number, most: number): (text: string) => number {
  return (text) => {
    const x = form.test(text) ? Number(text) : Number.NaN;
    if (!(x >= least && x <= most)) throw new InvalidArgumentError(`It must be ${rule}.`);
    return x;
  };
}
