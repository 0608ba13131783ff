/** Decides which session a request to end may end. */

import type { SessionRecord, SessionRecords } from './session-records.ts';

/**
 * The running session that a request to end names: the asker's own, or a child that was registered under its approval, whose own
 * credential died with its process (docs/referee.md "Requests"). Null for any other.
 */
export function sessionToEnd(
  asker: SessionRecord,
  child: string | undefined,
  records: SessionRecords,
): SessionRecord | null {
  if (child === undefined) return asker;
  const record = records.find(child);
  return record?.status === 'running' && record.parent === asker.serial ? record : null;
}
