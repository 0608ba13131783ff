/** The command `svc serve`: a capsule for a program that speaks to its children over their standard streams. */

import { Command } from 'commander';

import type { CommandContext } from '../command-context.ts';
import { acpCommand } from './acp.ts';
import { mcpCommand } from './mcp.ts';

/** `svc serve`: one command below it for each protocol (docs/cli.md "svc serve"). */
export function serveCommand(context: CommandContext): Command {
  return new Command('serve')
    .description('Serve a capsule on standard input and output, to the program that starts this.')
    .addCommand(mcpCommand(context))
    .addCommand(acpCommand(context));
}
