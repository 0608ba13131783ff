/** Makes manual pages of the commands and of `docs/cli.md`. */

import type { Command, Option } from 'commander';

import { version } from '@svc/kit/version.ts';
import { commandsBelow } from '../placed-commands.ts';
import { additionsOf, isOptionList, sectionOf } from './reference-lists.ts';
import { bold, definition, example, inline, roffOf, roffText } from './roff.ts';

/** When the form of the pages was last changed: a page has the day of its text, and it is the same wherever it is made. */
const pagesDate = '2026-11-25';

type Additions = ReadonlyMap<string, string>;

export interface ManPage {
  /** `svc-trace.1` */
  readonly file: string;
  readonly text: string;
}

/** All pages: `svc.1`, and one for each command. `reference` is the text of `docs/cli.md`. */
export function manPages(program: Command, reference: string): readonly ManPage[] {
  const common = additionsOf(sectionOf(reference, 'Common options'));
  const own = program.commands.map((command) => ({
    file: `svc-${command.name()}.1`,
    text: commandPage(command, sectionOf(reference, `\`svc ${command.name()}\``), common),
  }));
  const pages = [{ file: 'svc.1', text: programPage(program, reference) }, ...own];
  // A heading begins a paragraph by itself.
  return pages.map(({ file, text }) => ({ file, text: text.replaceAll(/^(\.S[HS] .*\n)\.PP\n/gm, '$1') }));
}

function head(name: string, about: string): string {
  const title = name.replaceAll(' ', '-');
  return `.\\" Made of the commands and docs/cli.md
.TH ${title.toUpperCase()} 1 "${pagesDate}" "svc ${version}" "svc"
.nh
.SH NAME
${roffText(title)} \\- ${roffText(about.replace(/\.$/, ''))}
`;
}

function programPage(program: Command, reference: string): string {
  const intro = reference.slice(reference.indexOf('\n') + 1, reference.indexOf('\n## '));
  const exits = /^\| Exit code \|[^]*?(?=\n\n)/m.exec(intro)?.[0] ?? '';
  const commands = program.commands.map((command) =>
    definition(`${bold(`svc ${command.name()}`)}(1)`, roffText(command.description())),
  );
  return [
    head('svc', program.description()),
    `.SH SYNOPSIS\n${bold('svc')} \\fIcommand\\fP [\\fIoptions\\fP] [\\fIarguments\\fP]\n`,
    `.SH DESCRIPTION\n${roffOf(intro, (table) => table.startsWith('| Exit code'))}`,
    `.SH COMMANDS\n${commands.join('')}`,
    `.SH "EXIT STATUS"\n${roffOf(exits)}`,
    `.SH ENVIRONMENT\n${roffOf(sectionOf(reference, 'Environment'))}`,
    `.SH FILES\n${roffOf(sectionOf(reference, 'Files'))}`,
  ].join('');
}

function commandPage(command: Command, section: string, common: Additions): string {
  const additions = new Map([...common, ...additionsOf(section)]);
  const name = `svc ${command.name()}`;
  const all = commandsBelow(command, command.name());
  const below = all.slice(1).map(({ path, command: each }) => belowPart(`svc ${path}`, each, additions));
  const examples = all.flatMap(({ command: each }) => examplesOf(each));
  return [
    head(name, command.description()),
    `.SH SYNOPSIS\n${synopsis(name, command)}`,
    `.SH DESCRIPTION\n${section === '' ? `${roffText(command.description())}\n` : roffOf(section, isOptionList)}`,
    below.length === 0 ? '' : `.SH COMMANDS\n${below.join('')}`,
    below.length === 0 ? `.SH OPTIONS\n${optionsOf(command, additions, '')}` : '',
    examples.length === 0 ? '' : `.SH EXAMPLES\n${example(examples)}`,
    `.SH "SEE ALSO"\n${bold('svc')}(1)\n`,
  ].join('');
}

function belowPart(name: string, command: Command, additions: Additions): string {
  const text = `.PP\n${withAddition(command.description(), additions.get(name))}\n`;
  return `.SS ${roffText(name)}\n${synopsis(name, command)}${text}${optionsOf(command, additions, `${name} `)}`;
}

function synopsis(name: string, command: Command): string {
  const given = command.usage().replace(/^\[options\] ?/, '');
  return `${bold(name)} [\\fIoptions\\fP]${given === '' ? '' : ` ${roffText(given)}`}\n`;
}

/** Each option with its own description, and what the reference adds; `place` goes before its name there. */
function optionsOf(command: Command, additions: Additions, place: string): string {
  const options = command.options.filter(({ hidden }) => !hidden);
  const own = options.map((option) => {
    const addition = additions.get(`${place}${option.long ?? ''}`) ?? additions.get(option.long ?? '');
    return definition(inline(flagsOf(option)), withAddition(textOf(option), addition));
  });
  return `${own.join('')}${definition(`${bold('-h')}, ${bold('--help')}`, 'show the options')}`;
}

function withAddition(text: string, addition = ''): string {
  if (addition === '') return roffText(text);
  return `${roffText(text.replace(/\.?$/, '.'))} ${inline(addition)}`;
}

function flagsOf({ flags }: Option): string {
  return flags.replaceAll(/-{1,2}[a-zA-Z][\w-]*/g, '`$&`').replaceAll(/<([^>]+)>/g, '*$1*');
}

function textOf({ description, defaultValue }: Option): string {
  const usual: unknown = defaultValue;
  const standard = typeof usual === 'string' || typeof usual === 'number' ? ` (default: ${usual})` : '';
  return `${description}${standard}`;
}

/** The lines of its help below \`Example:\`. */
function examplesOf(command: Command): readonly string[] {
  const [, lines = ''] = /^Examples?:\n((?: {2}.*(?:\n|$))+)/m.exec(helpOf(command)) ?? [];
  return lines.split('\n').flatMap((line) => (line === '' ? [] : [line.slice(2)]));
}

/** What `--help` of a command prints. */
export function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (piece) => (text += piece) });
  command.outputHelp();
  return text;
}
