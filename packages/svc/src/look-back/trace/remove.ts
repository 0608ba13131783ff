/** The command `svc trace rm`: removes recorded sessions. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { removeTree } from '@svc/kit/files/remove-tree.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { isJournalHeld } from '@svc/record/sessions/journal-holder.ts';
import { readRunningRecords } from '@svc/record/sessions/running-record.ts';
import {
  folderOfSession,
  holdSession,
  locateSession,
  type WorkspaceOption,
} from '@svc/record/sessions/recorded-sessions.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { manifestFlag, manifestHelp } from '../../command/session-arguments.ts';

/** `svc trace rm <session…>`: trace, journal and logs; the workdir stays. Nothing is removed unless all that are named can be. */
export function removeCommand(context: CommandContext): Command {
  return new Command('rm')
    .description('Remove what is recorded of sessions; their workdirs stay.')
    .argument('<session...>', 'session ids, or at least 4 of their last characters')
    .option(manifestFlag, manifestHelp, './svc.yaml')
    .option('--json', 'write one JSON object per session')
    .action(async (wanted: readonly string[], options: WorkspaceOption & { readonly json?: boolean }) => {
      const found = new Map(
        wanted.map((each) => {
          const folder = folderOfSession(context, options, each);
          return [locateSession(folder, each), folder] as const;
        }),
      );
      const running = new Set<string>(readRunningRecords(context.home).map(({ session_id: id }) => id));
      for (const [id, folder] of found) {
        // A link, or the folder of somebody else, is refused before anything is gone.
        const directory = holdSession(folder, id);
        const runs = running.has(id) || isJournalHeld(directory, systemClock.now());
        directory.close();
        if (runs) throw stillRunning(id);
      }
      for (const [id, folder] of found) {
        await remove(folder, id);
        context.stdout.write(options.json === true ? jsonLine({ session: id }) : say`${id}\n`);
      }
    });
}

/** `E-IO-001` when something of it is left. */
async function remove(folder: string, id: string): Promise<void> {
  const sessions = HeldDirectory.at(folder);
  try {
    if (sessions.fd === null) return rmSync(join(folder, id), { recursive: true, force: true });
    const left = await removeTree(sessions.entry(id));
    if (left === null) return;
    const path = join(folder, id, left.path);
    throw new Diagnostic('E-IO-001', `the session ${id} cannot be removed whole: ${path} is left: ${left.reason}`, {
      hint: 'check the owner and the permissions of the path, and run the command again',
    });
  } finally {
    sessions.close();
  }
}

function stillRunning(id: string): Diagnostic {
  return new Diagnostic('E-RUN-077', `the session ${id} runs`, { hint: `end it first: svc stop ${id}` });
}
