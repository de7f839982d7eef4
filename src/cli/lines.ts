import { FormatError } from "../errors.js";

/** UTF-16 units: what a tokenizer takes at once. */
const LONGEST = 2 ** 20;

/**
 * The lines of UTF-8 bytes, as many at a time as have come: what is typed is answered at once.
 *
 * @param name  of the bytes, for errors
 * @throws {FormatError} TEXT_UTF8; TEXT_LENGTH a line is too long
 */
export async function* linesOf(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<string[]> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (part?: Uint8Array): string => {
    try {
      return decoder.decode(part, { stream: part !== undefined });
    } catch {
      throw new FormatError(
        "TEXT_UTF8",
        `${name}: the text must be UTF-8, got other bytes. Convert it, with iconv for example`,
      );
    }
  };
  let rest = "";
  for await (const part of bytes) {
    const lines = (rest + decode(part)).split(/\r?\n/);
    rest = lines.pop() as string;
    if (rest.length > LONGEST)
      throw new FormatError(
        "TEXT_LENGTH",
        `${name}: a line must have at most ${LONGEST} characters, got more. Break it into lines`,
      );
    if (lines.length > 0) yield lines;
  }
  rest += decode();
  if (rest !== "") yield [rest];
}
