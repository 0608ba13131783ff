/** Gives a session back what went through its recorder, in the order of the recording: nothing of it happens again. */

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { TaskId } from '@svc/protocol/ids.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import { exactly, type Judge, type Divergence } from './asked-again.ts';
import {
  type Arrival,
  type HistoryEvent,
  type Effect,
  type Recorder,
  type Inside,
  type Port,
} from '../recorder/recorder.ts';
import { Places } from '../recorder/places.ts';
import { type ComponentCalls, ReplayedCalls } from './replayed-calls.ts';

/** How a replay came out. */
export type ReplayEnd =
  /** Everything in the recording was met again. */
  | { readonly kind: 'same' }
  /** The recording has ended and the session waits or asks for more, or the recording has no end. It then met all that the recording holds. */
  | { readonly kind: 'cut-off'; readonly place: string | null }
  | { readonly kind: 'parted'; readonly parting: Divergence };

/** Where a session takes what comes by itself. */
export interface ReplayInputs {
  /** False where the session does not take it. */
  arrive(arrival: Exclude<Arrival, { readonly what: 'timer' | 'note' }>): boolean;
  note(event: TraceEvent): void;
}

interface WaitingEffect {
  readonly inside: Inside;
  readonly signal: AbortSignal;
  readonly resolve: (value: never) => void;
  readonly reject: (reason: unknown) => void;
}

interface WaitingLook {
  readonly resolve: (value: never) => void;
  readonly reject: (fault: Diagnostic) => void;
}

type Delivery = Exclude<HistoryEvent, { readonly kind: 'start' | 'found' | 'imports' }>;

/** How a session is run again. */
export interface ReplayTerms {
  /** Judges requests that differ from the recording; without it they may not differ. */
  readonly judge?: Judge;
  /** Whether components run again, with the recorded answers to their imports. */
  readonly runsComponents?: boolean;
  /** Whether the recording goes to the end of its session; true when absent. After the end of one that does not, the session may ask for more. */
  readonly isWhole?: boolean;
}

/** The recorder of a session that is run again over its recording. */
export class Replayer implements Recorder {
  readonly #places = new Places();
  readonly #starts = new Map<string, Extract<HistoryEvent, { kind: 'start' }>>();
  readonly #found = new Map<string, Extract<HistoryEvent, { kind: 'found' }>>();
  readonly #settledPlaces = new Set<string>();
  /** Checks that something overtook and that the session has not begun yet. */
  readonly #passed = new Set<string>();
  readonly #deliveries: Delivery[] = [];
  readonly #effects = new Map<string, WaitingEffect>();
  readonly #looks = new Map<string, WaitingLook>();
  /** Checks that found nothing unusual and that nothing overtook. */
  readonly #usual: WaitingLook[] = [];
  readonly #timers = new Map<string, () => void>();
  readonly #inputs: () => ReplayInputs;
  readonly #judge: Judge;
  readonly #components: ReplayedCalls;
  readonly #isWhole: boolean;
  /** A record that no session can meet; null without one. */
  #stray: Divergence | null = null;
  /** What the session asks for past the end of its recording; null as long as it does not. */
  #beyond: string | null = null;
  #end: (end: ReplayEnd) => void = () => {};
  #fail: (error: unknown) => void = () => {};
  #isOver = false;
  #next = 0;

  /** Resolves once the recording is used up and the session is quiet, or the two differ. Rejects with the error given to `fail`. */
  readonly ended: Promise<ReplayEnd> = new Promise((resolve, reject) => {
    this.#end = resolve;
    this.#fail = reject;
  });

  constructor(recording: Iterable<HistoryEvent>, inputs: () => ReplayInputs, terms: ReplayTerms = {}) {
    const { judge = exactly(), runsComponents = false, isWhole = true } = terms;
    this.#inputs = inputs;
    this.#judge = judge;
    this.#isWhole = isWhole;
    this.#components = new ReplayedCalls(runsComponents);
    for (const historyEvent of recording) this.#take(historyEvent);
  }

