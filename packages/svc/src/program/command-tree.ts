/** Makes all commands at once, for what is said of them as a whole. */

import { Command } from 'commander';

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { addExamples, addFirstSteps } from './help/examples.ts';

/** The groups of the help. */
export type CommandGroup =
  | 'Give work:'
  | 'See what runs:'
  | 'Look back:'
  | 'Use tools and other artifacts:'
  | 'Write, sign and publish them:'
  | 'This machine, and svc itself:';

/** A command, loaded once it is asked for. */
export interface CommandEntry {
  readonly name: string;
  /** What it is for: the help lists the commands of a group together. A command for programs alone has none. */
  readonly group: CommandGroup | null;
  readonly load: () => Promise<(context: CommandContext) => Command>;
}

/** The program with every command. What begins with `__` is for programs alone. */
export async function commandTree(commands: readonly CommandEntry[], context: CommandContext): Promise<Command> {
  const root = new Command('svc')
    .description('Runs AI agents as capsules.')
    .option('-V, --version', 'print the version');
  addFirstSteps(root);
  for (const { group, load } of commands) {
    const command = (await load())(context);
    if (group === null) continue;
    addExamples(command);
    root.addCommand(command.helpGroup(group));
  }
  return root;
}
