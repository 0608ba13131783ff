/** Knows which running sessions wait for an answer of a person. */

import { BoundedMap } from '@svc/kit/bounded-map.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { hasOpenQuestion } from '@svc/record/running/open-question.ts';
import { approach, type ViewingUser } from './capsule-relay.ts';
import type { ViewedSession } from './viewed-session.ts';

/** Limit for the answer of a capsule: a list does not wait for one that hangs. */
const callMs = 1000;
/** An answer is good for so long. */
const freshMs = 2000;
/** Sessions whose answers are kept. */
const maxKept = 256;
/** Capsules that are asked at once. */
const maxAtOnce = 16;

interface AskingOptions {
  readonly user: ViewingUser;
  readonly readOnly: boolean;
}

interface Kept {
  readonly asks: Promise<boolean>;
  readonly atMs: number;
}

export class AskingSessions {
  readonly #options: AskingOptions;
  readonly #kept = new BoundedMap<string, Kept>(maxKept);

  constructor(options: AskingOptions) {
    this.#options = options;
  }

  /** The ids of those that wait; one that does not answer in time counts as one that does not wait. */
  async among(sessions: readonly ViewedSession[]): Promise<ReadonlySet<string>> {
    const asking = new Set<string>();
    for (let from = 0; from < sessions.length; from += maxAtOnce) {
      const some = sessions.slice(from, from + maxAtOnce);
      const answers = await Promise.all(some.map(async (session) => await this.#of(session)));
      for (const [index, { id }] of some.entries()) if (answers[index] === true) asking.add(id);
    }
    return asking;
  }

  #of(session: ViewedSession): Promise<boolean> {
    const nowMs = systemClock.monotonicMs();
    const kept = this.#kept.get(session.id);
    if (kept !== undefined && nowMs - kept.atMs < freshMs) return kept.asks;
    const asks = this.#ask(session);
    this.#kept.set(session.id, { asks, atMs: nowMs });
    return asks;
  }

  async #ask(session: ViewedSession): Promise<boolean> {
    const { user, readOnly } = this.#options;
    const asked = { method: 'stream/watch', readOnly, timeoutMs: callMs };
    return await hasOpenQuestion(async () => await approach(user, session, asked), callMs);
  }
}
