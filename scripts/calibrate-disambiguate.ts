/**
 * Sets from which similarity on a use of a word is familiar:
 *
 *   tsx scripts/calibrate-disambiguate.ts MODEL LABELLED
 *
 * Each sentence of the validation part of LABELLED (bank.tsv, homographs.tsv) is compared with the
 * labelled sentences of the model, but not with itself. All but the hundredth part of them that are
 * like none stay familiar; the threshold goes to MODEL/config.json.
 */
import { readLabelledFolder } from "../src/cli/train-disambiguate.js";
import { init } from "../src/node.js";
import { setField } from "./model-config.js";

const UNFAMILIAR = 0.01;

const [model, labelled] = process.argv.slice(2);
if (!model || !labelled) throw new Error("calibrate-disambiguate: usage is MODEL LABELLED");
const { validation } = await readLabelledFolder(labelled);

const heed = await init({ threads: 1 });
const disambiguator = await heed.load(model, "disambiguate");
const similarities: number[] = [];
for (const { word, sentence, start } of validation) {
  const [uses] = await disambiguator.disambiguateAll(word, [sentence], { nearest: 2 });
  const use = uses?.find((one) => one.start === start);
  const other = use?.nearest.find((near) => near.sentence !== sentence);
  if (other) similarities.push(other.similarity);
}
heed.dispose();

similarities.sort((a, b) => a - b);
const threshold = similarities[Math.floor(UNFAMILIAR * similarities.length)] as number;
const familiarity = Math.floor(1000 * threshold) / 1000;
await setField(model, "familiarity", familiarity);
console.log(`familiar from ${familiarity} on, of ${similarities.length} uses`);
