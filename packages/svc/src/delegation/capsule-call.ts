import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { postJson } from '@svc/kit/net/post-json.ts';
import { decodeJsonRpcAnswer, encodeJsonRpcRequest, type JsonRpcAnswer } from '@svc/protocol/json-rpc.ts';

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
  | JsonRpcAnswer
  /** Nothing, or nothing that is JSON-RPC. `reason` is a clause for a person. */
  | { readonly kind: 'none'; readonly reason: string };

/** One JSON-RPC call. Never rejects but with the signal's reason. */
export async function callCapsule(door: ChildDoor, call: CapsuleCall): Promise<CapsuleAnswer> {
  const { method, params, headers = {}, ...exchange } = call;
  const outcome = await postJson({
    url: door.endpoint,
    headers: { ...headers, ...(door.token === null ? {} : { authorization: `Bearer ${door.token.reveal()}` }) },
    body: encodeJsonRpcRequest(1, method, params),
    ...exchange,
  });
  if (outcome.kind === 'failed') return { kind: 'none', reason: outcome.reason };
  return (
    decodeJsonRpcAnswer(outcome.body) ?? {
      kind: 'none',
      reason: `it answered ${outcome.status}, and not with JSON-RPC`,
    }
  );
}
