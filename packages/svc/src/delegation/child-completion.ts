import { printable } from '@svc/kit/diagnostics/printable.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { completionFile, type Completion } from './completion-record.ts';
import { parseJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';

/** What a child recorded of its own end, without what its launcher knows better. */
export interface ChildReport extends Pick<Completion, 'result_path' | 'duration_ms'> {
  readonly status: 'ok' | 'error';
  /** Whether the child knew that it was. */
  readonly delivered: boolean;
  /** Why it could not be delivered; null when the child was gone before it had tried. */
  readonly undelivered: string | null;
}

const mostBytes = 64 * 1024;
const longestResultPath = 1024;
const longestReason = 1000;

/** Whose record it has to be. */
export interface DelegationIds {
  readonly delegationId: string;
  readonly sessionId: string;
}

/**
 * What a child left in `completion.json`; null when that is not its own record of this delegation. The directory, by its canonical path,
 * belongs to the child's agent, who does not know the id of the delegation; no link on the way there is followed.
 */
export function readChildReport(directory: string, ids: DelegationIds): ChildReport | null {
  const fields = readRecord(directory, ids);
  if (fields?.['reported_by'] !== 'child') return null;
  const { status, duration_ms: durationMs, result_path: resultPath, delivery_error: reason } = fields;
  if (status !== 'ok' && status !== 'error') return null;
  if (typeof durationMs !== 'number' || !(durationMs >= 0)) return null;
  const result = typeof resultPath === 'string' && isResultPath(resultPath) ? { result_path: resultPath } : {};
  const undelivered = typeof reason === 'string' ? printable(reason.slice(0, longestReason)) : null;
  const delivered = fields['delivered'] === true;
  return { status, duration_ms: Math.round(durationMs), delivered, undelivered, ...result };
}

/** Whether a child's record says what became of it: nobody who polls waits any longer, so it must not change its end again. */
export function isSettled({ delivered, undelivered }: ChildReport): boolean {
  return delivered || undelivered !== null;
}

/** Whether the parent has recorded the end of this delegation itself, as it does before it signals the child. Reads as `readChildReport` does. */
export function isEndedByLauncher(directory: string, ids: DelegationIds): boolean {
  return readRecord(directory, ids)?.['reported_by'] === 'launcher';
}

/** The status that a child told its parent; `error` when it told none. */
export function statusToldIn(text: string): 'ok' | 'error' {
  return parseJsonObject(text)?.['status'] === 'ok' ? 'ok' : 'error';
}

function readRecord(directory: string, { delegationId, sessionId }: DelegationIds): JsonObject | null {
  const text = readFileOf(directory);
  const fields = text === null ? null : parseJsonObject(text);
  return fields?.['delegation_id'] === delegationId && fields['session_id'] === sessionId ? fields : null;
}

function isResultPath(path: string): boolean {
  const isShort = path !== '' && path.length <= longestResultPath;
  return isShort && !path.includes('\0') && !path.split('/').some((part) => part === '' || part === '..');
}

/** Null when it is not there, behind or itself a link, no regular file, or too large. */
function readFileOf(directory: string): string | null {
  return unlessRefused(() => {
    const held = HeldDirectory.open(directory);
    try {
      return held.readFile(completionFile, mostBytes)?.toString('utf8') ?? null;
    } finally {
      held.close();
    }
  }, null);
}
