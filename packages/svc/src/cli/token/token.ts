/** The command `svc token`: says who may reach the capsules of this user, and for what. */

import { Command } from 'commander';

import type { CommandContext } from '../command-context.ts';
import { addCommand } from './add.ts';
import { listCommand } from './list.ts';
import { removeCommand } from './remove.ts';

/** `svc token`: tokens with which clients reach the doors of capsules (docs/doors.md "Tokens"). */
export function tokenCommand(context: CommandContext): Command {
  const command = new Command('token').description('Give clients tokens for the doors of your capsules.');
  for (const make of [addCommand, listCommand, removeCommand]) command.addCommand(make(context));
  return command;
}
