import { type Alignment, alignmentMap } from "../inspect/attention-map.js";
import { attentionText } from "../inspect/text.js";

/** The alignment of a sentence's words as text: a row a target word, a column a source word. */
export function alignmentGrid(
  { source, target, alignment }: Pick<Alignment, "source" | "target" | "alignment">,
  width?: number,
): string {
  return attentionText(alignmentMap({ source, target, alignment, attention: [] }), { width });
}
