// What a terminal or a page would obey, or show as nothing: control characters, line separators,
// marks of writing direction, lone surrogates.
const UNSAFE =
  /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]/gu;

/** Text from outside, made fit for an error message: quoted, escaped, cut to `longest`. */
export function quote(text: string, longest = 60): string {
  const shown = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return JSON.stringify(shown).replace(
    UNSAFE,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
