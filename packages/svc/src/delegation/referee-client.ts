import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { postJson, type JsonPost, type PostOutcome } from '@svc/kit/net/post-json.ts';
import {
  approvalHeader,
  credentialHeader,
  decodeCredential,
  decodeGrant,
  encodeDeregisterRequest,
  encodeRegisterRequest,
  encodeSpawnRequest,
} from '@svc/protocol/referee-messages.ts';
import { decodeRefusal } from '@svc/protocol/refusal.ts';

/** What every question to the referee can come to beside its answer. `sentence` is the referee's own, `reason` a clause for a person. */
export type Unanswered =
  /** It answered with a status that is no 200: what it says holds. */
  | { readonly kind: 'refused'; readonly status: number; readonly sentence: string }
  | { readonly kind: 'unreachable'; readonly reason: string };

export type Registered = { readonly kind: 'registered'; readonly credential: Secret } | Unanswered;

/** An approval, for the standard input of the child and nothing else. */
export type Granted =
  | {
      readonly kind: 'granted';
      readonly approval: Secret;
      readonly name: string;
      readonly version: string;
      /** Content hash of the artifact that was compared. */
      readonly sha256: string;
    }
  | Unanswered;

export type Deregistered = { readonly kind: 'deregistered' } | Unanswered;

export interface RegisterRequest {
  readonly sessionId: string;
  readonly name: string;
  readonly version: string;
  /** Null on the top-level path, which `--spawn-allow` gates. */
  readonly approval: Secret | null;
}

export interface SpawnRequest {
  readonly credential: Secret;
  readonly name: string;
  readonly version: string;
  readonly signal: AbortSignal;
}

export interface DeregisterRequest {
  readonly credential: Secret;
  readonly outcome: 'complete' | 'failed';
  /** Ends the record of this child instead of the session's own: its credential died with its process (contracts §1). */
  readonly child?: string;
}

/** The referee decides from memory and files of this machine. */
const timeoutMs = 30_000;
/** Told at the end of a session, which does not wait for long. */
const farewellMs = 2000;

/** Asks the referee (D2 "Endpoints"). Credentials and approvals are Secrets: they reach no message, trace or environment. */
export class RefereeClient {
  /** The base URL, as children are given it. */
  readonly url: string;
  readonly #base: URL;

  constructor(url: string) {
    this.url = url;
    this.#base = new URL(url.endsWith('/') ? url : `${url}/`);
  }

  async register({ sessionId, name, version, approval }: RegisterRequest): Promise<Registered> {
    const outcome = await this.#post('register', {
      headers: approval === null ? {} : { [approvalHeader]: approval.reveal() },
      body: encodeRegisterRequest({ sessionId, name, version }),
    });
    const answer = answerOf(outcome);
    if (answer.kind !== 'answer') return answer;
    const credential = decodeCredential(answer.body);
    return credential === null ? noReferee : { kind: 'registered', credential: new Secret(credential) };
  }

  async spawn({ credential, name, version, signal }: SpawnRequest): Promise<Granted> {
    const headers = shown(credential);
    const body = encodeSpawnRequest({ name, version });
    const answer = answerOf(await this.#post('spawn', { headers, body, signal }));
    if (answer.kind !== 'answer') return answer;
    const grant = decodeGrant(answer.body);
    if (grant === null || grant.name !== name || grant.version !== version) return noReferee;
    return { kind: 'granted', approval: new Secret(grant.approval), name, version, sha256: grant.sha256 };
  }

  /** Best effort: a finished session is not failed because the referee is gone (D2 "`POST /deregister`"). */
  async deregister({ credential, outcome, child }: DeregisterRequest): Promise<Deregistered> {
    const body = encodeDeregisterRequest({ outcome, child });
    const answer = answerOf(
      await this.#post('deregister', { headers: shown(credential), body, timeoutMs: farewellMs }),
    );
    return answer.kind === 'answer' ? { kind: 'deregistered' } : answer;
  }

  async #post(
    endpoint: string,
    request: Pick<JsonPost, 'headers' | 'body' | 'signal'> & { readonly timeoutMs?: number },
  ): Promise<PostOutcome> {
    return await postJson({ url: new URL(endpoint, this.#base), timeoutMs, ...request });
  }
}

type Answer = { readonly kind: 'answer'; readonly body: unknown } | Unanswered;

const noReferee: Unanswered = { kind: 'unreachable', reason: 'what answers there is no referee' };

function answerOf(outcome: PostOutcome): Answer {
  if (outcome.kind === 'failed') return { kind: 'unreachable', reason: outcome.reason };
  const { status, body } = outcome;
  const refusal = decodeRefusal(body);
  if (refusal === null) return noReferee;
  if (status === 200) return { kind: 'answer', body };
  return refusal.error === null ? noReferee : { kind: 'refused', status, sentence: refusal.error };
}

function shown(credential: Secret): Readonly<Record<string, string>> {
  return { [credentialHeader]: credential.reveal() };
}
