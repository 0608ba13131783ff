/** How a child asks its parent for the approval of a call with `approvals/ask`, and the parent's reply. */

import { type ApprovalAnswer, type ApprovalOption, type AskedApproval, decodeAskedApproval } from './approval.ts';
import { asJsonObject, asStrings, isFiniteNumber, type JsonObject, oneOf } from './json-object.ts';

/** What is asked. */
export interface PassedQuestion extends Omit<AskedApproval, 'capsule'> {
  /** The capsules below the child that asks, down to the one whose call it is; empty for a call of the child itself. */
  readonly below: readonly string[];
}

/** The answer of a person, and as whom they are known at the session that asked them. */
export interface PassedAnswer extends Pick<ApprovalAnswer, 'decision' | 'option' | 'note'> {
  readonly by: string;
}

/** In place of a person, where the parent itself denies the call. */
export const noPerson = 'parent';

/** The params of `approvals/ask`. */
export type ParentRequest =
  /** Whether anybody can be asked. */
  | { readonly kind: 'look' }
  | { readonly kind: 'ask'; readonly question: PassedQuestion }
  /** Nobody needs to answer any more. */
  | { readonly kind: 'withdraw'; readonly id: string };

export type ParentReply =
  /** Somebody can be asked. */
  | { readonly kind: 'open' }
  /** Nobody is asked; `reason` is a clause for a person. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Nobody has answered so far: ask again. */
  | { readonly kind: 'waits' }
  /** `seal` shows that the parent has said it. */
  | ({ readonly kind: 'answered'; readonly seal: string } & PassedAnswer);

/** Levels of delegation that a path can have. */
const maxBelow = 16;
/** UTF-16 units of an effect as JSON: more than a call may have that is shown whole. */
const maxEffect = 256 * 1024;
const maxRule = 256;
const maxReason = 1000;
const maxBy = 1024;
const maxNote = 2000;
const idShape = /^apr_[0-9A-Za-z_]{1,80}$/;
const digestShape = /^sha256:[0-9a-f]{64}$/;
const nameShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
/** Whatever else a call is, this version does not know how to show it. */
const shownKinds = ['command', 'tool', 'spawn', 'path', 'request'] as const;

export function encodeParentRequest(request: ParentRequest): JsonObject {
  if (request.kind !== 'ask') return { ...request };
  const { expiresAtMs: expires_at, ...question } = request.question;
  return { kind: 'ask', ...question, expires_at };
}

/** Returns null for anything else. Unknown keys are ignored. */
export function parseParentRequest(params: unknown): ParentRequest | null {
  const fields = asJsonObject(params);
  const id = fields?.['id'];
  switch (fields?.['kind']) {
    case 'look':
      return { kind: 'look' };
    case 'withdraw':
      return typeof id === 'string' && idShape.test(id) ? { kind: 'withdraw', id } : null;
    case 'ask': {
      const question = questionIn(fields);
      return question === null ? null : { kind: 'ask', question };
    }
    default:
      return null;
  }
}

function questionIn(fields: JsonObject): PassedQuestion | null {
  const asked = decodeAskedApproval(fields);
  const below = asStrings(fields['below']);
  if (asked === null || below === null || below.length > maxBelow || !below.every((name) => nameShape.test(name))) {
    return null;
  }
  const { id, digest, expiresAtMs, rule, effect, options } = asked;
  const isKnown = oneOf(effect['kind'], shownKinds) !== null;
  if (!idShape.test(id) || !digestShape.test(digest) || rule.length > maxRule || !isFiniteNumber(expiresAtMs)) {
    return null;
  }
  if (!isKnown || JSON.stringify(effect).length > maxEffect) return null;
  return { id, digest, expiresAtMs, rule, effect, options, below };
}

export function encodeParentReply(reply: ParentReply): JsonObject {
  return { ...reply };
}

/** Returns null for anything else. */
export function decodeParentReply(result: unknown): ParentReply | null {
  const fields = asJsonObject(result);
  switch (fields?.['kind']) {
    case 'open':
      return { kind: 'open' };
    case 'waits':
      return { kind: 'waits' };
    case 'refused': {
      const { reason } = fields;
      return typeof reason === 'string' && reason.length <= maxReason ? { kind: 'refused', reason } : null;
    }
    case 'answered':
      return answerIn(fields);
    default:
      return null;
  }
}

function answerIn(fields: JsonObject): ParentReply | null {
  const { note, by, seal } = fields;
  const decision = oneOf(fields['decision'], ['allow', 'deny']);
  const option = oneOf(fields['option'], passedOptions);
  if (decision === null || option === null || typeof by !== 'string' || by.length > maxBy) return null;
  if (typeof seal !== 'string' || (note !== null && (typeof note !== 'string' || note.length > maxNote))) return null;
  return { kind: 'answered', decision, option, note: note ?? null, by, seal };
}

/** How far an `allow` goes for a call of a child: what is kept for every session of a manifest is not passed on. */
export const passedOptions = ['once', 'session'] as const satisfies readonly ApprovalOption[];
