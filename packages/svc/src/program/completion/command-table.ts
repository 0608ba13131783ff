/** Writes down of each command what can stand behind it, for the shells' completion. */

import type { Argument, Command, Option } from 'commander';

import { commandsBelow } from '../placed-commands.ts';

/** What a value is completed with: one of these kinds, or the choices that there are; nothing for free text. */
export type ValueKind =
  | 'file'
  | 'directory'
  | 'command'
  | 'session'
  | 'running'
  | 'task'
  | 'code'
  | 'artifact'
  | 'capsule'
  | { readonly choices: readonly string[] }
  | null;

export interface TableOption {
  /** `--manifest`, and `-o` where it has a short name. */
  readonly names: readonly string[];
  readonly about: string;
  /** Absent for one that takes no value. */
  readonly value?: { readonly kind: ValueKind; readonly isOptional: boolean };
}

export interface TableArgument {
  readonly kind: ValueKind;
  readonly isRepeated: boolean;
}

/** One command; `path` are the words that lead to it. */
export interface TableRow {
  readonly path: string;
  readonly about: string;
  readonly below: readonly string[];
  readonly options: readonly TableOption[];
  readonly arguments: readonly TableArgument[];
}

/** Rows for all commands of a program, hidden options aside. */
export function commandTable(program: Command): readonly TableRow[] {
  return commandsBelow(program).map(({ path, command }) => ({
    path,
    about: command.description(),
    below: command.commands.map((each) => each.name()),
    options: [...command.options.filter(({ hidden }) => !hidden).map((option) => optionOf(path, option)), help],
    arguments: command.registeredArguments.map((argument) => ({
      kind: argument.argChoices === undefined ? kindOf(path, argument) : { choices: argument.argChoices },
      isRepeated: argument.variadic,
    })),
  }));
}

const help: TableOption = { names: ['-h', '--help'], about: 'show the options' };

function optionOf(path: string, option: Option): TableOption {
  const names = [option.short, option.long].filter((name) => name !== undefined);
  const about = option.description;
  if (option.isBoolean() || option.negate) return { names, about };
  const kind = option.argChoices === undefined ? kindOf(path, option) : { choices: option.argChoices };
  return { names, about, value: { kind, isOptional: option.optional } };
}

/** What the words between the brackets stand for. */
const kinds: Readonly<Record<string, ValueKind>> = {
  path: 'file',
  'path or text': 'file',
  'file.zip': 'file',
  'file.xml': 'file',
  what: 'artifact',
  words: 'artifact',
  dir: 'directory',
  a: 'session',
  b: 'session',
  session: 'session',
  task: 'task',
  code: 'code',
  command: 'command',
};

/** A running capsule is what these act on, and no other session. */
const runningOnly: ReadonlySet<string> = new Set(['stop', 'send', 'cancel', 'answer', 'watch', 'chat', 'steer', 'ps']);

function kindOf(path: string, item: Option | Argument): ValueKind {
  const name = 'flags' in item ? (/[<[]([^\]>]+?)(?:\.{3})?[\]>]/.exec(item.flags)?.[1] ?? '') : item.name();
  if ('flags' in item && item.long === '--capsule') return 'capsule';
  if (name === 'session' && runningOnly.has(path)) return 'running';
  // A text that is typed names no existing task.
  if (name === 'task' && 'flags' in item) return null;
  return kinds[name] ?? null;
}
