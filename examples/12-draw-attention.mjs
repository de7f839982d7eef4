// Pictures of attention: in the terminal, as an SVG file, and as a report for the browser.
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  alignmentMap,
  attentionHtml,
  attentionMap,
  attentionSvg,
  attentionText,
  attentionWithWeights,
  causalMask,
  init,
} from "heed";

const heed = await init({ threads: 1 });
const folder = await mkdtemp(join(tmpdir(), "heed-pictures-"));

// A translation says where its words looked …
const model = fileURLToPath(new URL("../models/translate-en-es", import.meta.url));
const translator = await heed.load(model);
const translation = await translator.translate("The black cat sleeps.");
const alignment = alignmentMap(translation);
console.log(attentionText(alignment));

// … and so do the weights of any attention: [batch, heads, queries, keys].
const words = "The cat that we saw yesterday sleeps".split(" ");
const x = heed.tensor(
  Float32Array.from({ length: 4 * 7 * 8 }, (_, i) => Math.sin(i * i)),
  [1, 4, 7, 8],
);
const { weights } = attentionWithWeights(x, x, x, { mask: causalMask(heed, 7) });
const heads = attentionMap(weights, { queries: words, title: "Four heads" });

await writeFile(join(folder, "heads.svg"), attentionSvg(heads));
await writeFile(join(folder, "report.html"), attentionHtml([alignment, heads]));
console.log(`heads.svg and report.html are in ${folder}`);
heed.dispose();