  #take(historyEvent: HistoryEvent): void {
    switch (historyEvent.kind) {
      case 'start':
        return this.#keep(this.#starts, historyEvent, historyEvent.port);
      case 'found':
        return this.#keep(this.#found, historyEvent, 'look');
      case 'imports': {
        const { place } = historyEvent;
        const start = this.#starts.get(place);
        if (start === undefined) this.#stray ??= { place, port: 'component', problem: 'was not asked for' };
        return this.#components.keep(historyEvent, start);
      }
      case 'settled':
        this.#settledPlaces.add(historyEvent.place);
        break;
      case 'ask':
      case 'noted':
      case 'end':
      case 'arrived':
    }
    for (const place of historyEvent.past ?? []) this.#passed.add(place);
    this.#deliveries.push(historyEvent);
  }

  /** A session numbers its places: none is met twice. */
  #keep<Kept extends { readonly place: string }>(kept: Map<string, Kept>, historyEvent: Kept, port: string): void {
    const { place } = historyEvent;
    if (kept.has(place)) this.#stray ??= { place, port, problem: 'is in the recording twice' };
    else kept.set(place, historyEvent);
  }

  /** Calls of components. */
  get componentCalls(): ComponentCalls {
    return this.#components.calls;
  }

  /** Begins to deliver: the session is there. */
  begin(): void {
    setImmediate(() => this.#turn());
  }

  /** The session is over. */
  finish(): void {
    const left = this.#deliveries.slice(this.#next);
    const unmet = left.find((each) => each.kind !== 'arrived' || each.what === 'task' || each.what === 'answer');
    if (unmet !== undefined) {
      void this.#part({ ...metAt(unmet), problem: 'the session is over, and the recording goes on' });
      return;
    }
    // What came by itself after the end met nobody, but was written down.
    for (const each of left) if (each.kind === 'arrived' && each.what === 'note') this.#inputs().note(each.event);
    this.#overUnlessLeft(this.#isWhole ? { kind: 'same' } : { kind: 'cut-off', place: null });
  }

  /** The session cannot take what it was given: nothing more is delivered. */
  fail(error: unknown): void {
    this.#isOver = true;
    this.#fail(error);
  }

  effect<T>(
    effect: Effect & { readonly signal: AbortSignal },
    inside: Inside,
    live: (inside: Inside) => Promise<T>,
  ): Promise<T> {
    const place = this.#places.next(effect.place);
    const { port, name, input, signal } = effect;
    const recorded = this.#starts.get(place);
    this.#starts.delete(place);
    if (recorded === undefined) return this.#unrecorded(place, port, name);
    const fault = this.#judge({ place, recorded, now: { port, name, input } });
    if (fault !== null) return this.#part({ place, port, ...fault });
    this.#components.run(place, port, live);
    return new Promise<T>((resolve, reject) => {
      this.#effects.set(place, { inside, signal, resolve, reject });
    });
  }

  settle(place: string): Promise<null> {
    const numbered = this.#places.next(place);
    // If something went past a look, the look waits for its record, which a session that was killed may not have written.
    const isRecorded = this.#passed.delete(numbered) || this.#settledPlaces.has(numbered);
    return new Promise<null>((resolve, reject) => {
      if (isRecorded) this.#looks.set(numbered, { resolve, reject });
      else this.#usual.push({ resolve, reject });
    });
  }

  find(place: string): null {
    const numbered = this.#places.next(place);
    const found = this.#found.get(numbered);
    this.#found.delete(numbered);
    if (found === undefined) return null;
    if (found.fault !== null) throw found.fault;
    return found.value as null;
  }

  arrive(_arrival: Arrival): void {}

  timer(name: string, _ms: number, callback: () => void): () => void {
    const numbered = this.#places.next(name);
    this.#timers.set(numbered, callback);
    return () => this.#timers.delete(numbered);
  }

  over(taskId: TaskId): void {
    this.#places.over(taskId);
  }

  stepOf(): null {
    return null;
  }

  /** Never settles. */
  #unrecorded(place: string, port: Port, name: string): Promise<never> {
    const isPast = !this.#isWhole && this.#next === this.#deliveries.length;
    if (!isPast) return this.#part({ place, port, problem: `${name} was not asked for in the recording` });
    this.#beyond ??= place;
    return new Promise(() => {});
  }

  #turn(): void {
    if (this.#isOver) return;
    try {
      this.#deliverNext();
    } catch (error) {
      this.fail(error);
    }
  }

  #deliverNext(): void {
    const usual = this.#usual.shift();
    const delivery = usual === undefined ? this.#deliveries[this.#next] : undefined;
    if (delivery?.kind === 'end' && this.#awaitsComponent(delivery)) return;
    if (usual !== undefined) usual.resolve(null as never);
    else if (delivery === undefined) return this.#usedUp();
    else {
      this.#next += 1;
      this.#deliver(delivery);
      this.#deliverTogether();
    }
    setImmediate(() => this.#turn());
  }

  /** The end of a component that is run again is handed over once it has come to the same. */
  #awaitsComponent(end: Extract<HistoryEvent, { kind: 'end' }>): boolean {
    const held = this.#components.hold(end);
    held?.then(
      (parting) => {
        if (parting === null) setImmediate(() => this.#turn());
        else void this.#part(parting);
      },
      (error: unknown) => this.fail(error),
    );
    return held !== null;
  }

  /** What came before the session could act on the one before it does so again. */
  #deliverTogether(): void {
    for (
      let next = this.#deliveries[this.#next];
      next?.kind === 'arrived' && next.together;
      next = this.#deliveries[this.#next]
    ) {
      this.#next += 1;
      this.#deliver(next);
    }
  }

  /** Nothing more comes: a session that has not ended by now waits for what its recording does not hold. */
  #usedUp(): void {
    setImmediate(() => {
      // Names what began last: an asynchronous hook may have waited for long.
      const place = this.#beyond ?? [...this.#effects.keys()].at(-1) ?? [...this.#looks.keys()].at(-1) ?? null;
      if (this.#isWhole) this.#over({ kind: 'cut-off', place });
      else this.#overUnlessLeft({ kind: 'cut-off', place });
    });
  }

  /** The end, unless something in the recording was not met. */
  #overUnlessLeft(end: ReplayEnd): void {
    const left = this.#leftOver();
    this.#over(left === null ? end : { kind: 'parted', parting: left });
  }

  #leftOver(): Divergence | null {
    const [start] = this.#starts.values();
    if (start !== undefined) return { place: start.place, port: start.port, problem: 'was not asked for again' };
    const [found] = this.#found.keys();
    const [passed] = this.#passed;
    const look = found ?? passed;
    if (look !== undefined) return { place: look, port: 'look', problem: 'was not looked at again' };
    return this.#stray;
  }

  #deliver(delivery: Delivery): void {
    switch (delivery.kind) {
      case 'end':
        return this.#deliverEnd(delivery);
      case 'ask':
        return this.#within(delivery, ({ inside }) => {
          for (const [kind, text] of delivery.chunks) inside.chunk(kind, text);
          // What the session answers went to the outside, which is not there.
          inside.ask(delivery.what, delivery.value).catch(() => {});
        });
      case 'noted':
        return this.#within(delivery, ({ inside }) => void inside.note(delivery.event));
      case 'settled':
        return this.#deliverLook(delivery);
      case 'arrived':
        return this.#deliverArrival(delivery);
    }
  }

  #deliverEnd(end: Extract<HistoryEvent, { kind: 'end' }>): void {
    this.#within(end, ({ inside, signal, resolve, reject }) => {
      this.#effects.delete(end.place);
      for (const [kind, text] of end.chunks) inside.chunk(kind, text);
      if (!end.lost) return resolve(end.value as never);
      if (signal.aborted) return reject(signal.reason);
      void this.#part({ ...metAt(end), problem: 'was cut off in the recording, and nothing cuts it off now' });
    });
  }

  #within(
    { place, kind }: { readonly place: string; readonly kind: string },
    use: (waiting: WaitingEffect) => void,
  ): void {
    const waiting = this.#effects.get(place);
    if (waiting !== undefined) use(waiting);
    else void this.#part({ place, port: this.#starts.get(place)?.port ?? kind, problem: 'was not asked for again' });
  }

  #deliverLook({ place, value, fault }: Extract<HistoryEvent, { kind: 'settled' }>): void {
    const waiting = this.#looks.get(place);
    this.#looks.delete(place);
    if (waiting === undefined) void this.#part({ place, port: 'look', problem: 'was not looked at again' });
    else if (fault !== null) waiting.reject(fault);
    else waiting.resolve(value as never);
  }

  #deliverArrival(arrival: Extract<HistoryEvent, { kind: 'arrived' }>): void {
    if (arrival.what === 'note') return this.#inputs().note(arrival.event);
    if (arrival.what !== 'timer') {
      if (this.#inputs().arrive(arrival)) return;
      return void this.#part({ ...metAt(arrival), problem: 'was taken in the recording, and is refused now' });
    }
    const callback = this.#timers.get(arrival.name);
    this.#timers.delete(arrival.name);
    if (callback === undefined)
      void this.#part({ place: arrival.name, port: 'timer', problem: 'was not started again' });
    else callback();
  }

  /** Never settles: the session does not go on from there. */
  #part(parting: Divergence): Promise<never> {
    this.#over({ kind: 'parted', parting });
    return new Promise(() => {});
  }

  #over(end: ReplayEnd): void {
    this.#isOver = true;
    this.#end(end);
  }
}

function metAt(delivery: Delivery): Pick<Divergence, 'place' | 'port'> {
  if (delivery.kind !== 'arrived') return { place: delivery.place, port: delivery.kind };
  const { what: port } = delivery;
  if (delivery.what === 'task') return { place: delivery.task.id, port };
  return { place: 'taskId' in delivery ? delivery.taskId : 'session', port };
}
