/** Makes all commands at once, for what is said of them as a whole. */

import { Command } from 'commander';

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { addExamples, addFirstSteps } from './help/examples.ts';
import { isHidden } from './placed-commands.ts';

/** A command, loaded once it is asked for. */
export interface CommandEntry {
  readonly name: string;
  readonly load: () => Promise<(context: CommandContext) => Command>;
}

/** The program with every command. What begins with `__` is for programs alone. */
export async function commandTree(commands: readonly CommandEntry[], context: CommandContext): Promise<Command> {
  const root = new Command('svc')
    .description('Runs AI agents as capsules.')
    .option('-V, --version', 'print the version');
  addFirstSteps(root);
  for (const { load } of commands) {
    const command = (await load())(context);
    if (isHidden(command)) continue;
    addExamples(command);
    root.addCommand(command);
  }
  return root;
}
