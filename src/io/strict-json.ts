/**
 * A JSON reader for bytes from outside.
 *
 * JSON.parse keeps the last of two equal keys, rounds integers above 2⁵³, turns 2.0 into 2 and 1e999
 * into Infinity, and a default TextDecoder repairs bad UTF-8 and drops a byte order mark. Each of
 * these hides what a file says, so this reader refuses them or keeps the number as it was written.
 */
import { FormatError } from "../errors.js";
import { quote } from "./quote.js";

export type JsonValue = null | boolean | string | number | JsonReal | JsonValue[] | JsonObject;

/** Keys are data: a Map has no prototype to reach. */
export interface JsonObject extends Map<string, JsonValue> {}

/**
 * A number not written as a safe integer: with a fraction or an exponent, −0, or too large.
 *
 * A plain number in a JsonValue is thus always an exact integer.
 */
export class JsonReal {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The nearest float64; may be infinite. */
  get value(): number {
    return Number(this.text);
  }
}

export interface JsonLimits {
  /** The name that errors begin with: a file. */
  readonly who: string;
  /** Bytes; default 64 MiB. */
  readonly maxBytes?: number;
  /** Values of all kinds, counted at every depth; default 2²⁴. */
  readonly maxValues?: number;
  /** The code of an error about a key given twice; default "JSON_DUPLICATE". */
  readonly duplicateCode?: string;
}

const MAX_DEPTH = 64;

/**
 * The value that UTF-8 bytes hold, read in linear time.
 *
 * @throws {FormatError} JSON_SIZE, JSON_UTF8, JSON_SYNTAX, JSON_DEPTH (64), JSON_DUPLICATE
 */
export function parseJson(bytes: Uint8Array, limits: JsonLimits): JsonValue {
  const { who, maxBytes = 2 ** 26 } = limits;
  if (bytes.length > maxBytes)
    throw new FormatError(
      "JSON_SIZE",
      `${who}: the JSON text must have at most ${maxBytes} bytes, got ${bytes.length}`,
    );
  return new Reader(decodeUtf8(bytes, who), limits).document();
}

/** A JSON value in an error message: short, escaped, on one line. */
export function showJson(value: JsonValue | undefined): string {
  if (value === undefined) return "nothing";
  if (typeof value === "string") return quote(value);
  if (value instanceof JsonReal) return value.text.slice(0, 60);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value instanceof Map) return "an object";
  return String(value);
}

function decodeUtf8(bytes: Uint8Array, who: string): string {
  // Browsers refuse to decode shared memory; slice() copies it out.
  const own = bytes.buffer instanceof ArrayBuffer ? bytes : bytes.slice();
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(own);
  } catch {
    throw new FormatError("JSON_UTF8", `${who}: the JSON text must be UTF-8, got invalid bytes`);
  }
}

const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const LETTER_T = 0x74;
const LETTER_F = 0x66;
const LETTER_N = 0x6e;
const BACKSLASH = 0x5c;
const ESCAPES = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const HEX4 = /[0-9a-fA-F]{4}/y;

class Reader {
  readonly #text: string;
  readonly #who: string;
  readonly #duplicateCode: string;
  #valuesLeft: number;
  #at = 0;
  /** The key or index being read at each depth, for errors. */
  readonly #path: (string | number)[] = [];

  constructor(text: string, limits: JsonLimits) {
    this.#text = text;
    this.#who = limits.who;
    this.#duplicateCode = limits.duplicateCode ?? "JSON_DUPLICATE";
    this.#valuesLeft = limits.maxValues ?? 2 ** 24;
  }

  document(): JsonValue {
    const value = this.#value(0);
    this.#space();
    if (this.#at < this.#text.length) this.#fail(0, "end after its value");
    return value;
  }

  #value(depth: number): JsonValue {
    if (--this.#valuesLeft < 0)
      throw new FormatError(
        "JSON_SIZE",
        `${this.#who}: the JSON text must hold fewer values, got more than the limit`,
      );
    this.#space();
    switch (this.#text.charCodeAt(this.#at)) {
      case OPEN_BRACE:
        return this.#object(this.#deeper(depth));
      case OPEN_BRACKET:
        return this.#array(this.#deeper(depth));
      case QUOTE:
        return this.#string(depth);
      case LETTER_T:
        return this.#word("true", true, depth);
      case LETTER_F:
        return this.#word("false", false, depth);
      case LETTER_N:
        return this.#word("null", null, depth);
      default:
        return this.#number(depth);
    }
  }

  #deeper(depth: number): number {
    if (depth >= MAX_DEPTH)
      throw new FormatError(
        "JSON_DEPTH",
        `${this.#who}: the JSON text must nest at most ${MAX_DEPTH} deep, got more at ${this.#place()}`,
      );
    this.#at++;
    return depth + 1;
  }

