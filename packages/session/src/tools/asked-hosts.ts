/** Asks a person about the hosts that one command wants and that were not granted. */

import { formatDestination } from '@svc/kit/net/network-destination.ts';
import type { MayReach } from '@svc/sandbox/launcher.ts';

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
  readonly #hosts = new Map<string, AskedHost>();
  #last: Promise<unknown> = Promise.resolve();
  #open: Promise<unknown> | null = null;
  #isOver = false;

  constructor(questions: HostQuestions) {
    this.#questions = questions;
  }

  readonly mayReach: MayReach = async (to, held) => {
    const host = formatDestination(to);
    const known = this.#hosts.get(host);
    if (known !== undefined) {
      add(known.waiting, held);
      return await known.answer;
    }
    if (this.#isOver || this.#hosts.size >= maxHosts || !this.#questions.wanted(host)) return false;
    const waiting = new Set<AbortSignal>();
    add(waiting, held);
    const answer = this.#last.then(async () => await this.#ask(host, waiting));
    this.#last = answer;
    this.#hosts.set(host, { answer, waiting });
    return await answer;
  };

  /** The question that waits for a person; null where none does. Never rejects. */
  get open(): Promise<unknown> | null {
    return this.#open;
  }

  /** The command has ended, or goes on without its call: nothing more is asked. Resolves once the question that waits is settled. */
  async over(): Promise<void> {
    this.#isOver = true;
    await this.#last;
  }

  async #ask(host: string, waiting: ReadonlySet<AbortSignal>): Promise<boolean> {
    if (this.#isOver || waiting.size === 0 || !this.#questions.wanted(host)) {
      this.#hosts.delete(host);
      return false;
    }
    // The session hears of what goes wrong where it asks.
    const asking = this.#questions.ask(host).catch(() => false);
    this.#open = asking;
    const isGranted = await asking;
    this.#open = null;
    return isGranted;
  }
}

/** Until nobody waits for it any more: a program may ask as often as it likes. */
function add(waiting: Set<AbortSignal>, held: AbortSignal): void {
  if (held.aborted) return;
  waiting.add(held);
  held.addEventListener('abort', () => waiting.delete(held), { once: true });
}
