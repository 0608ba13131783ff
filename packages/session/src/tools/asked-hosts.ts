/** Asks a person about the hosts that one command wants and that were not granted. */

import { formatDestination } from '@svc/kit/net/network-destination.ts';
import type { MayReach } from '@svc/sandbox/launcher.ts';
import type { QuestionTurns } from './question-turns.ts';

/** Asks about a host, which is spelt as in `capabilities.network.allow`. */
export interface HostQuestions {
  /** Whether a person is asked about it at all, or has not answered about it yet. */
  readonly wanted: (host: string) => boolean;
  /** Whether a person has granted it. Rejects as `requestInput` does. */
  readonly ask: (host: string) => Promise<boolean>;
}

/** A command has no more hosts that were asked about, or wait for it. */
const maxHosts = 8;

interface AskedHost {
  readonly answer: Promise<boolean>;
  /** The requests that wait for it. */
  readonly waiting: Set<AbortSignal>;
}

/** The questions of one command: one at a time, and one about each host. */
export class AskedHosts {
  readonly #questions: HostQuestions;
  readonly #turns: QuestionTurns;
  readonly #hosts = new Map<string, AskedHost>();

  constructor(questions: HostQuestions, turns: QuestionTurns) {
    this.#questions = questions;
    this.#turns = turns;
  }

  readonly mayReach: MayReach = async (to, held) => {
    const host = formatDestination(to);
    const known = this.#hosts.get(host);
    if (known !== undefined) {
      add(known.waiting, held);
      return await known.answer;
    }
    if (this.#turns.isOver || this.#hosts.size >= maxHosts || !this.#questions.wanted(host)) return false;
    const waiting = new Set<AbortSignal>();
    add(waiting, held);
    const answer = this.#turns.next(async () => await this.#ask(host, waiting));
    this.#hosts.set(host, { answer, waiting });
    return await answer;
  };

  async #ask(host: string, waiting: ReadonlySet<AbortSignal>): Promise<boolean> {
    if (this.#turns.isOver || waiting.size === 0 || !this.#questions.wanted(host)) {
      this.#hosts.delete(host);
      return false;
    }
    // The session hears of what goes wrong where it asks.
    return await this.#turns.asking(this.#questions.ask(host).catch(() => false));
  }
}

/** Until nobody waits for it any more: a program may ask as often as it likes. */
function add(waiting: Set<AbortSignal>, held: AbortSignal): void {
  if (held.aborted) return;
  waiting.add(held);
  held.addEventListener('abort', () => waiting.delete(held), { once: true });
}
