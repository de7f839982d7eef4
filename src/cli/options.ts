import { InvalidArgumentError } from "commander";
import { HeedError } from "../errors.js";
import { printable } from "./printable.js";
import { interruptible } from "./signals.js";

/** Exit codes beside 0 for success and 2 for wrong use. */
const TOLD = 1;
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

/** Errors that explain themselves: heed's own, values out of range, and the system's about files. */
function isTold(error: unknown): error is Error {
  return (
    error instanceof HeedError ||
    error instanceof RangeError ||
    (error instanceof Error && "syscall" in error)
  );
}

/** Reads an option's value as a whole number. */
export function integer(least: number, most: number): (text: string) => number {
  return number(`a whole number from ${least} to ${most}`, Number.isInteger, least, most);
}

/** Reads an option's value as whole numbers with commas between. */
export function wholeNumbers(least: number, most: number): (text: string) => number[] {
  return (text) => text.split(",").map(integer(least, most));
}

/** Reads an option's value as a number. */
export function real(least: number, most: number): (text: string) => number {
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
