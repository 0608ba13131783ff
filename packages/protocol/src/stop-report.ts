/** What a capsule answers when it is asked to stop. */

import { asJsonObject, asStrings } from './json-object.ts';

/** What `session/stop` answers (docs/protocol.md "session/stop"). */
export interface StopReport {
  readonly sessionId: string;
  /** Ids of the tasks that it canceled. */
  readonly canceled: readonly string[];
  /** What the session leaves running. */
  readonly residue: readonly unknown[];
}

export function encodeStopReport({ sessionId, canceled, residue }: StopReport): unknown {
  return { session_id: sessionId, canceled, residue };
}

/** Returns null for anything else. */
export function decodeStopReport(result: unknown): StopReport | null {
  const { session_id: sessionId, canceled: named, residue } = asJsonObject(result) ?? {};
  const canceled = asStrings(named);
  if (typeof sessionId !== 'string' || canceled === null || !Array.isArray(residue)) return null;
  return { sessionId, canceled, residue };
}
