/** Finds in texts of others what would hide, turn around or pass for something else, so that a page can show it as what it is. */

/** A stretch of a text: as it is, or odd characters by their numbers. */
export interface Run {
  readonly isOdd: boolean;
  readonly text: string;
}

/**
 * Controls, what may be ignored when it is drawn (marks that turn text around or take no room, fillers, tags) and halves of characters. Tab and
 * line feed do not count; a joiner and a variation mark are odd only where no picture stands before them.
 */
const odd =
  // eslint-disable-next-line no-control-regex
  /(?<![\p{ExtPict}\p{EMod}\uFE0F])\u200D|(?<!\p{Emoji})[\uFE00-\uFE0F]|(?![\t\n]|\u200D|[\uFE00-\uFE0F])[\p{DI}\p{Cc}\p{Zl}\p{Zp}\p{Cs}\uFFF9-\uFFFB]/gu;

/** Whether anything of a text is odd: most texts are shown as they are. */
export function isPlain(text: string): boolean {
  // A search forgets where an earlier one ended.
  return text.search(odd) === -1;
}

/** The text in stretches; more than four marks on one letter are cut. */
export function runsOf(text: string): readonly Run[] {
  const flat = text.replaceAll('\r\n', '\n').replaceAll(/(\p{M}{4})\p{M}+/gu, '$1');
  const runs: Run[] = [];
  let from = 0;
  for (const match of flat.matchAll(odd)) {
    if (match.index > from) runs.push({ isOdd: false, text: flat.slice(from, match.index) });
    const last = runs.at(-1);
    const name = nameOf(match[0]);
    if (last?.isOdd === true && last.text.length < 64)
      runs[runs.length - 1] = { isOdd: true, text: `${last.text} ${name}` };
    else runs.push({ isOdd: true, text: name });
    from = match.index + match[0].length;
  }
  if (from < flat.length) runs.push({ isOdd: false, text: flat.slice(from) });
  return runs;
}

/** For places that can have no marks, such as titles and what a screen reader says: the text without its odd characters. */
export function withoutOdd(text: string): string {
  return text.replaceAll(odd, '');
}

function nameOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Letters of other writings that look like Latin ones. */
const [latin, lookalike] = [
  /\p{Script=Latin}/u,
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u,
];

/** Whether a word of a text mixes writings whose letters look alike. */
export function mixesScripts(text: string): boolean {
  return text.split(/[^\p{L}\p{M}\p{N}]+/u).some((word) => latin.test(word) && lookalike.test(word));
}
