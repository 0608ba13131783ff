/** Leads from a command line to the command that it asks for, by the parser of command lines. */

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, CommanderError } from 'commander';

import { version } from '@svc/kit/version.ts';
import { redactHandles } from '@svc/kit/diagnostics/handle-id.ts';
import type { TaskFlags } from '../run/first-minute/open-task.ts';
import type { Conversation } from '../run/first-minute/task-command.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { sayLines } from '@svc/terminal/screen/shown.ts';
import { commands } from './commands.ts';

/** Exit code of a wrong command line (docs/cli.md "The command line"). */
const usageError = 2;

/** Ask for nothing that a command has. */
const versionFlags: ReadonlySet<string> = new Set(['-V', '--version']);
const rootFlags: ReadonlySet<string> = new Set([...versionFlags, '-h', '--help']);

/** Runs the command of a line and sets the exit code of the process; rejects with what the command failed with. */
export async function runProgram(line: readonly string[], context: CommandContext): Promise<void> {
  let root: Command | null = null;
  try {
    root = (await program(line, context)).hook('preAction', (_, command) => nameManifest(command, context));
    await root.parseAsync(line, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Commander has printed its own message, or the help that was asked for.
    process.exitCode = error.exitCode === 0 ? 0 : usageError;
    if (error.exitCode !== 0) context.stderr.write((await import('./as-a-task.ts')).nextStep(error, line, root));
  }
}

/** `svc --write` and the like, without a task on a terminal: a chat with these flags. */
async function talk(flags: TaskFlags, context: CommandContext): Promise<number> {
  const { talkWith } = await import('../chat/chat.ts');
  const options = { ...flags, manifest: './svc.yaml', envFile: true, history: true };
  const usage = (problem: string): never => {
    throw new Error(problem);
  };
  return await talkWith(undefined, options, { context, usage, message: null });
}

/** `svc -p --continue "<text>"` and the like. */
const goOn: Conversation['goOn'] = async (text, options, around) => {
  const { continueLast } = await import('../chat/chat.ts');
  await continueLast(text, { ...options, history: true }, around);
};

/** `--manifest <folder>` stands for the `svc.yaml` in it. */
function nameManifest(command: Command, { cwd }: CommandContext): void {
  const named: unknown = command.getOptionValue('manifest');
  if (typeof named !== 'string' || command.getOptionValueSource('manifest') !== 'cli') return;
  const isFolder = statSync(resolve(cwd, named), { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder) command.setOptionValueWithSource('manifest', `${named.replace(/\/+$/, '')}/svc.yaml`, 'cli');
}

/** Makes only the command asked for; without one that exists, all of them, for the help and its suggestions. */
async function program(args: readonly string[], context: CommandContext): Promise<Command> {
  const root = new Command('svc')
    .description('Runs AI agents as capsules.')
    .version(version)
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => context.stdout.write(sayLines(text)),
      writeErr: (text) => context.stderr.write(sayLines(redactHandles(text))),
    })
    .exitOverride();
  const [first = ''] = args;
  // No command is empty, begins with a dash or has a blank in it: this is a task, or a flag of one.
  if (args.length > 0 && /^$|^-|\s/.test(first) && !rootFlags.has(first))
    return (await import('../run/first-minute/task-command.ts'))
      .taskCommand(context, { talk, goOn })
      .copyInheritedSettings(root);
  const asked = commands.filter(({ name }) => name === first);
  const wanted = asked.length > 0 || versionFlags.has(first) ? asked : commands;
  if (wanted === commands) (await import('./help/examples.ts')).addFirstSteps(root);
  const makers = await Promise.all(wanted.map(async ({ group, load }) => [group, await load()] as const));
  for (const [group, make] of makers) {
    const command = make(context).copyInheritedSettings(root);
    for (const below of command.commands) below.copyInheritedSettings(root);
    if (args.includes('--help') || args.includes('-h')) (await import('./help/examples.ts')).addExamples(command);
    root.addCommand(command.helpGroup(group ?? ''), { hidden: group === null });
  }
  return root;
}
