import { splitWords } from '@svc/sandbox/split-words.ts';

const shells: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'zsh', 'ash', 'ksh']);

/** Twice what systems take as the arguments of a program: a backslash may stand before each character. */
const longestCommand = 4 * 1024 * 1024;

/** Whether a program reads its `command` as a command line of its own. */
export function isShell(name: string): boolean {
  return shells.has(name);
}

/** The arguments that a program is started with for the `command` of its tool: a shell gets it by `-c` (contracts §5). */
export function commandWords(name: string, command: string): ReturnType<typeof splitWords> {
  if (command.length > longestCommand) {
    return { kind: 'unbalanced', reason: `it has more than ${longestCommand} characters` };
  }
  if (!isShell(name)) return splitWords(command);
  // A shell takes a leading dash or plus for options of its own, even after -c.
  return { kind: 'words', words: ['-c', /^[-+]/.test(command) ? ` ${command}` : command] };
}
