/** Makes text from outside safe to print. */

const maxEcho = 60;

/** Text from outside, safe for a terminal: control and invisible characters are spelt out as `\u{…}`. */
export function printable(text: string): string {
  // Not a constant of the module: V8 reads such classes when it makes the expression, at each start.
  const unprintable = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;
  return text.replaceAll(unprintable, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The text, or as much of it as `most` UTF-16 units hold, with `…` behind it: no character is split. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const isSplit = (text.charCodeAt(most - 1) & 0xfc00) === 0xd800;
  return `${text.slice(0, isSplit ? most - 1 : most)}…`;
}

/** The first names, as `spell` writes each, and how many more there are. */
export function firstNames(names: readonly string[], most: number, spell: (name: string) => string = String): string {
  const rest = names.length - most;
  return `${names.slice(0, most).map(spell).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** The first lines, and behind them how many more there are. */
export function firstLines(lines: readonly string[], most: number): readonly string[] {
  return lines.length > most ? [...lines.slice(0, most), `and ${lines.length - most} more`] : lines;
}

/** A value as a message repeats it: in quotes, printable, cut at 60 characters, without the user and the password of an address. */
export function quoted(value: string): string {
  const text = value.replaceAll(/:\/\/[^/\s]*@/g, '://…@');
  const characters = Array.from(text.slice(0, maxEcho * 2));
  const isWhole = characters.length <= maxEcho && text.length <= maxEcho * 2;
  return `"${printable(characters.slice(0, maxEcho).join(''))}${isWhole ? '' : '…'}"`;
}

/** JSON in printable ASCII: whatever could change how the rest is read stands as `\u{…}`. */
export function inertJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[^\x20-\x7e]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
