import { idOf, type Tokenizer } from "../io/tokenizer.js";
import { mix32 } from "../runtime/runtime.js";

/** Rows of ids of like length that are read side by side. */
export type PassageGroup = readonly (readonly number[])[];

/** Tokens of a group: a long passage, or as many short sentences. So every step has about as many. */
const GROUP_TOKENS = 256;

/**
 * A text as rows that a language model reads, of at most `most` tokens each.
 *
 * Every row begins with the start token; the last one ends with the end token.
 */
export function passagesOf(text: string, tokenizer: Tokenizer, most: number): number[][] {
  const start = idOf(tokenizer, "<s>");
  const ids = [...tokenizer.ids(text), idOf(tokenizer, "</s>")];
  const rows: number[][] = [];
  for (let from = 0; from < ids.length; from += most - 1)
    rows.push([start, ...ids.slice(from, from + most - 1)]);
  return rows;
}

/** Rows put together by length, in an order that has nothing else to do with the data's. */
export function groupPassages(rows: readonly (readonly number[])[]): PassageGroup[] {
  const order = rows
    .map((row, index) => ({ row, key: mix32(index) }))
    .sort((a, b) => a.row.length - b.row.length || a.key - b.key);
  const groups: (readonly number[])[][] = [];
  for (const { row } of order) {
    const last = groups.at(-1);
    if (last && (last.length + 1) * row.length <= GROUP_TOKENS) last.push(row);
    else groups.push([row]);
  }
  return groups;
}
