/** Sends events to async hooks while the session goes on. */

import type { HookEvent } from '@svc/artifacts/manifest/hook-events.ts';
import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { type Hook, underSignals } from './hook.ts';
import { judged, type AskDeps, type AskedEvent } from './blocking-hooks.ts';

interface Listener {
  readonly hook: Hook;
  readonly queue: EventQueue;
}

/**
 * The async hooks of a session: each hears its events in order, in an instance that is kept, while the session goes on
 * (docs/hooks.md "Async hooks"). What they answer changes nothing.
 */
export class AsyncHooks {
  readonly #deps: AskDeps;
  readonly #listeners: readonly Listener[];
  readonly #cut = new AbortController();

  constructor(hooks: readonly Hook[], deps: AskDeps) {
    this.#deps = deps;
    this.#listeners = hooks.map((hook) => ({
      hook,
      queue: new EventQueue({
        onOverflow: hook.declaration.onOverflow,
        deliver: (event) => this.#deliver(hook, event),
        onLost: (event, reason) => this.#report(() => deps.reports.failed(hook.name, event, reason)),
      }),
    }));
  }

  /** Resolves once every hook that is bound to the event has it in its queue, at once unless one is full. */
  async tell({ event, argument, taskId, canceled, grace }: AskedEvent): Promise<void> {
    const { budget } = this.#deps;
    const ends = [canceled ?? budget.signal, grace].filter((signal) => signal instanceof AbortSignal);
    await budget.during(() => underSignals(ends, (until) => this.#queue({ event, taskId, argument }, until)));
  }

  async #queue(event: QueuedEvent, until: AbortSignal): Promise<void> {
    const bound = this.#listeners.filter(({ hook }) => hook.declaration.events.has(event.event));
    // At once: one whose queue is full keeps nobody else from hearing.
    await Promise.all(bound.map(({ queue }) => queue.push(event, until)));
  }

  /**
   * Sends the last event. Resolves once everything has been delivered or `drainMs` have passed, and reports what was not delivered. It sends
   * nothing afterwards.
   */
  async end({ event, argument, taskId }: AskedEvent, drainMs: number): Promise<void> {
    const { budget } = this.#deps;
    const cut = (): void => this.#cut.abort();
    const cancelTimer = this.#deps.timer('hooks/drain', drainMs, cut);
    budget.signal.addEventListener('abort', cut);
    this.#cut.signal.addEventListener('abort', () => this.#abandon());
    if (budget.signal.aborted) cut();
    try {
      await budget.during(async () => {
        await this.#queue({ event, taskId, argument }, this.#cut.signal);
        await Promise.all(this.#listeners.map(({ queue }) => queue.drained()));
      });
    } finally {
      cancelTimer();
      budget.signal.removeEventListener('abort', cut);
    }
  }

  /** Ends what is under way. */
  close(): void {
    this.#cut.abort();
    this.#abandon();
  }

  #abandon(): void {
    for (const { queue } of this.#listeners) queue.abandon('the session had to end');
  }

  async #deliver(hook: Hook, { event, argument, taskId }: QueuedEvent): Promise<void> {
    const { call, reports, surroundings } = this.#deps;
    const signals = [this.#cut.signal];
    const reply = await call(hook, { event, argument: argument(), taskId, signals }, surroundings);
    if (reply.kind === 'trapped') reports.trapped();
    const answer = judged(hook, event, reply);
    if (answer.kind === 'error') this.#report(() => reports.failed(hook.name, event, answer.error));
  }

  /** Nobody waits here for a trace that cannot be written: the next caller gets the error. */
  #report(report: () => void): void {
    const lost = diagnosticOf(report);
    if (lost !== null) this.#deps.reports.lost(lost);
  }
}

/** Events that wait for an async hook beside the one it is at (docs/hooks.md "Async hooks"). */
export const queueCapacity = 256;

export interface QueuedEvent {
  readonly event: HookEvent;
  readonly taskId: string | null;
  /** Made when the event is delivered: what waits holds no copies. */
  readonly argument: () => object;
}

interface EventQueueDeps {
  readonly onOverflow: 'wait' | 'drop';
  /** Rejects for a bug, or for a recording that holds what no hook answers. */
  readonly deliver: (event: QueuedEvent) => Promise<void>;
  /** Called with the first of several events that the hook will not hear of. */
  readonly onLost: (event: HookEvent, reason: string) => void;
}

/** The events that an async hook receives, one after another in the order they happened. */
export class EventQueue {
  readonly #deps: EventQueueDeps;
  readonly #waiting: QueuedEvent[] = [];
  #room: (() => void)[] = [];
  /** Never rejects: nobody may be there yet to handle it. */
  #delivering: Promise<void> | null = null;
  /** The error of the first delivery that rejected: for those who push next or wait for the end. */
  #failure: { readonly error: unknown } | null = null;
  /** Why nothing more is delivered. */
  #closed: string | null = null;
  #burst: { readonly event: HookEvent; count: number } | null = null;

  constructor(deps: EventQueueDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves once the event waits for its turn, or has been given up: it was dropped, or `signal` was aborted while there was no room.
   * Rejects with what an earlier delivery rejected with.
   */
  async push(event: QueuedEvent, signal: AbortSignal): Promise<void> {
    while (this.#waiting.length >= queueCapacity) {
      if (this.#deps.onOverflow === 'drop') return this.#drop(event.event);
      if (signal.aborted) return this.#deps.onLost(event.event, 'it missed the event: its queue was full to the end');
      await this.#roomOr(signal);
    }
    this.#throwIfFailed();
    if (this.#closed !== null) return this.#deps.onLost(event.event, `it missed the event: ${this.#closed}`);
    this.#endBurst();
    this.#waiting.push(event);
    this.#delivering ??= this.#deliver();
  }

  /** Resolves once everything has been delivered; rejects with what a delivery rejected with. */
  async drained(): Promise<void> {
    await this.#delivering;
    this.#endBurst();
    this.#throwIfFailed();
  }

  /** Gives up what still waits, and takes nothing more. */
  abandon(reason: string): void {
    this.#closed = reason;
    this.#endBurst();
    const lost = this.#waiting.splice(0);
    const [first] = lost;
    if (first !== undefined) this.#deps.onLost(first.event, `${counted(lost.length)} not delivered: ${reason}`);
    this.#tellRoom();
  }

  async #deliver(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      this.#tellRoom();
      try {
        await this.#deps.deliver(next);
      } catch (error) {
        // Any error. The hook hears on: a replay whose hook gets another request than recorded parts there, and says nothing of the cause.
        this.#failure ??= { error };
      }
    }
    this.#delivering = null;
  }

  #throwIfFailed(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  #tellRoom(): void {
    for (const resolve of this.#room.splice(0)) resolve();
  }

  async #roomOr(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = (): void => {
        signal.removeEventListener('abort', end);
        resolve();
      };
      this.#room.push(end);
      signal.addEventListener('abort', end);
    });
  }

  #drop(event: HookEvent): void {
    this.#burst ??= { event, count: 0 };
    this.#burst.count += 1;
  }

  #endBurst(): void {
    if (this.#burst === null) return;
    const { event, count } = this.#burst;
    this.#burst = null;
    this.#deps.onLost(event, `${counted(count)} dropped: ${queueCapacity} were waiting`);
  }
}

function counted(events: number): string {
  return events === 1 ? '1 event was' : `${events} events were`;
}
