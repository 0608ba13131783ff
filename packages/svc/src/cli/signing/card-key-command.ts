/** The command `svc key card`: makes the key that agent cards are signed with. */

import { Command } from 'commander';

import { makeCardKey } from '../../capsule/card-key.ts';
import type { CommandContext } from '../command-context.ts';
import { jsonLine, say } from '../terminal/shown.ts';

/** Makes the key of a user who has none, and says by what its signatures are verified (docs/cli.md "svc key"). */
export function cardKeyCommand(context: CommandContext): Command {
  return new Command('card')
    .description('Make the key that agent cards are signed with, unless there is one, and show its public half.')
    .option('--json', 'write one JSON object')
    .action((options: { readonly json?: boolean }) => {
      const { key, isNew } = makeCardKey(context.home);
      const { path, kid, publicJwk: jwk } = key;
      if (options.json === true) {
        context.stdout.write(jsonLine({ kid, path, is_new: isNew, jwk }));
        return;
      }
      const about = isNew ? 'made: capsules that start from now on sign their agent cards with it' : 'there already';
      context.stderr.write(say`${path}: ${about}\nClients verify the cards with its public half:\n`);
      context.stdout.write(jsonLine(jwk));
    });
}
