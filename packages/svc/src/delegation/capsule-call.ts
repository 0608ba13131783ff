import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { postJson } from '@svc/kit/net/post-json.ts';
import { asJsonObject } from '@svc/protocol/json-object.ts';

/** A running child, as its parent speaks to it. */
export interface ChildDoor {
  readonly endpoint: URL;
  /** What the child's listener asks for; null when it asks for nothing. */
  readonly token: Secret | null;
}

export interface CapsuleCall {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** For the whole exchange. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export type CapsuleAnswer =
  | { readonly kind: 'result'; readonly result: unknown }
  /** A JSON-RPC error. */
  | { readonly kind: 'error'; readonly message: string }
  /** Nothing, or nothing that is JSON-RPC. `reason` is a clause for a person. */
  | { readonly kind: 'none'; readonly reason: string };

/** One JSON-RPC call. Never rejects but with the signal's reason. */
export async function callCapsule(door: ChildDoor, call: CapsuleCall): Promise<CapsuleAnswer> {
  const { method, params, headers = {}, ...exchange } = call;
  const outcome = await postJson({
    url: door.endpoint,
    headers: { ...headers, ...(door.token === null ? {} : { authorization: `Bearer ${door.token.reveal()}` }) },
    body: { jsonrpc: '2.0', id: 1, method, params },
    ...exchange,
  });
  if (outcome.kind === 'failed') return { kind: 'none', reason: outcome.reason };
  return answerOf(outcome.body) ?? { kind: 'none', reason: `it answered ${outcome.status}, and not with JSON-RPC` };
}

/** What a body says that answers a JSON-RPC call; null when it is no such answer. */
export function answerOf(body: unknown): Exclude<CapsuleAnswer, { kind: 'none' }> | null {
  const fields = asJsonObject(body);
  if (fields === null || fields['jsonrpc'] !== '2.0') return null;
  if ('result' in fields) return { kind: 'result', result: fields['result'] };
  const message = asJsonObject(fields['error'])?.['message'];
  return typeof message === 'string' ? { kind: 'error', message } : null;
}

/** A task as a child tells of it. */
export interface ToldTask {
  readonly id: string;
  readonly state: string;
  /** Null when there is none. */
  readonly message: string | null;
  /** Text of the artifact of this name; null when there is none. */
  artifact(name: 'prompt' | 'response'): string | null;
}

/** Null for what is no task. */
export function taskOf(result: unknown): ToldTask | null {
  const task = asJsonObject(result);
  const status = asJsonObject(task?.['status']);
  const id = task?.['id'];
  const state = status?.['state'];
  const message = status?.['message'];
  if (typeof id !== 'string' || typeof state !== 'string') return null;
  const artifacts: unknown = task?.['artifacts'];
  return {
    id,
    state,
    message: typeof message === 'string' ? message : null,
    artifact: (name) => artifactText(Array.isArray(artifacts) ? artifacts : [], name),
  };
}

function artifactText(artifacts: readonly unknown[], name: string): string | null {
  const parts = artifacts.map(asJsonObject).find((each) => each?.['name'] === name)?.['parts'];
  if (!Array.isArray(parts)) return null;
  const texts = parts.map((part) => asJsonObject(part)?.['text']);
  return texts.filter((text) => typeof text === 'string').join('\n');
}
