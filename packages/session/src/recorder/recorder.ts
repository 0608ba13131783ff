/** Lets what comes from outside into a session, one delivery for each turn of the event loop, so that a record of the order can be run again. */

import { BoundedMap } from '@svc/kit/bounded-map.ts';
import type { CallImports, ImportLog } from '@svc/components/import-log.ts';
import { type Clock, elapsedMs } from '@svc/kit/clock.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import type { ApprovalOption } from '@svc/protocol/approval.ts';
import type { TaskId } from '@svc/protocol/ids.ts';
import { Places } from './places.ts';
import { ShownChunks, type Chunk, type ChunkKind } from './shown-chunks.ts';
import type { Sender, Task } from '../task/task.ts';

/** What an effect reaches. `child` is another capsule. */
export type Port = 'model' | 'tool' | 'shell' | 'mcp' | 'hook' | 'child';

/** Something that a session has done outside of itself, and waits for. */
export interface Effect {
  /** Where in the session it is asked for: task, attempt, turn and call. The recorder adds `.2` to one that is asked for again. */
  readonly place: string;
  readonly port: Port;
  /** Names the model, the tool, the command, the hook or the capsule. */
  readonly name: string;
  /** What is asked, as JSON; of a model an `InferenceRequest`. */
  readonly input: unknown;
}

/**
 * What the outside of an effect may ask of the session: an answer to a question, a further host, a call in the middle of an inference, a completion, a
 * change of a file, a request.
 */
export type AskKind = 'input' | 'host' | 'call' | 'complete' | 'change' | 'program' | 'request';

/** What a session does for the outside of an effect while that lasts. */
export interface Inside {
  readonly chunk: (kind: ChunkKind, text: string) => void;
  /** Rejects as the session's own part of it does: with `TaskCanceled`, or with an Error whose message the outside reads. */
  readonly ask: (what: AskKind, value: unknown) => Promise<unknown>;
  /** Writes a line of the trace. False once that is impossible. */
  readonly note: (event: TraceEvent) => boolean;
  /** Records or plays what imports answer the component of the effect. */
  readonly imports?: CallImports;
}

/** An accepted task as it came. */
export type ArrivedTask = Pick<
  Task,
  'id' | 'contextId' | 'conversation' | 'origin' | 'trust' | 'lane' | 'sender' | 'command' | 'skills' | 'text'
>;

/** What comes to a session by itself. */
export type Arrival =
  /** `isDelivered` when the session itself submits the task, so that it takes no place of the queue. */
  | { readonly what: 'task'; readonly task: ArrivedTask; readonly isDelivered: boolean }
  | {
      readonly what: 'answer';
      readonly taskId: TaskId;
      readonly waitId: string;
      readonly sender: Sender | null;
      readonly text: string;
    }
  /** A person settled the approval with this name. */
  | {
      readonly what: 'decision';
      readonly taskId: TaskId;
      readonly waitId: string;
      readonly principal: string;
      readonly decision: 'allow' | 'deny';
      readonly option: ApprovalOption;
      readonly note: string | null;
    }
  | { readonly what: 'cancel'; readonly taskId: TaskId; readonly principal: string | null }
  /** `session/stop`: every live task is canceled. */
  | { readonly what: 'stop'; readonly principal: string | null }
  /** The session was asked to end. */
  | { readonly what: 'shut-down' }
  /** The session cannot go on: what it writes into has failed. */
  | { readonly what: 'trap'; readonly reason: Diagnostic }
  /** A timer of this name has run out. */
  | { readonly what: 'timer'; readonly name: string }
  /** Something outside has a line of the trace to write: a command in the background, a child, a limit that was reached. */
  | { readonly what: 'note'; readonly event: TraceEvent };

/** The time that hooks get after a stop has run out: events that they have not received yet are dropped. */
export const hooksTimeOver = { what: 'timer', name: 'hooks/stop' } as const satisfies Arrival;

/** Ids of checks still pending when this was recorded, unless an earlier event lists them. */
interface Overtaking {
  readonly past?: readonly string[];
}

