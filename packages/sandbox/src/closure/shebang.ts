/** The first line of a script, as the kernel reads it. */
export interface Shebang {
  readonly interpreter: string;
  /** Everything after the interpreter, as one word; null when there is nothing. */
  readonly argument: string | null;
}

/** The kernel looks at this much of a program (`BINPRM_BUF_SIZE`). */
export const shebangBytes = 256;

/** Null when the kernel would refuse the line: no interpreter, or a name that may have been cut. */
export function parseShebang(head: Buffer): Shebang | null {
  const seen = head.subarray(0, shebangBytes);
  const newline = seen.indexOf(0x0a);
  const end = newline === -1 ? seen.length : newline;
  const line = seen.toString('utf8', 2, end).replace(/\0.*$/s, '');
  // The kernel knows spaces and tabs; a carriage return belongs to the name.
  const words = /^[ \t]*([^ \t]+)(?:[ \t]+(.*?))?[ \t]*$/s.exec(line);
  const interpreter = words?.[1];
  if (interpreter === undefined) return null;
  const cut = newline === -1 && seen.length === shebangBytes && !/^[ \t]*[^ \t]+[ \t]/.test(line);
  if (cut) return null;
  const argument = words?.[2];
  return { interpreter, argument: argument === undefined || argument === '' ? null : argument };
}

/** The program that `env` starts when a script names `env` with `argument`; null when it starts none. */
export function programOfEnv(argument: string | null): string | null {
  if (argument === null) return null;
  // Without -S the rest of the line is one word, so it is a program's name, an assignment or options in one word.
  const split = /^(?:-[iv0]*S|--split-string(?:=|\s+))\s*(.*)$/s.exec(argument);
  const words = split === null ? [argument] : (split[1] ?? '').split(/\s+/).filter((word) => word !== '');
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '-u' || word === '-C' || word === '--unset' || word === '--chdir') at += 1;
    else if (!word.startsWith('-') && !/^\w+=/.test(word)) return unquoted(word);
  }
  return null;
}

function unquoted(word: string): string {
  return word.replace(/^(['"])(.*)\1$/s, '$2');
}
