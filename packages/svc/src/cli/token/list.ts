/** The command `svc token ls`: lists door tokens, never the tokens themselves. */

import { Command } from 'commander';

import { systemClock } from '@svc/kit/system-clock.ts';
import { readTokens } from '../../listener/tokens/token-file.ts';
import { tokenPlace } from '../../listener/tokens/token-place.ts';
import type { CommandContext } from '../command-context.ts';
import { type Column, renderTable } from '../table.ts';
import { jsonLine, say } from '../terminal/shown.ts';
import { shownMinute } from '../trace/shown-values.ts';

const columns: readonly Column[] = [
  { title: 'NAME', keeps: 12 },
  { title: 'SCOPES' },
  { title: 'CAPSULE', keeps: 8 },
  { title: 'EXPIRES' },
];

/** `svc token ls`: in the order in which they were added, those that have expired among them. */
export function listCommand(context: CommandContext): Command {
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