/** What went through a recorder, in the order in which the session met it. Places are as the recorder numbers them. */
export type HistoryEvent =
  | ({ readonly kind: 'start' } & Effect)
  | ({
      readonly kind: 'ask';
      readonly place: string;
      readonly what: AskKind;
      readonly value: unknown;
      readonly chunks: readonly Chunk[];
    } & Overtaking)
  | ({ readonly kind: 'noted'; readonly place: string; readonly event: TraceEvent } & Overtaking)
  /** What the component of an effect was answered during one call, before its end. */
  | ({ readonly kind: 'imports'; readonly place: string } & ImportLog)
  | ({
      readonly kind: 'end';
      readonly place: string;
      /** Undefined when it was lost: nobody waited for it any more. */
      readonly value: unknown;
      readonly lost: boolean;
      /** Since the last `ask`. */
      readonly chunks: readonly Chunk[];
      readonly durationMs: number;
    } & Overtaking)
  /** A check of the session's own surroundings that something overtook, that overtook an earlier one, or that found something unusual. */
  | ({ readonly kind: 'settled'; readonly place: string } & Finding & Overtaking)
  /** The same for a check that was over at once, which a replay therefore finds where it asks for it. */
  | ({ readonly kind: 'found'; readonly place: string } & Finding)
  /** `together` when it came before the session could act on what had come just before. */
  | ({ readonly kind: 'arrived'; readonly together: boolean } & Arrival & Overtaking);

/** The result of an internal check. Usually null without a fault, which is not recorded. */
export interface Finding {
  /** Plain JSON. */
  readonly value: unknown;
  /** Why the check failed. */
  readonly fault: Diagnostic | null;
}

/** Where a session meets its outside. */
export interface Recorder {
  /**
   * Runs `live` and returns its result, which is plain JSON. `live` uses its argument in place of `inside`. Rejects with the reason of
   * `signal` when `live` rejects after that was aborted, and as `live` does otherwise.
   */
  effect<T>(
    effect: Effect & { readonly signal: AbortSignal },
    inside: Inside,
    live: (inside: Inside) => Promise<T>,
  ): Promise<T>;
  /** Waits for a check of the session's own surroundings that may take turns of the event loop: a measure, a check in a thread. */
  settle<T>(place: string, look: () => Promise<T | null>): Promise<T | null>;
  /** The same for a check that is over at once. */
  find<T>(place: string, look: () => T | null): T | null;
  /** Records what came by itself. Call it right before acting on that, in the same turn. */
  arrive(arrival: Arrival): void;
  /** Calls back once after `ms`, as an arrival; the returned function cancels the call. */
  timer(name: string, ms: number, callback: () => void): () => void;
  /** Call when a task has settled. Only late async hooks refer to it afterwards. */
  over(taskId: TaskId): void;
  /** The number of the effect that was last asked for at this place, counted from 1, if that is one of the latest; null where nothing is recorded. */
  stepOf(place: string): number | null;
}

/** The recorder of a session that is not recorded: everything passes as it comes. */
export function passThrough(clock: Pick<Clock, 'after'>): Recorder {
  return {
    effect: (_effect, inside, live) => live(inside),
    settle: (_place, look) => look(),
    find: (_place, look) => look(),
    arrive: () => {},
    timer: (_name, ms, callback) => clock.after(ms, callback),
    over: () => {},
    stepOf: () => null,
  };
}

function isUnusual({ value, fault }: Finding): boolean {
  return fault !== null || (value !== null && value !== undefined);
}

/** Records everything that goes through, before the session acts on it. */
type Append = (historyEvent: HistoryEvent) => void;

/** Effects whose numbers are known. */
const maxSteps = 64;

/** Counts effects as a journal counts its steps. */
class StepNumbers {
  readonly #latest = new BoundedMap<string, number>(maxSteps);
  #count = 0;

  add(place: string): void {
    this.#count += 1;
    this.#latest.set(place, this.#count);
  }

  of(place: string): number | null {
    return this.#latest.get(place) ?? null;
  }
}

/** The recorder of a session that is recorded. */
export class LiveRecorder implements Recorder {
  readonly #record: Append;
  readonly #clock: Pick<Clock, 'after' | 'monotonicMs'>;
  readonly #places = new Places();
  readonly #steps = new StepNumbers();
  readonly #deliveries: (() => void)[] = [];
  #isTurning = false;
  /** Counts deliveries and arrivals: work that none of them overtook needs no record. */
  #crossed = 0;
  /** Something has arrived, and the session has not acted on it yet. */
  #isUnmet = false;
  /** Checks that have not settled and that nothing recorded has overtaken. */
  readonly #open = new Set<string>();

  constructor(record: Append, clock: Pick<Clock, 'after' | 'monotonicMs'>) {
    this.#record = record;
    this.#clock = clock;
  }

