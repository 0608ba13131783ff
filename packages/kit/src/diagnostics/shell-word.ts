/** Spells texts for commands that a person pastes, or another program reads. */

/** A text as one word of a shell, in quotes. */
export function quotedWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The same, without quotes where no shell takes the text for anything else. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : quotedWord(text);
}
