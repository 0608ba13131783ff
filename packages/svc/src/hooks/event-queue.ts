import type { HookEvent } from '@svc/artifacts/manifest/hook-declaration.ts';

/** Events that wait for an async hook beside the one it is at (docs/hooks.md "Async hooks"). */
export const queueCapacity = 256;

export interface QueuedEvent {
  readonly event: HookEvent;
  readonly taskId: string | null;
  /** Made when the event is delivered: what waits holds no copies. */
  readonly argument: () => object;
}

export interface EventQueueDeps {
  readonly onOverflow: 'wait' | 'drop';
  /** Never rejects. */
  readonly deliver: (event: QueuedEvent) => Promise<void>;
  /** Told of events that the hook will not hear of, by the first of them. */
  readonly onLost: (event: HookEvent, reason: string) => void;
}

/** What an async hook is told, one event after another in the order they happened. */
export class EventQueue {
  readonly #deps: EventQueueDeps;
  readonly #waiting: QueuedEvent[] = [];
  #room: (() => void)[] = [];
  #delivering: Promise<void> | null = null;
  /** Why nothing more is delivered. */
  #closed: string | null = null;
  #burst: { readonly event: HookEvent; count: number } | null = null;

  constructor(deps: EventQueueDeps) {
    this.#deps = deps;
  }

  /** Resolves once the event waits for its turn, or has been given up: it was dropped, or `signal` was aborted while there was no room. */
  async push(event: QueuedEvent, signal: AbortSignal): Promise<void> {
    while (this.#waiting.length >= queueCapacity) {
      if (this.#deps.onOverflow === 'drop') return this.#drop(event.event);
      if (signal.aborted) return this.#deps.onLost(event.event, 'it was not told: its queue was full to the end');
      await this.#roomOr(signal);
    }
    if (this.#closed !== null) return this.#deps.onLost(event.event, `it was not told: ${this.#closed}`);
    this.#endBurst();
    this.#waiting.push(event);
    this.#delivering ??= this.#deliver();
  }

  /** Resolves once everything has been delivered. */
  async drained(): Promise<void> {
    await this.#delivering;
    this.#endBurst();
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
      await this.#deps.deliver(next);
    }
    this.#delivering = null;
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
