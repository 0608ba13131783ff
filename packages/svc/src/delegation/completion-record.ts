import type { DelegationId } from '@svc/protocol/ids.ts';

export type CompletionStatus = 'ok' | 'error' | 'crashed' | 'terminated';

/** How a delegated child ended. What it wrote is never carried (D2 "Completion record"). */
export interface Completion {
  readonly delegation_id: DelegationId;
  readonly capsule_name: string;
  readonly capsule_version: string;
  /** The child's session. */
  readonly session_id: string;
  readonly status: CompletionStatus;
  /** Relative to the child's workdir; absent when no result was written. */
  readonly result_path?: string;
  /** The child's directory, absolute. */
  readonly workdir: string;
  readonly duration_ms: number;
  /** Exit status and last lines of standard error, on `crashed` or `terminated`. */
  readonly detail?: string;
}

/** What `completion.json` in the child's directory holds. Whoever polls it waits for `delivered` or `delivery_error`. */
export interface CompletionRecord extends Completion {
  readonly reported_by: 'child' | 'launcher';
  readonly delivered: boolean;
  /** Why it could not be delivered, when that was tried. */
  readonly delivery_error?: string;
}

export const completionFile = 'completion.json';

/** The completion as a message carries it: compact JSON, keys in the order of the document. */
export function encodeCompletion(completion: Completion): string {
  return JSON.stringify(ordered(completion));
}

/** The contents of `completion.json`. */
export function encodeCompletionRecord(record: CompletionRecord): string {
  const { reported_by, delivered, delivery_error } = record;
  const delivery = delivery_error === undefined ? { delivered } : { delivered, delivery_error };
  return `${JSON.stringify({ ...ordered(record), reported_by, ...delivery }, null, 2)}\n`;
}

function ordered(completion: Completion): Completion {
  const { delegation_id, capsule_name, capsule_version, session_id, status } = completion;
  const { result_path, workdir, duration_ms, detail } = completion;
  return {
    delegation_id,
    capsule_name,
    capsule_version,
    session_id,
    status,
    ...(result_path === undefined ? {} : { result_path }),
    workdir,
    duration_ms,
    ...(detail === undefined ? {} : { detail }),
  };
}
