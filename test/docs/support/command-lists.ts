/** Writes the lists of docs/cli.md from the commands, whose help, manual pages and completion are made of the same. */

import type { Command, Option } from 'commander';

import { additionsOf } from '@svc/svc/program/help/reference-lists.ts';
import { commandsBelow } from '@svc/svc/program/placed-commands.ts';

/** An option that as many commands have, in the same words, is described once. */
const common = 5;

/** The page with what is said of each command and its options made anew; what the page adds to them stays. */
export function withCommandLists(page: string, program: Command): string {
  const shared = sharedOptions(program);
  const parts = page.split(/^(?=## )/m).map((section) => {
    if (section.startsWith('## Common options\n')) return withList(section, sharedList(shared, additionsOf(section)));
    const command = program.commands.find((each) => section.startsWith(`## \`svc ${each.name()}\`\n`));
    if (command === undefined) return section;
    const about = `${usageOf(`svc ${command.name()}`, command)}: ${inText(command.description())}`;
    return withList(section, `${about}\n\n${listOf(command, shared, additionsOf(section))}`);
  });
  return parts.join('');
}

/** All descriptions of commands on the page. None may have the full stop behind which the page goes on. */
export function describedOptions(program: Command): readonly string[] {
  return commandsBelow(program).flatMap(({ command }) =>
    [command.description()].concat(optionsOf(command).map(aboutOf)),
  );
}

/** A section begins with a heading, what is made, and a list of options; what follows is the page's own. */
function withList(section: string, made: string): string {
  return section.replace(
    /^(## .*\n\n)(?:`svc .*\n\n)?(?:(?: *- .*\n)+\n*)?/,
    (_, heading: string) => `${heading}${made}\n`,
  );
}

/** The lines of options that many commands have. */
function sharedOptions(program: Command): ReadonlySet<string> {
  const owners = new Map<string, number>();
  const leaves = commandsBelow(program).filter(({ command }) => command.commands.length === 0);
  for (const line of leaves.flatMap(({ command }) => optionsOf(command).map(lineOf))) {
    owners.set(line, (owners.get(line) ?? 0) + 1);
  }
  return new Set([...owners.keys()].filter((line) => (owners.get(line) ?? 0) >= common));
}

function sharedList(shared: ReadonlySet<string>, additions: ReadonlyMap<string, string>): string {
  return [...shared].map((line) => `- ${withAddition(line, additions)}\n`).join('');
}

function listOf(command: Command, shared: ReadonlySet<string>, additions: ReadonlyMap<string, string>): string {
  const leaves = commandsBelow(command, command.name()).slice(1);
  const usual = new Set<string>();
  const linesOf = (each: Command, indent: string, place: string): readonly string[] =>
    optionsOf(each).flatMap((option) => {
      const line = withAddition(lineOf(option), additions, place);
      if (line !== lineOf(option) || !shared.has(line)) return [`${indent}- ${line}\n`];
      usual.add(`\`${option.long ?? ''}\``);
      return [];
    });
  const belowOf = leaves.flatMap(({ path, command: each }) => {
    const line = `${usageOf(`svc ${path}`, each)}: ${inText(each.description())}`;
    return [`- ${withAddition(line, additions)}\n`].concat(linesOf(each, '  ', `svc ${path} `));
  });
  const lines = linesOf(command, '', '').concat(belowOf);
  const rest = usual.size === 0 ? '' : `- [Common](#common-options): ${[...usual].join(', ')}\n`;
  return `${lines.join('')}${rest}`;
}

function optionsOf(command: Command): readonly Option[] {
  return command.options.filter(({ hidden }) => !hidden);
}

function lineOf(option: Option): string {
  return `\`${option.flags}\`: ${aboutOf(option)}`;
}

function withAddition(line: string, additions: ReadonlyMap<string, string>, place = ''): string {
  const name = /^`svc [^`<[]*[^`<[ ]/.exec(line)?.[0].slice(1) ?? /--[\w-]+/.exec(line)?.[0] ?? '';
  const addition = additions.get(`${place}${name}`) ?? '';
  return addition === '' ? line : `${line.replace(/\.?$/, '.')} ${addition}`;
}

function usageOf(name: string, command: Command): string {
  const given = command.commands.length > 0 ? '<command>' : command.usage().replace(/^\[options\] ?/, '');
  return `\`${`${name} ${given}`.trim()}\``;
}

function aboutOf({ description, argChoices = [], defaultValue }: Option): string {
  const standard: unknown = defaultValue;
  const hasDefault = typeof standard === 'string' || typeof standard === 'number';
  return [
    inText(description),
    ...(argChoices.length === 0 ? [] : [argChoices.map((choice) => `\`${choice}\``).join(', ')]),
    ...(hasDefault ? [`default \`${standard}\``] : []),
  ].join('; ');
}

/** Shown as it is: a placeholder is no element of HTML. */
function inText(text: string): string {
  return text.replaceAll(/[<*]/g, String.raw`\$&`);
}
