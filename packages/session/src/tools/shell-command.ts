/** Says how a command of the shell grant is declared to a model, and which words it is started with. */

import { splitWords } from '@svc/sandbox/split-words.ts';
import type { BackgroundSettings } from './background/background-commands.ts';
import type { ToolDeclaration } from './tool.ts';

/** Declares a command to the model; `background` says what becomes of one that takes long. */
export function shellDeclaration(
  name: string,
  background: Pick<BackgroundSettings, 'graceMs' | 'endIsTold'>,
): ToolDeclaration {
  return {
    name,
    description: descriptionOf(name, background),
    kind: 'shell',
    inputSchema: {
      type: 'object',
      properties: { command: { type: 'string', description: commandDescription(name) } },
      required: ['command'],
      additionalProperties: false,
    },
  };
}

function descriptionOf(
  name: string,
  { graceMs, endIsTold }: Pick<BackgroundSettings, 'graceMs' | 'endIsTold'>,
): string {
  const what = isShell(name) ? `Runs a command line with ${name}` : `Runs the program ${name}`;
  const telling = endIsTold ? 'its end arrives as a task of its own' : 'its end is not reported';
  return `${what}, in the working directory at every call, and gives its exit code, stdout and stderr. Standard input is empty, and what is left running is ended. A command that runs longer than ${graceMs / 1000} s goes on in the background, and ${telling}.`;
}

function commandDescription(name: string): string {
  return isShell(name)
    ? `The command line, as for ${name} -c.`
    : `The arguments of ${name}, without the name itself. Quotes and backslashes group words; there is no shell, so no variables, patterns, pipes or redirections.`;
}

const shells: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'zsh', 'ash', 'ksh']);

/** Twice what systems take as the arguments of a program: a backslash may stand before each character. */
const longestCommand = 4 * 1024 * 1024;

/** Whether a program reads its `command` as a command line of its own. */
export function isShell(name: string): boolean {
  return shells.has(name);
}

/** The arguments that a program is started with for the `command` of its tool: a shell gets it by `-c`. */
export function commandWords(name: string, command: string): ReturnType<typeof splitWords> {
  if (command.length > longestCommand) {
    return { kind: 'unbalanced', reason: `it has more than ${longestCommand} characters` };
  }
  if (!isShell(name)) return splitWords(command);
  // A shell takes a leading dash or plus for options of its own, even after -c.
  return { kind: 'words', words: ['-c', /^[-+]/.test(command) ? ` ${command}` : command] };
}
