/**
 * Text from models, files and users made safe for a terminal: control characters are shown as
 * \u001b, not obeyed. In JSON they stay what they are, since they only stand in strings there.
 *
 * @param kept  control characters that stay
 */
export function printable(text: string, kept = ""): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, (character) =>
    kept.includes(character)
      ? character
      : `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, "0")}`,
  );
}
