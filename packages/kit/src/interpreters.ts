/** Knows by name the programs that run any code they are given. */

const shells = 'ash bash busybox csh dash fish ksh pwsh sh tcsh zsh';
const languages =
  'awk bun deno gawk java jshell lua luajit mawk nawk node nodejs osascript perl php pypy python R Rscript ruby tclsh ts-node tsx';

const interpreters: ReadonlySet<string> = new Set(`${shells} ${languages}`.split(' '));

/** Whether this command is a shell or a language, so that allowing it allows any code; a version at the end of the name is ignored. */
export function isInterpreter(command: string): boolean {
  return interpreters.has(command) || interpreters.has(command.replace(/-?\d+(\.\d+)*$/, ''));
}
