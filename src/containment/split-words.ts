export type SplitWords =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'unbalanced'; readonly reason: string };

const blank = /[ \t\r\n]/;
/** What a backslash takes away the meaning of inside double quotes; before anything else it stands for itself. */
const escapable = new Set(['"', '\\', '$', '`']);

/**
 * A command line as words, by the quoting rules of the POSIX shell and nothing else of it: no variable, pattern, operator
 * or comment means anything.
 */
export function splitWords(line: string): SplitWords {
  const words: string[] = [];
  let word: string | null = null;
  let quote: '"' | "'" | null = null;
  for (let index = 0; index < line.length; index += 1) {
    const character = line.charAt(index);
    if (character === '\\' && quote !== "'") {
      const next = line.charAt(index + 1);
      if (next === '') return { kind: 'unbalanced', reason: 'the line ends with a backslash' };
      index += 1;
      if (next === '\n') continue;
      const literal = quote === null || escapable.has(next);
      word = (word ?? '') + (literal ? next : character + next);
    } else if (character === quote) {
      quote = null;
    } else if (quote === null && (character === '"' || character === "'")) {
      quote = character;
      word ??= '';
    } else if (quote === null && blank.test(character)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? '') + character;
    }
  }
  if (quote !== null) return { kind: 'unbalanced', reason: `a ${quote} is not closed` };
  if (word !== null) words.push(word);
  return { kind: 'words', words };
}
