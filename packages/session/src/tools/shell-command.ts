/** Declares a command of the shell grant to a model, and makes the words with which the command starts. */

import { shells } from '@svc/artifacts/manifest/names.ts';
import { splitWords } from '@svc/sandbox/split-words.ts';
import type { BackgroundSettings } from './background/background-commands.ts';
import type { ToolDeclaration } from './tool.ts';

/** Declares a command to the model; `background` says what happens to a command that takes long. */
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

/** The most characters of a command. That is twice what systems accept as the arguments of a program: a backslash may stand before each character. */
const maxCommand = 4 * 1024 * 1024;

/** Whether a program reads its `command` as a command line of its own. */
export function isShell(name: string): boolean {
  return shells.has(name);
}

/** Returns the arguments with which a program starts for the `command` of its tool. A shell gets the command by `-c`. */
export function commandWords(name: string, command: string): ReturnType<typeof splitWords> {
  if (command.length > maxCommand) {
    return { kind: 'unbalanced', reason: `it has more than ${maxCommand} characters` };
  }
  if (!isShell(name)) return splitWords(command);
  // A shell reads a leading dash or plus as options of its own, even after -c.
  return { kind: 'words', words: ['-c', /^[-+]/.test(command) ? ` ${command}` : command] };
}
