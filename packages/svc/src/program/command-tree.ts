/** Makes all commands at once, for what is said of them as a whole. */

import { Command } from 'commander';

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { commands } from './commands.ts';
import { addExamples, addFirstSteps } from './help/examples.ts';
import { isHidden } from './placed-commands.ts';

/** The program with every command. What begins with `__` is for programs alone. */
export async function commandTree(context: CommandContext): Promise<Command> {
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
