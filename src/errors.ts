/** The base of every error heed throws on purpose: `<who>: <what must hold>, got <what came>. <what to try>`. */
export class HeedError extends Error {
  override name = "HeedError";
}

/** The shapes do not fit together. */
export class ShapeError extends HeedError {
  override name = "ShapeError";
}

/** The element type is not the one asked for. */
export class DTypeError extends HeedError {
  override name = "DTypeError";
}

/** An index or id lies outside what it points into. */
export class IndexError extends HeedError {
  override name = "IndexError";
}

/** Something is not started, already freed, lost, or full. */
export class StateError extends HeedError {
  override name = "StateError";
}

/** Bytes from outside break the rules of their format. `code` is stable: tests and callers may branch on it. */
export class FormatError extends HeedError {
  override name = "FormatError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
