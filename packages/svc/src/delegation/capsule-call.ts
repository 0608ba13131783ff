import { CapsuleClient } from '@svc/client/capsule-client.ts';
import { ClientError } from '@svc/client/client-error.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { isNetworkError, networkReason } from '@svc/kit/net/network-reason.ts';
import { ownConnection } from '@svc/kit/net/own-connection.ts';

/** A running capsule, as its parent or its child speaks to it. */
export interface CapsuleDoor {
  readonly endpoint: URL;
  /** What its listener asks for; null when it asks for nothing. */
  readonly token: Secret | null;
}

export interface CapsuleCall {
  readonly method: string;
  readonly params: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** For the whole exchange. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export type CapsuleAnswer =
  | { readonly kind: 'result'; readonly result: unknown }
  /** A JSON-RPC error. */
  | { readonly kind: 'error'; readonly message: string }
  /** Nothing that is JSON-RPC. */
  | { readonly kind: 'other'; readonly status: number }
  /** Nothing. `reason` is a clause for a person. */
  | { readonly kind: 'none'; readonly reason: string };

/** One JSON-RPC call. Never rejects but with the signal's reason. */
export async function callCapsule({ endpoint, token }: CapsuleDoor, call: CapsuleCall): Promise<CapsuleAnswer> {
  const { method, params, timeoutMs: callMs, ...options } = call;
  const door = { url: endpoint.href, token: token?.reveal(), fetch: ownConnection, limits: { callMs } };
  try {
    const result = await new CapsuleClient({ ...door, isGated: false }).call(method, params, options);
    return { kind: 'result', result };
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    if (error.code === 'fault') return { kind: 'error', message: error.refusal ?? '' };
    const isOther = ['refused', 'not-json', 'bad-answer'].includes(error.code);
    return isOther ? { kind: 'other', status: error.status ?? 200 } : { kind: 'none', reason: silence(error, callMs) };
  }
}

/** Why no whole answer came, as a clause for a person. */
export function silence({ code, cause, message }: ClientError, timeoutMs: number): string {
  if (code === 'timeout') return `no answer within ${timeoutMs / 1000} s`;
  if (code === 'too-large') return 'the answer is larger than 16 MiB';
  if (isNetworkError(cause)) return networkReason(cause);
  return cause instanceof Error ? cause.message : message;
}
