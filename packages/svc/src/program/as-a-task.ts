/** Says what a user can do next after a wrong command line. */

import type { Command, CommanderError } from 'commander';

import { closestName } from '@svc/kit/diagnostics/closest-name.ts';
import { redactHandles } from '@svc/kit/diagnostics/handle-id.ts';
import { exactLine, say, type Shown } from '@svc/terminal/screen/shown.ts';
import { commands } from './commands.ts';

/** Codes about the arguments of a command; the message of any other is complete. */
const aboutArguments: ReadonlySet<string> = new Set([
  'commander.missingArgument',
  'commander.excessArguments',
  'commander.optionMissingArgument',
  'commander.missingMandatoryOptionValue',
  'commander.unknownOption',
]);

/** Commands that have commands of their own. */
const groups: ReadonlySet<string> = new Set(['trace', 'serve', 'token', 'trust', 'key']);

/** A line of standard error after the message of the parser; empty where that is enough. */
export function nextStep(
  { code, message }: Pick<CommanderError, 'code' | 'message'>,
  words: readonly string[],
  root: Command | null,
): Shown {
  const [first = '', second = ''] = words;
  const isCommand = commands.some(({ name }) => name === first);
  if (code === 'commander.invalidArgument') return meantChoice(message);
  const valued = /^error: unknown option '(--[a-z-]+)=/.exec(message)?.[1];
  if (valued !== undefined && root !== null && flagsOf(root).includes(valued))
    return exactLine`${valued} takes no value: it is given or left out\n`;
  if (isCommand && code === 'commander.unknownCommand') return say`svc ${first} --help lists its commands\n`;
  const command = groups.has(first) && /^[a-z]+$/.test(second) ? `${first} ${second}` : first;
  if (first === 'run' && code === 'commander.excessArguments')
    return words.length === 2
      ? exactLine`to give it as a task: svc run --task "${redactHandles(second)}"\n`
      : exactLine`to give it as a task: svc run --task "<task>"\n`;
  if (first === 'run' && message.includes("unknown option '--trust'"))
    return exactLine`svc run needs no --trust: it runs the manifest that is named, ./svc.yaml without a name\n`;
  if (first === 'add' && second.startsWith('mcp:') && aboutArguments.has(code))
    return exactLine`the command of a server is one word: svc add "${words.slice(1).map(redactHandles).join(' ')}"\n`;
  if (code === 'commander.unknownOption' && words.slice(0, -1).includes('--mcp'))
    return say`the command of a server is one word: svc --mcp "npx -y <package> ." "<task>"\n`;
  if (!isCommand && code === 'commander.excessArguments')
    return words.some((word) => word.startsWith('-'))
      ? say`the task is one argument, in quotes: svc "<task>"\n`
      : asTask(words);
  if (isCommand && aboutArguments.has(code)) return say`svc ${command} --help shows what it takes\n`;
  if (code === 'commander.unknownCommand' && first === 'version' && words.length === 1)
    return say`svc --version says which version this is\n`;
  return code === 'commander.unknownCommand' && first.trim() !== '' ? asTask(words) : say``;
}

/** The choice that a misspelt one most likely meant, in the words of the parser for options. */
function meantChoice(message: string): Shown {
  const [, given = '', choices = ''] = /'([^']*)' is invalid\b[^.]*\. Allowed choices are (.+)\.$/.exec(message) ?? [];
  const meant = choices === '' ? undefined : closestName(given, choices.split(', '));
  return meant === undefined ? say`` : exactLine`(Did you mean ${meant}?)\n`;
}

function flagsOf({ options, commands: below }: Command): readonly string[] {
  return [...options.flatMap(({ long }) => long ?? []), ...below.flatMap(flagsOf)];
}

/** Helps a user who wrote a task without quotes, or one of a single word. */
function asTask(words: readonly string[]): Shown {
  const [word = '', ...more] = words.map(redactHandles);
  return more.length === 0
    ? exactLine`to give it as a task: svc -p ${/^[\w.,:/@%+=-]*$/.test(word) ? word : `"${word}"`}\n`
    : exactLine`to give it as a task: svc "${[word, ...more].join(' ')}"\n`;
}
