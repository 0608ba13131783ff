/** Asks the parent of a delegated session for the answers of a person. */

import { type Clock, pause } from '@svc/kit/clock.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import { childMethod, eventsHeader, eventsVersion } from '@svc/protocol/asked-events.ts';
import {
  decodeParentReply,
  encodeParentRequest,
  noPerson,
  type ParentReply,
  type ParentRequest,
  type PassedAnswer,
  type PassedQuestion,
} from '@svc/protocol/passed-question.ts';
import { callCapsule } from './capsule-call.ts';
import type { ChildKey } from './child-key.ts';

interface ParentLineOptions {
  /** The parent's endpoint. */
  readonly url: string;
  readonly key: ChildKey;
  /** Another program may listen at the address of a parent that has ended. */
  readonly isParentThere: () => boolean;
  readonly clock: Pick<Clock, 'after'>;
}

/** A parent holds an answer back for less. */
const callMs = 60_000;
const shortCallMs = 5000;
/** Between two questions, whatever answers the first at once. */
const retryMs = 250;

/** The way from a child up to its parent. */
export class ParentLine {
  readonly #options: ParentLineOptions;

  constructor(options: ParentLineOptions) {
    this.#options = options;
  }

  /** Why nobody can be asked, as a clause for a person; null where somebody can. */
  async whyUnattended(): Promise<string | null> {
    const reply = await this.#call({ kind: 'look' }, { timeoutMs: shortCallMs });
    if (reply.kind === 'open') return null;
    return reply.kind === 'refused' ? printable(reply.reason) : reply.kind === 'none' ? reply.reason : oddReply;
  }

  /**
   * Asks until there is an answer, which a person gave or the parent for want of one. Returns null once the signal is aborted: the question is taken back
   * then. Never rejects.
   */
  async ask(question: PassedQuestion, signal: AbortSignal): Promise<PassedAnswer | null> {
    const { clock, isParentThere, key } = this.#options;
    const { id } = question;
    try {
      for (;;) {
        const reply = await this.#call({ kind: 'ask', question }, { timeoutMs: callMs, signal });
        signal.throwIfAborted();
        if (reply.kind === 'answered') {
          const { decision, option, note, by } = reply;
          return key.holds(question, reply) ? { decision, option, note, by } : denied(oddReply);
        }
        if (reply.kind === 'refused') return denied(printable(reply.reason));
        if (reply.kind === 'open') return denied(oddReply);
        // A parent that is busy may not answer in time; one that has ended never does.
        if (reply.kind === 'none' && (reply.isFinal || !isParentThere())) return denied(reply.reason);
        await pause(clock, retryMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      await this.#call({ kind: 'withdraw', id }, { timeoutMs: shortCallMs });
      return null;
    }
  }

  async #call(
    request: ParentRequest,
    limits: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<ParentReply | { readonly kind: 'none'; readonly reason: string; readonly isFinal: boolean }> {
    const { url, key, isParentThere } = this.#options;
    const none = (why: string, isFinal: boolean) =>
      ({ kind: 'none', reason: `the capsule that started it cannot be asked: ${printable(why)}`, isFinal }) as const;
    if (!isParentThere()) return none('it has ended', true);
    const answer = await callCapsule(
      { endpoint: new URL('/', url), token: key.token },
      {
        method: childMethod,
        params: encodeParentRequest(request),
        headers: { [eventsHeader]: eventsVersion },
        ...limits,
      },
    );
    if (answer.kind === 'none') return none(answer.reason, false);
    if (answer.kind === 'error') return none(answer.message, true);
    if (answer.kind === 'other') return none(`it answered with status ${answer.status}`, answer.status < 500);
    return decodeParentReply(answer.result) ?? none('what it says cannot be read', true);
  }
}

const oddReply = 'the capsule that started it gave an answer that is not its own';

/** What stands for an answer where nobody could give one. */
function denied(note: string): PassedAnswer {
  return { decision: 'deny', option: 'once', note: note.slice(0, 2000), by: noPerson };
}
