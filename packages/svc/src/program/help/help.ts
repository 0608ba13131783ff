/** The command `svc help`: the options of a command, its manual page, or everything there is as JSON. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { Command } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine, say, sayLines, Shown } from '@svc/terminal/screen/shown.ts';
import { writePaged } from '@svc/terminal/screen/pager.ts';
import { type CommandEntry, commandTree } from '../command-tree.ts';
import { commandTable } from '../completion/command-table.ts';
import { commandsBelow } from '../placed-commands.ts';
import { helpOf, type ManPage, manPages } from './man-page.ts';

interface HelpOptions {
  readonly man?: boolean;
  readonly out?: string;
  readonly json?: boolean;
}

/** `svc help [command…]`; with `--man` the manual page, shown by man on a terminal. */
export const helpCommand =
  (commands: readonly CommandEntry[]) =>
  (context: CommandContext): Command =>
    new Command('help')
      .description('Show the options of a command, or its manual page.')
      .argument('[command...]', 'the command, svc itself when absent')
      .option('--man', 'show the manual page as man lays it out, or the options where there is no man')
      .option('--out <dir>', 'with --man: write all manual pages into this folder')
      .option('--json', 'write one JSON object: the command, its options and what is below it')
      .action(async (words: readonly string[], options: HelpOptions, self: Command) => {
        const tree = await commandTree(commands, context);
        const path = words.join(' ');
        const found = commandsBelow(tree).find((each) => each.path === path);
        if (found === undefined) self.error(`error: there is no command ${path}; svc help lists them`);
        else if (options.json === true) context.stdout.write(jsonLine(factsOf(tree, path, options)));
        else if (options.man !== true) context.stdout.write(sayLines(helpOf(found.command)));
        else if (options.out !== undefined) writePages(pagesOf(tree), resolve(context.cwd, options.out), context);
        else showPage(pageOf(tree, words[0]), found.command, context);
      });

/** What a command and those below it take; with `--man` the page in `man`. */
function factsOf(tree: Command, path: string, { man }: HelpOptions): Record<string, unknown> {
  const rows = commandTable(tree).filter((row) => path === '' || row.path === path || row.path.startsWith(`${path} `));
  const commands = rows.map((row) => ({
    command: row.path,
    description: row.about,
    arguments: row.arguments.map(({ kind, isRepeated }) => ({ kind, repeated: isRepeated })),
    options: row.options.map(({ names, about, value }) => ({
      names,
      description: about,
      value: value === undefined ? null : { kind: value.kind, optional: value.isOptional },
    })),
  }));
  return man === true ? { commands, man: pageOf(tree, path.split(' ')[0]).text } : { commands };
}

function pagesOf(tree: Command): readonly ManPage[] {
  const path = join(findPackageRoot(import.meta.filename), 'docs', 'cli.md');
  try {
    return manPages(tree, readFileSync(path, 'utf8'));
  } catch (error) {
    throw ioFault(error, 'the reference of svc cannot be read');
  }
}

/** A command below another one is on the page of that. */
function pageOf(tree: Command, name: string | undefined): ManPage {
  const file = name === undefined || name === '' ? 'svc.1' : `svc-${name}.1`;
  const page = pagesOf(tree).find((each) => each.file === file);
  if (page === undefined) throw new Diagnostic('E-IO-001', `there is no manual page ${file}`);
  return page;
}

function writePages(pages: readonly ManPage[], directory: string, { stdout }: CommandContext): void {
  try {
    mkdirSync(directory, { recursive: true });
    for (const { file, text } of pages) writeFileSync(join(directory, file), text);
  } catch (error) {
    throw ioFault(error, `the manual pages cannot be written to ${directory}`);
  }
  for (const { file } of pages) stdout.write(say`${file}\n`);
}

const maxPageBytes = 4 * 1024 * 1024;

/** Shows a page as `man` lays it out, through its pager on a terminal. Without a `man` that reads a page from a pipe, the help is what a person can read. */
function showPage({ text }: ManPage, command: Command, context: CommandContext): void {
  const { stdout, stderr } = context;
  const { MAN_KEEP_FORMATTING: _, ...env } = context.env;
  const out = stdout.isTerminal ? 'inherit' : 'pipe';
  const shown = spawnSync('man', ['-l', '-'], {
    input: text,
    stdio: ['pipe', out, out],
    env,
    encoding: 'utf8',
    maxBuffer: maxPageBytes,
  });
  if (shown.status === 0 && out === 'pipe') stdout.write(Shown.cleaned(shown.stdout, 'laid out'));
  if (shown.status === 0 || (shown.status !== null && out === 'inherit')) return;
  stderr.write(say`man cannot show the page here, so these are the options; --out <dir> writes the page\n`);
  writePaged(helpOf(command), context);
}
