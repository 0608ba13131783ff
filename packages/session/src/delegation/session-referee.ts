/** Asks the referee on behalf of one session: to register, to spawn, and to give a slot back. */

import { ClientError } from '@svc/client/client-error.ts';
import { RefereeClient } from '@svc/client/referee-client.ts';
import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { ownConnection } from '@svc/kit/net/connections.ts';
import { silence } from './capsule-call.ts';

/** What every question to the referee can come to beside its answer. `sentence` is the referee's own, `reason` a clause for a person. */
export type Unanswered =
  /** It answered with a status that is no 200: what it says holds. */
  | { readonly kind: 'refused'; readonly status: number; readonly sentence: string }
  | { readonly kind: 'unreachable'; readonly reason: string };

type Registered = { readonly kind: 'registered'; readonly credential: Secret } | Unanswered;

/** An approval, for the standard input of the child and nothing else. */
type Granted =
  | {
      readonly kind: 'granted';
      readonly approval: Secret;
      readonly name: string;
      readonly version: string;
      /** Content hash of the artifact that was compared. */
      readonly sha256: string;
    }
  | Unanswered;

type Deregistered = { readonly kind: 'deregistered' } | Unanswered;

interface RegisterRequest {
  readonly sessionId: string;
  readonly name: string;
  readonly version: string;
  /** It is null on the top-level path, which `--spawn-allow` gates. */
  readonly approval: Secret | null;
}

interface DeregisterRequest {
  readonly credential: Secret;
  readonly outcome: 'complete' | 'failed';
  /** Ends the record of this child instead of the session's own: its credential died with its process (docs/referee.md "Requests"). */
  readonly child?: string;
}

/** The referee decides from memory and files of this machine. */
const timeoutMs = 30_000;
/** The time for the last request of a session, which does not wait for long. */
const farewellMs = 2000;

/**
 * The referee, as one session asks it (D2 "Endpoints"): over the published client, but credentials and approvals are Secrets, which reach no
 * message, trace or environment, and a refusal is a value and no exception.
 */
export class SessionReferee {
  /** The base URL, as children are given it. */
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async register({ sessionId, name, version, approval }: RegisterRequest): Promise<Registered> {
    const shown = approval === null ? {} : { approval: approval.reveal() };
    const answer = await this.#ask((referee) => referee.register({ sessionId, name, version }, shown));
    return answer.kind === 'answer' ? { kind: 'registered', credential: new Secret(answer.value) } : answer;
  }

  async spawn(credential: Secret, name: string, version: string, signal: AbortSignal): Promise<Granted> {
    const shown = { credential: credential.reveal(), signal };
    const answer = await this.#ask((referee) => referee.spawn({ name, version }, shown));
    if (answer.kind !== 'answer') return answer;
    const { approval, sha256, ...granted } = answer.value;
    if (granted.name !== name || granted.version !== version) return noReferee;
    return { kind: 'granted', approval: new Secret(approval), name, version, sha256 };
  }

  /** Best effort: a finished session is not failed because the referee is gone (D2 "`POST /deregister`"). */
  async deregister({ credential, outcome, child }: DeregisterRequest): Promise<Deregistered> {
    const shown = { credential: credential.reveal() };
    const answer = await this.#ask((referee) => referee.deregister({ outcome, child }, shown), farewellMs);
    return answer.kind === 'answer' ? { kind: 'deregistered' } : answer;
  }

  async #ask<Value>(
    ask: (referee: RefereeClient) => Promise<Value>,
    callMs: number = timeoutMs,
  ): Promise<Answer<Value>> {
    try {
      const value = await ask(new RefereeClient({ url: this.url, fetch: ownConnection, limits: { callMs } }));
      return { kind: 'answer', value };
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      const { code, status, refusal } = error;
      if (code === 'refused' && status !== null && refusal !== null)
        return { kind: 'refused', status, sentence: shortened(printable(refusal), maxSentence) };
      const isOther = code === 'refused' || code === 'not-json' || code === 'bad-answer';
      return isOther ? noReferee : { kind: 'unreachable', reason: silence(error, callMs) };
    }
  }
}

type Answer<Value> = { readonly kind: 'answer'; readonly value: Value } | Unanswered;

/** A model reads it unfenced; those of a referee are a few hundred characters. */
const maxSentence = 4000;

const noReferee: Unanswered = { kind: 'unreachable', reason: 'what answers there is not a referee' };
