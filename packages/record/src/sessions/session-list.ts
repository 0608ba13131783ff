/** Lists recorded sessions. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { SessionFacts } from './listed-session.ts';
import { holdSession, sessionIds } from './recorded-sessions.ts';
import { readRunningRecords } from './running-record.ts';
import { factsOf } from './session-facts.ts';
import { linesLeftOut } from './trace-events.ts';

/** The newest first. It leaves out one that it cannot read; `tell` gets the reason, and a notice of lines that were passed over. */
export function sessionList(
  folders: readonly string[],
  { home, tell }: { readonly home: string; readonly tell: (found: Diagnostic) => void },
): readonly SessionFacts[] {
  const running = new Set<string>(readRunningRecords(home).map(({ session_id: id }) => id));
  const facts = folders.flatMap((folder) =>
    sessionIds(folder).flatMap((id) => factsIn(folder, { id, isRunning: running.has(id), tell })),
  );
  return facts.toSorted(
    (a, b) => (b.started_at_ms ?? 0) - (a.started_at_ms ?? 0) || (a.session_id < b.session_id ? 1 : -1),
  );
}

function factsIn(
  folder: string,
  {
    id,
    isRunning,
    tell,
  }: { readonly id: string; readonly isRunning: boolean; readonly tell: (found: Diagnostic) => void },
): readonly SessionFacts[] {
  try {
    const directory = holdSession(folder, id);
    try {
      const facts = factsOf(id, directory, isRunning);
      if (facts.unread_lines > 0) tell(linesLeftOut(id, facts.unread_lines));
      return [facts];
    } finally {
      directory.close();
    }
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    tell(error);
    return [];
  }
}
