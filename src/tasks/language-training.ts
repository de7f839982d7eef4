import {
  type LongRangeConfig,
  LongRangeDependencyModel,
} from "../models/long-range-dependency-model.js";
import { tensor } from "../tensor/create.js";
import type { LossInParts } from "../train/trainer.js";
import { GROUPS_AT_ONCE, passageLoss, targetsOf } from "./long-range.js";
import { groupPassages, type PassageGroup } from "./passages.js";
import { soften } from "./soften.js";
import { fingerprint, type Lesson } from "./training.js";

export interface LanguageData {
  readonly config: LongRangeConfig;
  /** Rows of ids, each with its start token, none longer than the table of positions. */
  readonly passages: readonly (readonly number[])[];
  readonly validation: readonly (readonly number[])[];
  /** The id that fills rows up. */
  readonly padding: number;
}

/** Every token from those before it; validated in nats a token. */
export function languageLesson(data: LanguageData): Lesson<LongRangeDependencyModel, PassageGroup> {
  const { config, passages, validation, padding } = data;
  return {
    about: `${passages.length} passages (${fingerprint(passages)})`,
    items: groupPassages(passages),
    validation: groupPassages(validation),
    build: (runtime) => soften(new LongRangeDependencyModel(runtime, config)),
    sortKey: (group) => group.reduce((most, row) => Math.max(most, row.length), 0),
    loss: (model, groups, training) =>
      training ? passageLoss(model, groups.flat(), padding) : lossInParts(model, groups, padding),
    weightOf: targetsOf,
  };
}

/** The mean over many groups, a few at a time: their logits together would fill the memory. */
function* lossInParts(
  model: LongRangeDependencyModel,
  groups: readonly PassageGroup[],
  padding: number,
): LossInParts {
  const { runtime } = model;
  let sum = 0;
  let count = 0;
  for (let from = 0; from < groups.length; from += GROUPS_AT_ONCE) {
    const rows = groups.slice(from, from + GROUPS_AT_ONCE).flat();
    const targets = targetsOf(rows);
    sum += targets * runtime.scope(() => passageLoss(model, rows, padding).item());
    count += targets;
    yield;
  }
  return tensor(runtime, [sum / count], []);
}
