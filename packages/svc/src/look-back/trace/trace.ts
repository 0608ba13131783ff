/** The command `svc trace`: looks back on sessions. */

import { Command } from 'commander';

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { diffCommand } from './diff.ts';
import { exportCommand } from './export.ts';
import { importCommand } from './import.ts';
import { listCommand } from './list.ts';
import { removeCommand } from './remove.ts';
import { showCommand } from './show.ts';
import { stepsCommand } from './steps.ts';

/** `svc trace`: what sessions of this workspace did, by their journals (docs/cli.md "svc trace"). */
export function traceCommand(context: CommandContext): Command {
  const command = new Command('trace').description('Look back on the sessions of this workspace.');
  for (const make of [
    listCommand,
    stepsCommand,
    showCommand,
    diffCommand,
    exportCommand,
    importCommand,
    removeCommand,
  ]) {
    command.addCommand(make(context));
  }
  return command;
}
