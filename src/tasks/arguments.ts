/** Checks of what callers without types may hand to a task. */
import { quote } from "../io/quote.js";

const FUNCTIONS = ["onPartial", "onProgress", "onScore"];

/**
 * The options of a task's method: an object whose signal is one, and whose callbacks are functions.
 *
 * @throws {TypeError}
 */
export function expectOptions(who: string, options: unknown): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new TypeError(`${who}: options must be an object, got ${shown(options)}`);
  const given = options as Readonly<Record<string, unknown>>;
  if (given.signal !== undefined && !isSignal(given.signal))
    throw new TypeError(`${who}: signal must be an AbortSignal, got ${shown(given.signal)}`);
  for (const name of FUNCTIONS)
    if (given[name] !== undefined && typeof given[name] !== "function")
      throw new TypeError(`${who}: ${name} must be a function, got ${shown(given[name])}`);
}

/** @throws {TypeError} */
export function expectList(who: string, name: string, list: unknown): void {
  if (!Array.isArray(list))
    throw new TypeError(`${who}: ${name} must be an array, got ${shown(list)}`);
}

/** @throws {TypeError} */
export function expectNumber(who: string, name: string, value: unknown): void {
  if (typeof value !== "number")
    throw new TypeError(`${who}: ${name} must be a number, got ${shown(value)}`);
}

/** A value of any kind in an error. */
export function shown(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return value.length === 0 ? "[]" : "an array";
  if (typeof value !== "object" || value === null) return String(value);
  return Object.prototype.toString.call(value);
}

/** By what it does: it may come from another realm, such as that of a frame. */
function isSignal(value: unknown): boolean {
  const { aborted, throwIfAborted, addEventListener } = Object(value) as Partial<AbortSignal>;
  return (
    typeof aborted === "boolean" &&
    typeof throwIfAborted === "function" &&
    typeof addEventListener === "function"
  );
}