  async effect<T>(
    { signal, ...effect }: Effect & { readonly signal: AbortSignal },
    inside: Inside,
    live: (inside: Inside) => Promise<T>,
  ): Promise<T> {
    const place = this.#places.next(effect.place);
    const startedMs = this.#clock.monotonicMs();
    this.#steps.add(effect.place);
    this.#record({ kind: 'start', ...effect, place });
    const shown = new ShownChunks();
    const end = (value: unknown, lost: boolean): void => {
      const durationMs = elapsedMs(this.#clock, startedMs);
      this.#record({ kind: 'end', place, value, lost, chunks: shown.take(), durationMs, ...this.#overtaking() });
    };
    try {
      const value = await live({
        chunk: (kind, text) => {
          shown.add(kind, text);
          inside.chunk(kind, text);
        },
        ask: (what, asked) =>
          this.#delivered(() => {
            this.#record({ kind: 'ask', place, what, value: asked, chunks: shown.take(), ...this.#overtaking() });
            return inside.ask(what, asked);
          }),
        note: (event) => {
          this.#crossed += 1;
          this.#record({ kind: 'noted', place, event, ...this.#overtaking() });
          return inside.note(event);
        },
        imports: { kind: 'recorded', keep: (log) => this.#record({ kind: 'imports', place, ...log }) },
      });
      return await this.#delivered(() => {
        end(value, false);
        return value;
      });
    } catch (error) {
      if (!signal.aborted || error instanceof Diagnostic) throw error;
      return await this.#delivered(() => {
        end(undefined, true);
        throw signal.reason;
      });
    }
  }

  async settle<T>(place: string, look: () => Promise<T | null>): Promise<T | null> {
    const numbered = this.#places.next(place);
    const before = this.#crossed;
    const tell = (finding: Finding): void => {
      const [first = numbered] = this.#open;
      this.#open.delete(numbered);
      // The delivery at hand is one of those that were counted.
      const isOvertaken = this.#crossed - 1 !== before;
      // A replay settles usual checks in the order in which they began.
      if (isOvertaken || first !== numbered || isUnusual(finding))
        this.#record({ kind: 'settled', place: numbered, ...finding, ...this.#overtaking() });
    };
    this.#open.add(numbered);
    try {
      const value = await look();
      return await this.#delivered(() => {
        tell({ value, fault: null });
        return value;
      });
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      return await this.#delivered(() => {
        tell({ value: null, fault: error });
        throw error;
      });
    }
  }

  find<T>(place: string, look: () => T | null): T | null {
    const numbered = this.#places.next(place);
    const tell = (finding: Finding): void => {
      if (isUnusual(finding)) this.#record({ kind: 'found', place: numbered, ...finding });
    };
    try {
      const value = look();
      tell({ value, fault: null });
      return value;
    } catch (error) {
      if (error instanceof Diagnostic) tell({ value: null, fault: error });
      throw error;
    }
  }

  arrive(arrival: Arrival): void {
    this.#crossed += 1;
    this.#record({ kind: 'arrived', together: this.#isUnmet, ...arrival, ...this.#overtaking() });
    // Runs before whatever the arrival has the session go on with.
    if (!this.#isUnmet) queueMicrotask(() => (this.#isUnmet = false));
    this.#isUnmet = true;
  }

  timer(name: string, ms: number, callback: () => void): () => void {
    const numbered = this.#places.next(name);
    return this.#clock.after(ms, () => {
      this.arrive({ what: 'timer', name: numbered });
      callback();
    });
  }

  over(taskId: TaskId): void {
    this.#places.over(taskId);
  }

  stepOf(place: string): number | null {
    return this.#steps.of(place);
  }

  /** For the event that is recorded now. A session that is killed before these checks settle would have them settle first in a replay. */
  #overtaking(): Overtaking {
    if (this.#open.size === 0) return {};
    const past = [...this.#open];
    this.#open.clear();
    return { past };
  }

  /** Runs `deliver` in a turn of the event loop that no other delivery shares. */
  #delivered<T>(deliver: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#deliveries.push(() => {
        this.#crossed += 1;
        try {
          resolve(deliver());
        } catch (error) {
          reject(error);
        }
      });
      this.#turn();
    });
  }

  #turn(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(() => {
      this.#isTurning = false;
      this.#deliveries.shift()?.();
      if (this.#deliveries.length > 0) this.#turn();
    });
  }
}
