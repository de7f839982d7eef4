import type { MarkedContext, PaddedIds } from "../models/question-answering-model.js";
import type { Runtime } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import { padRows } from "../train/batches.js";
import type { ContextWindow } from "./question-reader.js";

/** A question and the part of a context that it is asked on, as ids between start and end. */
export interface QuestionRow {
  readonly question: readonly number[];
  readonly window: ContextWindow;
}

/** Rows side by side, as the model takes them. */
export function questionBatch(
  runtime: Runtime,
  rows: readonly QuestionRow[],
  padding: number,
): { question: PaddedIds; context: MarkedContext } {
  const padded = (rows: readonly (readonly number[])[]): PaddedIds => {
    const { values, lengths, longest } = padRows(rows, padding);
    return {
      ids: tensor(runtime, values, [rows.length, longest]),
      lengths: tensor(runtime, lengths),
    };
  };
  const kinds = rows[0]?.window.marks.length ?? 0;
  const marks = Array.from(
    { length: kinds },
    (_, kind) => padded(rows.map(({ window }) => window.marks[kind] as readonly number[])).ids,
  );
  return {
    question: padded(rows.map(({ question }) => question)),
    context: { ...padded(rows.map(({ window }) => window.ids)), marks },
  };
}
