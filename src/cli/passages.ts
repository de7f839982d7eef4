import { FormatError } from "../errors.js";
import type { Tokenizer } from "../io/tokenizer.js";
import { turn } from "../runtime/event-loop.js";
import { passagesOf } from "../tasks/passages.js";
import { readTextFile } from "./text-file.js";

export interface PassageOptions {
  /** Longer passages are cut: tokens, start and end included. */
  readonly most: number;
  /** At most so many passages, the first ones. */
  readonly limit?: number;
  readonly signal?: AbortSignal;
}

/**
 * The passages of FOLDER/NAME.txt, or of NAME.txt.gz, as token ids: one a line.
 *
 * @throws {HeedError} there is no such file
 * @throws {FormatError} PASSAGES the file is broken, or holds no passage
 * @throws the signal's reason
 */
export async function readPassages(
  folder: string,
  name: string,
  tokenizer: Tokenizer,
  { most, limit = Infinity, signal }: PassageOptions,
): Promise<number[][]> {
  const { file, text } = await readTextFile(folder, [`${name}.txt`, `${name}.txt.gz`], "PASSAGES");
  const passages: number[][] = [];
  let taken = 0;
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === "") continue;
    for (const passage of passagesOf(line, tokenizer, most)) passages.push(passage);
    if (++taken >= limit) break;
    await turn(signal);
  }
  if (passages.length === 0)
    throw new FormatError("PASSAGES", `${file}: there must be a line of text, got none`);
  return passages;
}
