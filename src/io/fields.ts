import { FormatError } from "../errors.js";
import { isCount } from "./checked.js";
import { type JsonObject, JsonReal, type JsonValue, showJson } from "./strict-json.js";

/** What one field of a JSON object must be. */
export interface Field<T> {
  /** The rule in words, after "must be". */
  readonly rule: string;
  /** The value of a field, or undefined when it breaks the rule. */
  read(value: JsonValue): T | undefined;
  /** What a missing field means; without it the field must be there. */
  readonly missing?: { readonly value: T };
}

export type Fields = Readonly<Record<string, Field<unknown>>>;

/** The object that a set of fields describes. */
export type FieldValues<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never;
};

/**
 * Reads the named fields of a JSON object, each by its rule; other fields are left alone.
 *
 * @param who   what errors begin with: a file, or a file and a part of it
 * @param code  of the error
 * @throws {FormatError} naming the field, its rule and the value that came
 * @example
 * readFields(json, { hidden: integer(1, 16384), dropout: optional(real(0, 1), 0) }, "config.json");
 */
export function readFields<F extends Fields>(
  json: JsonValue,
  fields: F,
  who: string,
  code = "CONFIG_FIELD",
): FieldValues<F> {
  if (!(json instanceof Map))
    throw new FormatError(code, `${who}: the value must be an object, got ${showJson(json)}`);
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, readField(json, name, field, who, code)]),
  ) as FieldValues<F>;
}

/** A whole number from least to most, written as one. */
export function integer(least: number, most: number): Field<number> {
  return {
    rule: `a whole number from ${least} to ${most}`,
    read: (value) => (isCount(value) && value >= least && value <= most ? value : undefined),
  };
}

/** A finite number from least to most. */
export function real(least: number, most: number): Field<number> {
  return {
    rule: `a number from ${least} to ${most}`,
    read: (value) => {
      const x = value instanceof JsonReal ? value.value : value;
      return typeof x === "number" && Number.isFinite(x) && x >= least && x <= most ? x : undefined;
    },
  };
}

export function flag(): Field<boolean> {
  return {
    rule: "true or false",
    read: (value) => (typeof value === "boolean" ? value : undefined),
  };
}

/** Text of a bounded length, in UTF-16 units. */
export function text(least: number, most: number): Field<string> {
  return {
    rule: `text of ${least} to ${most} characters`,
    read: (value) =>
      typeof value === "string" && value.length >= least && value.length <= most
        ? value
        : undefined,
  };
}

export function oneOf<const T extends string>(...names: readonly T[]): Field<T> {
  return {
    rule: names.map((name) => `"${name}"`).join(" or "),
    read: (value) => names.find((name) => name === value),
  };
}

export function object(): Field<JsonObject> {
  return { rule: "an object", read: (value) => (value instanceof Map ? value : undefined) };
}

export function list(most: number): Field<JsonValue[]> {
  return {
    rule: `an array of at most ${most}`,
    read: (value) => (Array.isArray(value) && value.length <= most ? value : undefined),
  };
}

/** A field that may be missing. */
export function optional<T>(field: Field<T>, fallback: T): Field<T> {
  return { ...field, missing: { value: fallback } };
}

/** A field that may be missing or null. */
export function nullable<T>(field: Field<T>): Field<T | null> {
  return {
    rule: `${field.rule}, or null`,
    read: (value) => (value === null ? null : field.read(value)),
    missing: { value: null },
  };
}

function readField<T>(
  json: JsonObject,
  name: string,
  field: Field<T>,
  who: string,
  code: string,
): T {
  const came = json.get(name);
  if (came === undefined && field.missing) return field.missing.value;
  const value = came === undefined ? undefined : field.read(came);
  if (value === undefined)
    throw new FormatError(code, `${who}: "${name}" must be ${field.rule}, got ${showJson(came)}`);
  return value;
}
