/** The command `svc token`: says who may reach the capsules of this user, and for what. */

import { Command } from 'commander';

import { readTokens } from '@svc/doors/callers/token-file.ts';
import { tokenPlace } from '@svc/doors/callers/token-place.ts';
import { removeToken } from '@svc/doors/callers/change-tokens.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { shownMinute } from '@svc/kit/shown-values.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { type Column, renderTable } from '@svc/terminal/screen/table.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { addCommand } from './add.ts';

/** `svc token`: tokens with which clients reach the doors of capsules (docs/doors.md "Tokens"). */
export function tokenCommand(context: CommandContext): Command {
  const command = new Command('token').description('Give clients tokens for the doors of your capsules.');
  for (const make of [addCommand, listCommand, removeCommand]) command.addCommand(make(context));
  return command;
}

const columns: readonly Column[] = [
  { title: 'NAME', keeps: 12 },
  { title: 'SCOPES' },
  { title: 'CAPSULE', keeps: 8 },
  { title: 'EXPIRES' },
];

/** `svc token ls`: in the order in which they were added, those that have expired among them. */
function listCommand(context: CommandContext): Command {
  return new Command('ls')
    .description('List the tokens that there are.')
    .option('--json', 'write one JSON object per token')
    .action((options: { readonly json?: boolean }) => {
      const now = systemClock.now();
      const tokens = readTokens(tokenPlace(context.home, process.getuid?.())) ?? [];
      const { stdout, stderr } = context;
      if (options.json === true) {
        for (const { sha256: _, ...token } of tokens) {
          stdout.write(jsonLine({ ...token, has_expired: token.expires_at_ms <= now }));
        }
      } else if (tokens.length === 0) {
        stderr.write(say`there are no door tokens; svc token add makes one\n`);
      } else {
        const rows = tokens.map(({ name, scopes, capsule, expires_at_ms: end }) => [
          name,
          scopes.join(','),
          capsule ?? '-',
          end <= now ? 'expired' : shownMinute(end),
        ]);
        stdout.write(renderTable(columns, rows, stdout));
      }
    });
}

/** `svc token rm <name>`: capsules that run refuse it from the next request on, and end its streams within 5 seconds. */
function removeCommand(context: CommandContext): Command {
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
