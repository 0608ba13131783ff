/** The command `svc completion`: writes the completion script of a shell. */

import { Argument, Command } from 'commander';

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine, Shown } from '@svc/terminal/screen/shown.ts';
import { type CommandEntry, commandTree } from '../command-tree.ts';
import { commandTable } from './command-table.ts';
import { completionScript, installing, type ShellName, shells } from './scripts.ts';

/** `svc completion <shell>`: commands, options and choices are in the script; sessions, tasks, codes and artifacts it asks `svc __complete` for. */
export const completionCommand =
  (commands: readonly CommandEntry[]) =>
  (context: CommandContext): Command =>
    new Command('completion')
      .description('Write a script with which a shell completes the arguments of svc.')
      .addArgument(new Argument('<shell>', 'which shell').choices(shells))
      .option('--json', 'write one JSON object')
      .addHelpText(
        'after',
        `\nTo install it:\n${shells.map((shell) => `  ${shell.padEnd(5)} ${installing[shell]}`).join('\n')}`,
      )
      .action(async (shell: ShellName, options: { readonly json?: boolean }) => {
        const script = completionScript(shell, commandTable(await commandTree(commands, context)));
        context.stdout.write(options.json === true ? jsonLine({ shell, script }) : Shown.cleaned(script, 'exact'));
      });
