/** Says which programs a line of a shell is sure to start, with which words. */

/** The longest line that is read. */
const maxLine = 64 * 1024;

/** Where a word is not in quotes. Every other character may mean something to one shell or another. */
const plainRun = /[A-Za-z0-9_@%+:,./=-]+/y;
const blanks = / +/y;
/** Separators of commands. A second `&`, `|` or `;` behind one makes something else of it. */
const separators = /(?:&&|\|\||[;|])(?![&|;])/y;
const singleQuoted = /'([^']*)'/y;
/** Without what double quotes leave its meaning. */
const doubleQuoted = /"([^"$`\\!]*)"/y;

/**
 * What the shells run by themselves: reserved words, and builtins that start others, set what later commands are found by, or evaluate an
 * argument. `echo`, `true`, `false` and `pwd` do nothing of that.
 */
const ownWords: ReadonlySet<string> = new Set(
  (
    '. : ! [ [[ ]] { } alias bg bind break builtin caller case cd chdir command compgen complete compopt continue coproc declare dirs disown do done ' +
    'elif else enable esac eval exec exit export fc fg fi for function getopts hash help history if in jobs kill let local logout mapfile popd printf ' +
    'pushd read readarray readonly return select set shift shopt source suspend test then time times trap type typeset ulimit umask unalias unset ' +
    'until wait while'
  ).split(' '),
);

/** Shells whose reading of a line is known here. Others read files of their own first, or words in ways of their own. */
export const readShells: ReadonlySet<string> = new Set(['sh', 'bash', 'dash']);

/**
 * The commands of a line, each with its words, as `sh`, `dash` and `bash` all read it; null where that is not sure. Understood are simple commands of
 * plain and quoted words in printable ASCII, with `;`, `&&`, `||` and `|` between them.
 */
export function commandsOfLine(line: string): readonly (readonly string[])[] | null {
  if (line.length > maxLine || /[^\x20-\x7e]/.test(line)) return null;
  const commands: string[][] = [];
  let words: string[] = [];
  let at = 0;
  let needsMore = true;
  const take = (shape: RegExp): RegExpExecArray | null => {
    shape.lastIndex = at;
    const taken = shape.exec(line);
    at += taken?.[0].length ?? 0;
    return taken;
  };
  while (at < line.length) {
    if (take(blanks) !== null) continue;
    const separator = take(separators)?.[0];
    if (separator === undefined) {
      const word = takeWord(take, words.length === 0);
      if (word === null) return null;
      words.push(word);
      continue;
    }
    if (words.length === 0) return null;
    commands.push(words);
    words = [];
    needsMore = separator !== ';';
  }
  if (words.length > 0) commands.push(words);
  else if (needsMore) return null;
  return commands.every(([name = '']) => isProgram(name)) ? commands : null;
}

/** One word of plain and quoted parts; null where no word stands next. */
function takeWord(take: (shape: RegExp) => RegExpExecArray | null, isFirst: boolean): string | null {
  let word: string | null = null;
  for (;;) {
    const plain = take(plainRun)?.[0];
    const part = plain ?? take(singleQuoted)?.[1] ?? take(doubleQuoted)?.[1];
    if (part === undefined) return word;
    // An assignment where the first word has one, and in zsh the place of a program.
    if (plain?.includes('=') === true && (isFirst || (word === null && plain.startsWith('=')))) return null;
    word = (word ?? '') + part;
  }
}

/** Whether a first word names a program, and neither a job nor something of the shell. */
function isProgram(name: string): boolean {
  return name !== '' && !name.startsWith('%') && !ownWords.has(name);
}
