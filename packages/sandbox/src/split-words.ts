/** Splits a command line into words, as a shell does and with nothing else of a shell. */

type SplitWords =
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
  // Up to here, all is in `word`. What stands for itself is taken a run at a time: a word made of its characters is fifty times its size.
  let taken = 0;
  const take = (end: number, skipped: number): void => {
    if (end > taken) word = (word ?? '') + line.slice(taken, end);
    taken = end + skipped;
  };
  for (let index = 0; index < line.length; index += 1) {
    const character = line.charAt(index);
    if (character === '\\' && quote !== "'") {
      const next = line.charAt(index + 1);
      if (next === '') return { kind: 'unbalanced', reason: 'the line ends with a backslash' };
      if (next === '\n') take(index, 2);
      else if (quote === null || escapable.has(next)) take(index, 1);
      index += 1;
    } else if (character === quote) {
      take(index, 1);
      quote = null;
    } else if (quote === null && (character === '"' || character === "'")) {
      take(index, 1);
      quote = character;
      word ??= '';
    } else if (quote === null && blank.test(character)) {
      take(index, 1);
      if (word !== null) words.push(word);
      word = null;
    }
  }
  if (quote !== null) return { kind: 'unbalanced', reason: `a ${quote} is not closed` };
  take(line.length, 0);
  if (word !== null) words.push(word);
  return { kind: 'words', words };
}
