/** Text from models and users made safe for a terminal: control characters are shown, not obeyed. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, (character) =>
    character === "\n" || character === "\t"
      ? character
      : `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, "0")}`,
  );
}
