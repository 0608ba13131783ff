/** Runs the components of a recorded session again, answers their imports from the recording, and compares what comes of it. */

import { type ImportLog } from '@svc/components/import-log.ts';
import { ComponentParted } from '@svc/components/parted.ts';
import type { HistoryEvent, Inside, Port } from '../recorder/recorder.ts';
import { encode } from './journal-lines.ts';
import { differenceSince, type Divergence } from './asked-again.ts';

/** How many calls of components a replay ran again, and how many it could only serve. */
export interface ComponentCalls {
  run: number;
  served: number;
}

type Crossed<Kind extends HistoryEvent['kind']> = Extract<HistoryEvent, { readonly kind: Kind }>;

type Outcome =
  | { readonly kind: 'ended'; readonly value: unknown }
  | { readonly kind: 'parted'; readonly why: ComponentParted };

interface Run {
  readonly port: Port;
  readonly outcome: Promise<Outcome>;
}

/** The calls of the components of a session, by the place of their effect. Without `isOn` none is run. */
export class ReplayedCalls {
  readonly calls: ComponentCalls = { run: 0, served: 0 };
  readonly #isOn: boolean;
  readonly #logs = new Map<string, ImportLog[]>();
  readonly #runs = new Map<string, Run>();
  /** Instances whose answers are not kept: they cannot be brought to where they were, so all that follows is served. */
  readonly #lost = new Set<string>();

  constructor(isOn: boolean) {
    this.#isOn = isOn;
  }

  /** Keeps the log of a call, in the order of the recording; `start` is that of its effect. */
  keep({ place, instance, log }: Crossed<'imports'>, start: Crossed<'start'> | undefined): void {
    // A session has one driver, whatever the models that it is asked for.
    const key = `${start?.port} ${start?.port === 'model' ? '' : start?.name} ${instance}`;
    if (log === null) this.#lost.add(key);
    const logs = this.#logs.get(place) ?? [];
    logs.push({ instance, log: this.#lost.has(key) ? null : log });
    this.#logs.set(place, logs);
  }

  /** Begins to run the component of an effect, where what it was answered is known. */
  run(place: string, port: Port, live: (inside: Inside) => Promise<unknown>): void {
    const logs = this.#logs.get(place) ?? [];
    if (!this.#isOn || logs.length === 0) return;
    if (logs.some(({ log }) => log === null)) {
      this.calls.served += logs.length;
      return;
    }
    this.calls.run += logs.length;
    const outcome = outcomeOf(live, [...logs]);
    // Its holder gets the error; nobody holds what was cut off.
    outcome.catch(() => {});
    this.#runs.set(place, { port, outcome });
  }

  /** Holds a component to its recorded end; null where none was run. Resolves to where the two part, or to null. */
  hold(end: Crossed<'end'>): Promise<Divergence | null> | null {
    const run = this.#runs.get(end.place);
    this.#runs.delete(end.place);
    return run === undefined ? null : divergenceOf(end, run);
  }
}

async function outcomeOf(live: (inside: Inside) => Promise<unknown>, left: ImportLog[]): Promise<Outcome> {
  try {
    const value = await live({
      // The session has them from the recording.
      chunk: () => {},
      ask: () => Promise.reject(new Error('a component that is run again asks its log')),
      note: () => true,
      imports: { kind: 'played', next: () => left.shift() ?? null },
    });
    if (left.length === 0) return { kind: 'ended', value };
    return { kind: 'parted', why: new ComponentParted(null, 'is called less often than in the recording') };
  } catch (error) {
    if (error instanceof ComponentParted) return { kind: 'parted', why: error };
    throw error;
  }
}

async function divergenceOf(
  { place, value, lost }: Crossed<'end'>,
  { port, outcome }: Run,
): Promise<Divergence | null> {
  // Nobody waited for what was cut off.
  if (lost) return null;
  const came = await outcome;
  if (came.kind === 'parted') {
    const { asked, problem, args } = came.why;
    const difference = args === null ? null : differenceSince(args.recorded, args.now);
    return { place, port, problem: `${asked ?? 'the component'} ${problem}`, ...difference };
  }
  const difference = differenceSince(recordedForm(value), recordedForm(came.value));
  return difference === null ? null : { place, port, problem: 'the component comes to something else', ...difference };
}

/**
 * The outcome as a journal holds it, without the usage of a model: an estimate is that of the text before secrets were taken out.
 */
function recordedForm(value: unknown): unknown {
  const form = JSON.parse(encode(value)) as { readonly response?: { readonly usage?: unknown } } | null;
  if (typeof form !== 'object' || form?.response === undefined) return form;
  const { usage: _, ...response } = form.response;
  return { ...form, response };
}
