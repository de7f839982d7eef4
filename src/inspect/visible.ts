/**
 * Text from models and users, made fit to be looked at. What a terminal or a page would obey, or
 * show as nothing, is written out; and what is markup to a page becomes text.
 */

// Controls, marks of writing direction, line separators, lone surrogates, what XML forbids, and
// characters without an ink. Joiners (U+200C, U+200D) and variation selectors stay: scripts and emoji need them.
const UNSEEN =
  /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Cs}\p{Noncharacter_Code_Point}\u00ad\u180e\u200b\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const BLANK = /^[\p{Zs}]+$/u;
/** More marks on a letter than any script has; they would run over the lines above. */
const PILED_MARKS = /(\p{M}{6})\p{M}+/gu;
const STARTS_WITH_MARK = /^\p{M}/u;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/**
 * A token's text with all of it to be seen: \u202e for a mark of direction, ␣ for a space that is
 * all there is, ∅ for nothing, ◌ below a mark that has no letter, … for marks piled up without end.
 *
 * @param most  characters that are shown; a longer text ends in …
 */
export function visible(text: string, most = Infinity): string {
  if (text === "") return "∅";
  const [start, whole] = startOf(text, most);
  const shown = BLANK.test(start)
    ? start.replaceAll(/./gsu, "␣")
    : start.replaceAll(UNSEEN, escapeOf).replaceAll(PILED_MARKS, "$1…");
  return `${STARTS_WITH_MARK.test(shown) ? "◌" : ""}${shown}${whole ? "" : "…"}`;
}

/** Text as text of SVG and HTML, in an element or an attribute. */
export function escapeMarkup(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

/** The first characters of a text, one less when it is longer, and whether that is all of it. */
function startOf(text: string, most: number): [start: string, whole: boolean] {
  // Every character has one or two units.
  if (text.length <= most) return [text, true];
  const characters: string[] = [];
  for (const character of text) {
    characters.push(character);
    if (characters.length > most) return [characters.slice(0, most - 1).join(""), false];
  }
  return [text, true];
}

function escapeOf(character: string): string {
  const code = (character.codePointAt(0) as number).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
}
