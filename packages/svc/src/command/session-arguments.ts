/** The arguments of commands that look for recorded sessions, and the journal that they name. */

import {
  type OpenJournal,
  withJournal as openQuietly,
  type WorkspaceOption,
} from '@svc/record/sessions/recorded-sessions.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';

export const manifestFlag = '--manifest <path>';
export const manifestHelp = 'the manifest of the workspace whose sessions are meant';
export const sessionHelp =
  'session id, at least 4 of its last characters, the path of a session folder or of an export; the newest when absent';

/** Opens the journal of the session that is meant while `use` runs, and warns when commands could have written it. Throws as `withJournal` of the record does. */
export async function withJournal<Value>(
  context: CommandContext,
  wanted: string | undefined,
  options: WorkspaceOption,
  use: (journal: OpenJournal) => Promise<Value> | Value,
): Promise<Value> {
  return await openQuietly(context, wanted, options, async (journal) => {
    if (journal.warnings.length > 0) context.stderr.write(render(journal.warnings, context));
    return await use(journal);
  });
}
