/**
 * The entry "heed/inspect": pictures of attention. It needs no runtime and no worker, so a page may
 * load it when it draws. In Node it is part of "heed".
 */
export {
  type Alignment,
  type AttentionMap,
  type AttentionMapOptions,
  alignmentMap,
  attentionMap,
} from "./inspect/attention-map.js";
export { type AttentionHtmlOptions, attentionHtml } from "./inspect/html.js";
export { type AttentionSvgOptions, attentionSvg } from "./inspect/svg.js";
export { type AttentionTextOptions, attentionText } from "./inspect/text.js";
