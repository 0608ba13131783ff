/** Sends questions, ends of tasks and serious refusals to the one target of a capsule (docs/boundary.md "Notifications"). */

import { atMost, type Clock } from '@svc/kit/clock.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import { seriousWords } from '@svc/record/trace/serious-refusals.ts';
import type { Activity } from '@svc/session/task/activity.ts';
import type { Notice, Target } from './operator-targets.ts';
import { PushBudget } from './push-budget.ts';
import { PushQueue } from './push-queue.ts';

const minuteMs = 60_000;
/** Notifications of each type in one minute, so that ends of tasks hide no refusal; what is more is counted. */
const maxOfMinute = 30;
/** UTF-16 units of a text that others wrote. */
const maxText = 2048;
/** For what is left to send when the session ends. */
const endWithinMs = 2000;
const gone = 'it answered 410';

/** What the operator of a session is notified of, and where. */
export interface NotifiedSession {
  readonly target: Target;
  readonly capsule: string;
  readonly sessionId: string;
  readonly redact: (text: string) => string;
  readonly onWarning: (warning: Diagnostic) => void;
  readonly clock: Clock;
}

type Told = Pick<Notice, 'type'> & { readonly data: Readonly<Record<string, string | number | undefined>> };

/** The notifications of one session, one on its way at a time. */
export class OperatorNotifications {
  readonly #session: NotifiedSession;
  readonly #queue: PushQueue;
  #minuteFromMs = 0;
  readonly #ofMinute = new Map<Told['type'], number>();
  /** Notifications that were not sent since the last one. */
  #leftOut = 0;
  #isFailing = false;
  /** The target wants no more. */
  #isGone = false;
  /** What was not sent since. */
  #afterGone = 0;

  constructor(session: NotifiedSession) {
    const { target, clock } = session;
    this.#session = session;
    this.#queue = new PushQueue({
      receiver: { headers: {}, key: target.key },
      clock,
      share: new PushBudget().enter({ name: 'operator', seesAll: true }),
      post: async (headers, body, signal) => {
        const posted = await target.send(headers, body, signal);
        if (!signal.aborted) this.#came(posted.kind === 'taken' ? null : 'why' in posted ? posted.why : gone);
        return posted;
      },
      onGone: () => {
        this.#isGone = true;
        // The one that it answered so, and all that wait.
        this.#afterGone += 1;
        this.#queue.end(true);
      },
    });
  }

  /** Whether somebody hears of a question that is asked now, as far as is known. */
  get isHeard(): boolean {
    return !this.#isGone && !(this.#session.target.needsSuccess && this.#isFailing);
  }

  hear(told: Activity): void {
    const isNew = told.kind === 'question-offered' ? !told.isAgain : told.task?.passed?.isShown !== true;
    if ((told.kind === 'question-offered' || told.kind === 'question') && isNew) {
      const { prompt, approval } = told.question;
      const asked = { approval_id: approval?.id, expires_at: approval?.expiresAtMs };
      this.#tell({ type: 'question.asked', data: { task_id: told.task.id, text: prompt, ...asked } });
    }
    if (told.kind === 'task-settled') {
      const { id, state, failure } = told.task;
      this.#tell({ type: 'task.ended', data: { task_id: id, state, text: failure ?? undefined } });
    }
    if (told.kind === 'noted' && told.event.event_type === 'refusal' && told.event.serious !== undefined) {
      const { what, name, rule, by, serious, task_id: task } = told.event;
      const text = `${seriousWords[serious]}: ${what} ${name}, asked for by ${by}, refused by ${rule}`;
      this.#tell({ type: 'refusal.serious', data: { task_id: task, text } });
    }
  }

  /** Sends what it can within two seconds. Returns the line of the trace for what did not arrive, null where all did. */
  async end(): Promise<TraceEvent | null> {
    const { target, clock } = this.#session;
    await atMost(clock, endWithinMs, this.#queue.drain());
    this.#queue.end(true);
    const { sent, lost, why } = this.#queue.totals;
    const all = lost + this.#leftOut + this.#afterGone;
    if (all === 0) return null;
    const reason = this.#isGone ? gone : (why ?? 'there were too many in a minute');
    return { event_type: 'push_lost', host: target.place, sent, lost: all, reason };
  }

  #tell({ type, data }: Told): void {
    if (this.#isGone) {
      this.#afterGone += 1;
      return;
    }
    const { clock, capsule, sessionId, redact } = this.#session;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#minuteFromMs >= minuteMs) {
      this.#minuteFromMs = nowMs;
      this.#ofMinute.clear();
    }
    const count = (this.#ofMinute.get(type) ?? 0) + 1;
    this.#ofMinute.set(type, count);
    if (count > maxOfMinute) {
      this.#leftOut += 1;
      return;
    }
    const { text, ...rest } = data;
    const shown = text === undefined ? {} : { text: shortened(printable(redact(String(text))), maxText) };
    const missed = this.#leftOut === 0 ? {} : { left_out: this.#leftOut };
    this.#leftOut = 0;
    const body: Notice = {
      type,
      timestamp: new Date(clock.now()).toISOString(),
      data: { capsule, session_id: sessionId, ...rest, ...shown, ...missed },
    };
    this.#queue.add(Buffer.from(JSON.stringify(body)));
  }

  /** Says once that notifications do not arrive, until one does, and that the target wants no more. */
  #came(why: string | null): void {
    const wasFailing = this.#isFailing;
    this.#isFailing = why !== null;
    if (why === null || (wasFailing && why !== gone)) return;
    const { target, onWarning } = this.#session;
    const message = `a notification did not reach ${target.place}: ${why}`;
    const isNobody = why === gone || target.needsSuccess;
    const hint =
      'it counts as nobody now; a question that is open waits on until svc approve answers it or its time is over';
    onWarning(new Diagnostic('W-APR-005', message, isNobody ? { hint } : {}));
  }
}
