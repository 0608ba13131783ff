/** Makes all commands at once, for what is said of them as a whole. */

import { Command } from 'commander';

import type { CommandContext } from './command-context.ts';
import { commands } from './commands.ts';

/** A command with the words that lead to it: `trace show`; empty for `svc` itself. */
export interface PlacedCommand {
  readonly path: string;
  readonly command: Command;
}

/** The program with every command. What begins with `__` is for programs alone. */
export async function commandTree(context: CommandContext): Promise<Command> {
  const root = new Command('svc')
    .description('Runs AI agents as capsules.')
    .option('-V, --version', 'print the version');
  for (const { load } of commands) {
    const command = (await load())(context);
    if (!isHidden(command)) root.addCommand(command);
  }
  return root;
}

export function isHidden(command: Command): boolean {
  return command.name().startsWith('__');
}

/** A command and all below it, in the order in which the help lists them. */
export function commandsBelow(command: Command, path = ''): readonly PlacedCommand[] {
  const below = command.commands.flatMap((each) =>
    commandsBelow(each, path === '' ? each.name() : `${path} ${each.name()}`),
  );
  return [{ path, command }, ...below];
}
