/** The message that ends a delegation, and the record of it that stays in the workdir. */

import type { DelegationId } from './ids.ts';
import { asJsonObject, isFiniteNumber, oneOf, stringOr, type JsonObject } from './json-object.ts';
import { parseJsonText } from './json-text.ts';

const completionStatuses = ['ok', 'error', 'crashed', 'terminated'] as const;
export type CompletionStatus = (typeof completionStatuses)[number];
const reporters = ['child', 'launcher'] as const;

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

/** What `completion.json` in the child's directory holds. A reader that polls it waits for `delivered` or `delivery_error`. */
export interface CompletionRecord extends Completion {
  readonly reported_by: (typeof reporters)[number];
  readonly delivered: boolean;
  /** Why it could not be delivered, when that was tried. */
  readonly delivery_error?: string;
}

export const completionFile = 'completion.json';

/** In characters, as in bytes: a longer text is not read. */
export const maxCompletion: number = 64 * 1024;

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

export interface DecodedCompletion {
  readonly delegationId: string | null;
  readonly capsuleName: string | null;
  readonly capsuleVersion: string | null;
  readonly sessionId: string | null;
  readonly status: CompletionStatus | null;
  readonly resultPath: string | null;
  readonly workdir: string | null;
  /** At least 0. */
  readonly durationMs: number | null;
  readonly detail: string | null;
  /** This and the next are of `completion.json` alone. */
  readonly reportedBy: (typeof reporters)[number] | null;
  readonly delivered: boolean;
  readonly deliveryError: string | null;
}

/**
 * What a completion says, of a message or of `completion.json`: null for each key that is missing or of another form, and for what is no JSON
 * object or is longer than a completion may be.
 */
export function decodeCompletion(text: string): DecodedCompletion | null {
  if (text.length > maxCompletion) return null;
  const parsed = parseJsonText(text);
  const fields = parsed.kind === 'json' ? asJsonObject(parsed.value) : null;
  return fields === null ? null : completionOf(fields);
}

function completionOf(fields: JsonObject): DecodedCompletion {
  const { duration_ms: durationMs } = fields;
  return {
    delegationId: stringOr(fields['delegation_id'], null),
    capsuleName: stringOr(fields['capsule_name'], null),
    capsuleVersion: stringOr(fields['capsule_version'], null),
    sessionId: stringOr(fields['session_id'], null),
    status: oneOf(fields['status'], completionStatuses),
    resultPath: stringOr(fields['result_path'], null),
    workdir: stringOr(fields['workdir'], null),
    durationMs: isFiniteNumber(durationMs) && durationMs >= 0 ? durationMs : null,
    detail: stringOr(fields['detail'], null),
    reportedBy: oneOf(fields['reported_by'], reporters),
    delivered: fields['delivered'] === true,
    deliveryError: stringOr(fields['delivery_error'], null),
  };
}
