/** A call that waits for a person: what clients are shown of it, and how they answer. */

import { asJsonObject, asStrings, isJsonObject, type JsonObject } from './json-object.ts';

/** What a question for an approval has beside its prompt. */
export interface AskedApproval {
  /** `apr_`, the hex of its task's id, and the number of the question in the task. */
  readonly id: string;
  /** `sha256:` and the hash of the canonical JSON of the whole call. An answer repeats it, so that it is for what was shown. */
  readonly digest: string;
  /** Unix milliseconds; from then on the call is denied. */
  readonly expiresAtMs: number;
  /** The names of the capsules from the one that a person started to the one that asks. */
  readonly capsule: readonly string[];
  /** What decided that a person is asked, such as `approvals.rules[1]`. */
  readonly rule: string;
  /** What would happen. Of a long one only its beginning. Others wrote it. */
  readonly effect: JsonObject;
  readonly options: readonly ApprovalOption[];
}

/** `once`: this call. `session`: the same call in this session, to the byte. `manifest`: in every session of its manifest. */
export const approvalOptions = ['once', 'session', 'manifest'] as const;

export type ApprovalOption = (typeof approvalOptions)[number];

/** An approval that waits. */
export interface OpenApproval extends AskedApproval {
  readonly taskId: string;
  readonly prompt: string;
}

export const decisions = ['allow', 'deny'] as const;

export interface ApprovalAnswer {
  readonly id: string;
  readonly digest: string;
  readonly decision: (typeof decisions)[number];
  /** How far an `allow` goes. */
  readonly option: ApprovalOption;
  /** For the model, where the call is denied. */
  readonly note: string | null;
}

/** How an approval was settled. */
export interface SettledApproval {
  readonly id: string;
  readonly decision: 'allow' | 'deny' | 'expired' | 'canceled';
  /** As whom the one who answered is known; `clock` and `task` for the last two decisions. */
  readonly by: string;
  /** Unix milliseconds. */
  readonly atMs: number;
}

export type ParsedApprovalAnswer =
  | { readonly kind: 'answer'; readonly answer: ApprovalAnswer }
  /** `problem` names the field. */
  | { readonly kind: 'invalid'; readonly problem: string };

/** The most characters of a note. */
const maxNote = 2000;

/** The params of `approvals/answer`. Unknown keys are ignored. */
export function parseApprovalAnswer(params: unknown): ParsedApprovalAnswer {
  if (!isJsonObject(params)) return { kind: 'invalid', problem: 'params must be an object' };
  const { id, digest, option = 'once', note = null } = params;
  const decision = decisions.find((known) => known === params['decision']);
  const far = approvalOptions.find((known) => known === option);
  if (typeof id !== 'string') return { kind: 'invalid', problem: 'id must be a string' };
  if (typeof digest !== 'string') return { kind: 'invalid', problem: 'digest must be a string' };
  if (decision === undefined) return { kind: 'invalid', problem: 'decision must be allow or deny' };
  if (far === undefined)
    return { kind: 'invalid', problem: `option must be ${approvalOptions.slice(0, -1).join(', ')} or manifest` };
  if (note !== null && (typeof note !== 'string' || note.length > maxNote)) {
    return { kind: 'invalid', problem: `note must be a string of at most ${maxNote} characters` };
  }
  return { kind: 'answer', answer: { id, digest, decision, option: far, note: note?.toWellFormed() ?? null } };
}

export function encodeApprovalAnswer({ note, ...answer }: ApprovalAnswer): JsonObject {
  return { ...answer, ...(note === null ? {} : { note }) };
}

export function encodeAskedApproval(asked: AskedApproval): JsonObject {
  const { id, digest, expiresAtMs: expires_at, capsule, rule, effect, options } = asked;
  return { id, digest, expires_at, capsule, rule, effect, options };
}

/** Returns null for what is no approval. */
export function decodeAskedApproval(value: unknown): AskedApproval | null {
  const fields = asJsonObject(value);
  const effect = asJsonObject(fields?.['effect']);
  if (fields === null || effect === null) return null;
  const { id, digest, expires_at: expiresAtMs, rule } = fields;
  if (typeof id !== 'string' || typeof digest !== 'string' || typeof expiresAtMs !== 'number') return null;
  const offered = asStrings(fields['options']) ?? [];
  const options = approvalOptions.filter((option) => offered.includes(option));
  const capsule = asStrings(fields['capsule']) ?? [];
  return { id, digest, expiresAtMs, capsule, rule: typeof rule === 'string' ? rule : '', effect, options };
}

/** One of the result of `approvals/list`. */
export function encodeOpenApproval({ taskId: task_id, prompt, ...asked }: OpenApproval): JsonObject {
  const { id, ...rest } = encodeAskedApproval(asked);
  return { kind: 'approval', id, task_id, prompt, ...rest };
}

/** The approvals in a result of `approvals/list`; what cannot be read as one is left out. */
export function decodeOpenApprovals(result: unknown): readonly OpenApproval[] {
  const listed = asJsonObject(result)?.['approvals'];
  return (Array.isArray(listed) ? listed : []).flatMap((value: unknown) => {
    const asked = decodeAskedApproval(value);
    const { task_id: taskId, prompt } = asJsonObject(value) ?? {};
    return asked === null || typeof taskId !== 'string' || typeof prompt !== 'string'
      ? []
      : [{ ...asked, taskId, prompt }];
  });
}

/** The result of `approvals/answer`, and the data of the fault that it was settled before. */
export function encodeSettledApproval({ id, decision, by, atMs: at }: SettledApproval): JsonObject {
  return { id, state: 'settled', decision, by, at };
}

export function decodeSettledApproval(value: unknown): Pick<SettledApproval, 'decision' | 'by'> | null {
  const { decision, by } = asJsonObject(value) ?? {};
  const known = (['allow', 'deny', 'expired', 'canceled'] as const).find((each) => each === decision);
  return known === undefined || typeof by !== 'string' ? null : { decision: known, by };
}
