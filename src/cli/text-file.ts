import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { FormatError, HeedError } from "../errors.js";
import { readFile } from "../platform/node-files.js";

/** Bytes of a text, unpacked. */
const LARGEST = 2 ** 29;

/**
 * The text of the first of some files that is there; those whose name ends in .gz are unpacked.
 *
 * @param names  in the order in which they are looked for
 * @param code   of the error
 * @throws {HeedError} there is none of them
 * @throws {FormatError} the file is no gzip, too large, or not UTF-8
 */
export async function readTextFile(
  folder: string,
  names: readonly string[],
  code: string,
): Promise<{ file: string; text: string }> {
  for (const file of names.map((name) => join(folder, name))) {
    const bytes = await readFile(file, LARGEST);
    if (!bytes) continue;
    const fail = (what: string, cause: unknown): never => {
      const error = new FormatError(code, `${file}: the file must be ${what}`);
      error.cause = cause;
      throw error;
    };
    let plain = bytes;
    if (file.endsWith(".gz"))
      try {
        plain = gunzipSync(bytes, { maxOutputLength: LARGEST });
      } catch (error) {
        fail(
          `whole gzip of at most ${LARGEST} bytes of text, got ${(error as Error).message}. Fetch it again`,
          error,
        );
      }
    try {
      return { file, text: new TextDecoder("utf-8", { fatal: true }).decode(plain) };
    } catch (error) {
      fail("UTF-8 text, got other bytes. Convert it, with iconv for example", error);
    }
  }
  const [only, ...others] = names;
  throw new HeedError(
    others.length === 0
      ? `train: there must be a file ${join(folder, only as string)}, got none`
      : `train: ${folder} must hold ${names.join(" or ")}, got neither. Give the folder with --data`,
  );
}
