import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { callHook } from './call-hook.ts';
import { judged, type AskDeps, type AskedEvent } from './blocking-hooks.ts';
import { EventQueue, type QueuedEvent } from './event-queue.ts';
import type { Hook } from './hook.ts';

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
  async tell({ event, argument, taskId, canceled }: AskedEvent): Promise<void> {
    const { budget } = this.#deps;
    await budget.during(() => this.#queue({ event, taskId, argument }, canceled ?? budget.signal));
  }

  async #queue(event: QueuedEvent, until: AbortSignal): Promise<void> {
    const bound = this.#listeners.filter(({ hook }) => hook.declaration.events.has(event.event));
    // At once: one whose queue is full keeps nobody else from hearing.
    await Promise.all(bound.map(({ queue }) => queue.push(event, until)));
  }

  /**
   * Tells the last event. Resolves once everything has been delivered or `drainMs` have passed; what was not is reported. Nothing is
   * told afterwards.
   */
  async end({ event, argument, taskId }: AskedEvent, drainMs: number): Promise<void> {
    const { budget } = this.#deps;
    const cut = (): void => this.#cut.abort();
    const timer = setTimeout(cut, drainMs);
    budget.signal.addEventListener('abort', cut);
    this.#cut.signal.addEventListener('abort', () => this.#abandon());
    if (budget.signal.aborted) cut();
    try {
      await budget.during(async () => {
        await this.#queue({ event, taskId, argument }, this.#cut.signal);
        await Promise.all(this.#listeners.map(({ queue }) => queue.drained()));
      });
    } finally {
      clearTimeout(timer);
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
    const { reports, surroundings } = this.#deps;
    const signals = [this.#cut.signal];
    const reply = await callHook(hook, { event, argument: argument(), taskId, signals }, surroundings);
    if (reply.kind === 'trapped') reports.trapped();
    const answer = judged(hook, event, reply);
    if (answer.kind === 'error') this.#report(() => reports.failed(hook.name, event, answer.error));
  }

  /** Nobody waits here for a trace that cannot be written: whoever comes next is told. */
  #report(report: () => void): void {
    const lost = diagnosticOf(report);
    if (lost !== null) this.#deps.reports.lost(lost);
  }
}
