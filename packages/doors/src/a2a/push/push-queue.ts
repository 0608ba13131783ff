/** Sends the notifications of one receiver in their order, and tries those again that did not arrive. */

import { createHmac } from 'node:crypto';

import type { Clock } from '@svc/kit/clock.ts';
import type { Posted } from './post-notification.ts';
import type { PushShare } from './push-budget.ts';

/** How long each further try waits after the one before it has failed. */
const pausesMs: readonly number[] = [1_000, 4_000, 16_000, 64_000, 256_000];

/** Limit for one receiver. A new one replaces the oldest that is not on its way. */
const maxQueued = 256;

export interface PushReceiver {
  /** Headers beside those that each notification has of its own. */
  readonly headers: Readonly<Record<string, string>>;
  /** What notifications are signed with; null signs none. */
  readonly key: string | Uint8Array | null;
}

export interface PushQueueOptions {
  readonly receiver: PushReceiver;
  readonly clock: Clock;
  /** The share of the notified client; left at the end. */
  readonly share: PushShare;
  readonly post: (headers: Readonly<Record<string, string>>, body: Uint8Array, signal: AbortSignal) => Promise<Posted>;
  /** The receiver wants no more: nothing is sent to it from now on. */
  readonly onGone: () => void;
}

interface Queued {
  readonly id: string;
  readonly body: Uint8Array;
}

/** What became of the notifications of one receiver. */
export interface PushTotals {
  readonly sent: number;
  readonly lost: number;
  /** Why the last one that was lost did not arrive, as a clause; null where none was. */
  readonly why: string | null;
}

/** The notifications of one receiver: one is on its way at a time. */
export class PushQueue {
  readonly #options: PushQueueOptions;
  readonly #queue: Queued[] = [];
  readonly #stop = new AbortController();
  /** Settles when nothing is left to be sent; made by who waits for that. */
  #whenIdle: (() => void) | null = null;
  #isBusy = false;
  #isClosing = false;
  #sent = 0;
  #lost = 0;
  #why: string | null = null;
  #endPause: () => void = () => {};

  constructor(options: PushQueueOptions) {
    this.#options = options;
  }

  get totals(): PushTotals {
    return { sent: this.#sent, lost: this.#lost, why: this.#why };
  }

  get isIdle(): boolean {
    return !this.#isBusy;
  }

  /** `body` is what is sent, which others may share. */
  add(body: Uint8Array): void {
    if (this.#stop.signal.aborted) return;
    const { clock, share } = this.#options;
    while (this.#queue.length >= maxQueued || !share.take(body.length)) {
      // The first one is on its way.
      const [oldest] = this.#queue.splice(this.#isBusy ? 1 : 0, 1);
      if (oldest === undefined) return this.#count('too many waited to be sent');
      share.giveBack(oldest.body.length);
      this.#count('too many waited to be sent');
    }
    this.#queue.push({ id: `msg_${Buffer.from(clock.randomBytes(16)).toString('hex')}`, body });
    if (!this.#isBusy) void this.#work();
  }

  /** Nothing waits to be tried again from now on; resolves when what can be sent has been, or is given up. */
  async drain(): Promise<void> {
    this.#isClosing = true;
    this.#endPause();
    if (this.#isBusy) await new Promise<void>((resolve) => (this.#whenIdle = resolve));
  }

  /** Sends nothing more, and cuts what is on its way. What has not arrived counts as lost when `isLost`. */
  end(isLost: boolean): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#endPause();
    for (const { body } of this.#queue.splice(0)) {
      this.#options.share.giveBack(body.length);
      if (isLost) this.#count('the session ended');
    }
    this.#options.share.leave();
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      const posted = await this.#deliver(next);
      if (this.#stop.signal.aborted) break;
      this.#queue.shift();
      this.#options.share.giveBack(next.body.length);
      if (posted.kind === 'taken') this.#sent += 1;
      else if (posted.kind === 'gone') this.#options.onGone();
      else this.#count(posted.why);
    }
    this.#isBusy = false;
    this.#whenIdle?.();
  }

  /** Tried as often as there are pauses, and once more. An address that is refused is not asked for again. */
  async #deliver(queued: Queued): Promise<Posted> {
    for (let tries = 0; ; tries += 1) {
      const posted = await this.#try(queued);
      const pauseMs = pausesMs[tries];
      if (posted.kind !== 'failed' || pauseMs === undefined) return posted;
      if (this.#isClosing || this.#stop.signal.aborted) return posted;
      await this.#pause(pauseMs);
      if (this.#isClosing || this.#stop.signal.aborted) return posted;
    }
  }

  async #try({ id, body }: Queued): Promise<Posted> {
    const { clock, receiver, share, post } = this.#options;
    const giveBack = await share.place(this.#stop.signal);
    if (giveBack === null) return { kind: 'failed', why: 'the session ended' };
    try {
      const timestamp = String(Math.floor(clock.now() / 1000));
      const about = { 'webhook-id': id, 'webhook-timestamp': timestamp };
      const signed = receiver.key === null ? {} : { 'webhook-signature': signature(receiver.key, about, body) };
      return await post({ ...receiver.headers, ...about, ...signed }, body, this.#stop.signal);
    } finally {
      giveBack();
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancelTimer = this.#options.clock.after(ms, resolve);
      this.#endPause = () => {
        cancelTimer();
        resolve();
      };
    });
  }

  #count(why: string): void {
    this.#lost += 1;
    this.#why = why;
  }
}

/** As Standard Webhooks have it: of id, time and body, by what both sides know. */
function signature(
  key: string | Uint8Array,
  about: { readonly 'webhook-id': string; readonly 'webhook-timestamp': string },
  body: Uint8Array,
): string {
  const hash = createHmac('sha256', key).update(`${about['webhook-id']}.${about['webhook-timestamp']}.`).update(body);
  return `v1,${hash.digest('base64')}`;
}
