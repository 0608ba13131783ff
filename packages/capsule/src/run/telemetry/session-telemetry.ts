/** Holds what happens in a session until its telemetry is loaded, which it is once the listener is up. */

import type { Activity } from '@svc/session/task/activity.ts';
import type { DeliveredSignals } from '@svc/telemetry/exporter.ts';
import type { RequestSpans } from '@svc/telemetry/request-spans.ts';
import type { TraceLine } from '@svc/record/trace/events.ts';
import type { LiveTelemetry } from './live-telemetry.ts';
import type { OpenSessionRequest } from '../../launch/open-session-request.ts';

/** Longest wait for a collector at the end: a part of the time of a stop, less what the doors have used, but at least a smaller part. */
const maxEndMs = 2000;
const partOfStop = 1 / 4;
const minPartOfStop = 1 / 16;

/** One thing for telemetry to hear of, in its turn. */
type Heard = (live: LiveTelemetry) => void;

/** The telemetry of one session. What happens before it is loaded, it hears of then. */
export class SessionTelemetry {
  readonly #session: OpenSessionRequest;
  #line: TraceLine | null = null;
  #waiting: Heard[] = [];
  #live: LiveTelemetry | null = null;
  #loading: Promise<void> | null = null;

  constructor(session: OpenSessionRequest) {
    this.#session = session;
  }

  /** A line of the trace was written. */
  readonly written = (line: TraceLine): void => {
    // The first belongs to no activity; every other belongs to the activity that is noted next.
    if (line.event_type === 'session_start') this.#hear((live) => live.start(line));
    else this.#line = line;
  };

  /** Subscribed right behind the trace. */
  readonly note = (activity: Activity): void => {
    const line = this.#line;
    this.#line = null;
    if (line !== null) this.#hear((live) => live.take(line, activity));
    if (activity.kind === 'task-settled') this.#hear((live) => live.settled(activity.task.id));
  };

  /** Returns null before it is loaded, and where nothing is sent. */
  get requests(): RequestSpans | null {
    return this.#live?.requests ?? null;
  }

  /** Called once the listener is up. */
  begin(): void {
    this.#loading = this.#load();
  }

  /**
   * Sends what is left, and waits two seconds for it at most; `spentMs` were spent on closing the doors, whose last requests have spans too. Returns null where
   * nothing was sent to anywhere.
   */
  async end(spentMs: number): Promise<DeliveredSignals | null> {
    await this.#loading;
    const { stopWithinMs } = this.#session.request;
    const leftMs = Math.max(stopWithinMs * partOfStop - spentMs, stopWithinMs * minPartOfStop);
    const withinMs = Math.min(maxEndMs, leftMs);
    return (await this.#live?.end(withinMs)) ?? null;
  }

  async #load(): Promise<void> {
    const { LiveTelemetry } = await import('./live-telemetry.ts');
    const live = new LiveTelemetry(this.#session);
    this.#live = live;
    for (const hear of this.#waiting.splice(0)) hear(live);
  }

  #hear(hear: Heard): void {
    if (this.#live === null) this.#waiting.push(hear);
    else hear(this.#live);
  }
}
