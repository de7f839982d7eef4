import { FormatError } from "../../src/errors.js";

/** The FormatError that a call throws; any other outcome fails the test with what came. */
export function formatError(call: () => unknown): FormatError {
  let result: unknown;
  try {
    result = call();
  } catch (error) {
    if (error instanceof FormatError) return error;
    throw error;
  }
  throw new Error(`expected a FormatError, got ${JSON.stringify(result)}`);
}

export async function formatErrorAsync(call: () => Promise<unknown>): Promise<FormatError> {
  let result: unknown;
  try {
    result = await call();
  } catch (error) {
    if (error instanceof FormatError) return error;
    throw error;
  }
  throw new Error(`expected a FormatError, got ${JSON.stringify(result)}`);
}