  #object(depth: number): JsonObject {
    const object: JsonObject = new Map();
    if (this.#closes("}")) return object;
    do {
      this.#space();
      if (this.#text.charCodeAt(this.#at) !== QUOTE) this.#fail(depth - 1, "have a key in quotes");
      const key = this.#string(depth - 1);
      if (object.has(key))
        throw new FormatError(
          this.#duplicateCode,
          `${this.#who}: each key must stand once, got ${quote(key)} again at ${this.#place()}`,
        );
      this.#path[depth - 1] = key;
      this.#space();
      if (this.#text[this.#at] !== ":") this.#fail(depth, 'have ":" after its key');
      this.#at++;
      object.set(key, this.#value(depth));
    } while (this.#continues("}", depth));
    return object;
  }

  #array(depth: number): JsonValue[] {
    const array: JsonValue[] = [];
    if (this.#closes("]")) return array;
    do {
      this.#path[depth - 1] = array.length;
      array.push(this.#value(depth));
    } while (this.#continues("]", depth));
    return array;
  }

  /** Steps over the bracket of an empty container. */
  #closes(bracket: string): boolean {
    this.#space();
    if (this.#text[this.#at] !== bracket) return false;
    this.#at++;
    return true;
  }

  /** After an element: true at a comma, false at the closing bracket. */
  #continues(bracket: string, depth: number): boolean {
    this.#space();
    const c = this.#text[this.#at];
    if (c !== "," && c !== bracket) this.#fail(depth, `be followed by "," or "${bracket}"`);
    this.#at++;
    return c === ",";
  }

  #string(depth: number): string {
    const text = this.#text;
    let result = "";
    let from = ++this.#at;
    for (;;) {
      const c = text.charCodeAt(this.#at);
      if (c === QUOTE) {
        result += text.slice(from, this.#at++);
        return result;
      }
      // A control character, or NaN at the end of the text.
      if (!(c >= 0x20))
        this.#fail(depth, "have a string without control characters and with an end");
      if (c === BACKSLASH) {
        result += text.slice(from, this.#at) + this.#escape(depth);
        from = this.#at;
      } else this.#at++;
    }
  }

  #escape(depth: number): string {
    const letter = this.#text[this.#at + 1] ?? "";
    if (letter === "u") {
      const high = this.#codeUnit(depth);
      if (high < 0xd800 || high > 0xdfff) return String.fromCharCode(high);
      const low = high < 0xdc00 ? this.#codeUnit(depth) : 0;
      if (low < 0xdc00 || low > 0xdfff) this.#fail(depth, "have surrogate escapes in pairs");
      return String.fromCharCode(high, low);
    }
    const plain = ESCAPES.get(letter);
    if (plain === undefined) this.#fail(depth, "have only the escapes of JSON");
    this.#at += 2;
    return plain;
  }

  /** One \uXXXX. */
  #codeUnit(depth: number): number {
    HEX4.lastIndex = this.#at + 2;
    if (!this.#text.startsWith("\\u", this.#at) || !HEX4.test(this.#text))
      this.#fail(depth, "have four hex digits after \\u, and surrogates in pairs");
    const unit = Number.parseInt(this.#text.slice(this.#at + 2, this.#at + 6), 16);
    this.#at += 6;
    return unit;
  }

  #number(depth: number): number | JsonReal {
    const digits = this.#digits();
    if (digits !== undefined) return digits;
    NUMBER.lastIndex = this.#at;
    const text = NUMBER.exec(this.#text)?.[0];
    if (text === undefined) this.#fail(depth, "be a JSON value");
    this.#at += text.length;
    // Seventeen characters are past every safe integer; the others convert exactly.
    const value = text.length <= 17 && /^-?[0-9]+$/.test(text) ? Number(text) : Number.NaN;
    return Number.isSafeInteger(value) && !Object.is(value, -0) ? value : new JsonReal(text);
  }

  /** The usual number: up to fifteen digits and nothing more. */
  #digits(): number | undefined {
    const text = this.#text;
    let at = this.#at;
    let value = 0;
    let c = text.charCodeAt(at);
    const leadingZero = c === 0x30;
    for (; c >= 0x30 && c <= 0x39; c = text.charCodeAt(++at)) value = value * 10 + c - 0x30;
    const length = at - this.#at;
    // A point or an exponent follows, or there is more to check.
    if (c === 0x2e || (c | 0x20) === 0x65) return undefined;
    if (length === 0 || length > 15 || (leadingZero && length > 1)) return undefined;
    this.#at = at;
    return value;
  }

  #word<T>(word: string, value: T, depth: number): T {
    if (!this.#text.startsWith(word, this.#at)) this.#fail(depth, "be a JSON value");
    this.#at += word.length;
    return value;
  }

  #space(): void {
    for (;;) {
      const c = this.#text.charCodeAt(this.#at);
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return;
      this.#at++;
    }
  }

  #place(): string {
    const before = this.#text.slice(0, this.#at);
    const line = before.split("\n").length;
    return `line ${line}, column ${this.#at - before.lastIndexOf("\n")}`;
  }

  #fail(depth: number, what: string): never {
    const path = this.#path.slice(0, depth);
    const name = path.length ? quote(path.join("."), 200) : "the JSON text";
    const rest = this.#text.slice(this.#at, this.#at + 12);
    throw new FormatError(
      "JSON_SYNTAX",
      `${this.#who}: ${name} must ${what}, got ${rest === "" ? "its end" : quote(rest)} at ${this.#place()}`,
    );
  }
}
