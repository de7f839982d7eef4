import {
  type LongRangeConfig,
  LongRangeDependencyModel,
} from "../models/long-range-dependency-model.js";
import { passageLoss, targetsOf } from "./long-range.js";
import { groupPassages, type PassageGroup } from "./passages.js";
import { soften, TIED } from "./soften.js";
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
    build: (runtime) => soften(new LongRangeDependencyModel(runtime, config), TIED),
    sortKey: (group) => group.reduce((most, row) => Math.max(most, row.length), 0),
    loss: (model, groups) => passageLoss(model, groups.flat(), padding),
    weightOf: targetsOf,
  };
}
