/** The command `svc token rm`: takes a door token away. */

import { Command } from 'commander';

import { removeToken } from '../../listener/tokens/change-tokens.ts';
import { tokenPlace } from '../../listener/tokens/token-place.ts';
import type { CommandContext } from '../command-context.ts';
import { jsonLine, say } from '../terminal/shown.ts';

/** `svc token rm <name>`: capsules that run refuse it from the next request on, and end its streams within 5 seconds. */
export function removeCommand(context: CommandContext): Command {
  return new Command('rm')
    .description('Take a token away; its open streams end within 5 seconds.')
    .argument('<name>', 'as svc token ls has it')
    .option('--json', 'write one JSON object')
    .action(async (name: string, options: { readonly json?: boolean }) => {
      await removeToken(tokenPlace(context.home, process.getuid?.()), name);
      if (options.json === true) context.stdout.write(jsonLine({ name }));
      else context.stderr.write(say`removed ${name}\n`);
    });
}
