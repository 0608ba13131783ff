/** Counts what a session uses of its grants, records what was denied, and sums what went over the network. */

import type { Socket } from 'node:net';

import type { Clock } from '@svc/kit/clock.ts';
import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import { type NetworkDestination, parseDestination } from '@svc/kit/net/network-destination.ts';
import type { EgressDecision } from '@svc/sandbox/egress/egress-rules.ts';
import type { Activity, SessionActivity } from '@svc/session/task/activity.ts';
import type { Task } from '@svc/session/task/task.ts';
import type { JudgedDispatch } from '@svc/session/tools/tool.ts';
import { BoundedLines } from '@svc/record/trace/bounded-lines.ts';
import { type Serious, SeriousRefusals, seriousWords } from '@svc/record/trace/serious-refusals.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import { EgressSums } from './egress-sums.ts';

type Line<Type extends TraceEvent['event_type']> = Extract<TraceEvent, { readonly event_type: Type }>;
type RefusedKind = Line<'refusal'>['what'];
type Refusal = Omit<Line<'refusal'>, 'event_type' | 'task_id'>;
interface Refused extends Refusal {
  /** Whether the host has led to an address at which clouds give keys to any program. */
  readonly isMetadata?: boolean | undefined;
}
/** What the last line says of the grants. */
export type RecordedUsage = NonNullable<Line<'session_end'>['grant_evidence']>;

/** Commands share one proxy: which of them asked is not known. */
const programs = 'programs';
const ofNetwork = 'capabilities.network.allow';
/** The most characters of a name, and of a rule, in a line. */
const maxText = 512;

/** What is seen of the requests of one component. */
export interface ComponentTraffic {
  readonly onTraffic: (exchange: { readonly url: URL; readonly bytesIn: number; readonly bytesOut: number }) => void;
  readonly onRefused: (url: URL, rule?: string, isMetadata?: boolean) => void;
}

class Sums {
  readonly #sums = new Map<string, { used: number; refused: number }>();

  add(name: string, what: 'used' | 'refused'): void {
    const sum = this.#sums.get(name) ?? { used: 0, refused: 0 };
    sum[what] += 1;
    this.#sums.set(name, sum);
  }

  /** In the order of their names. */
  get all(): Record<string, { used: number; refused: number }> {
    return Object.fromEntries([...this.#sums].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** Counts what one session used of its grants, from its activity and from those who watch its network. A line that cannot be written ends nothing here. */
export class GrantUsage {
  readonly #lines: BoundedLines;
  readonly #serious: SeriousRefusals;
  readonly #onWarning: (warning: Diagnostic) => void;
  readonly #commands = new Sums();
  readonly #tools = new Sums();
  readonly #capsules = new Sums();
  readonly #hooks = new Sums();
  readonly #egress = new EgressSums();
  #unknownCalls = 0;
  readonly #activity: () => SessionActivity | null;
  /** To whose attempt the line belongs that is being written. */
  #task: Task | null = null;

  /** Writes its lines to the activity that is there then, and warns of what is serious. */
  constructor(
    clock: Pick<Clock, 'monotonicMs' | 'after'>,
    activity: () => SessionActivity | null,
    onWarning: (warning: Diagnostic) => void,
  ) {
    this.#activity = activity;
    this.#onWarning = onWarning;
    this.#serious = new SeriousRefusals(clock);
    this.#lines = new BoundedLines({
      clock,
      write: (event) => this.#write(event),
      counted: (key, count) => {
        const [what = '', ...by] = key.split(' ');
        return { event_type: 'refusals', what: what as RefusedKind, by: by.join(' '), count };
      },
    });
  }

  /** The proxy has decided where a program may connect. */
  readonly onDecision = ({ destination: name, verdict, rule = ofNetwork, isMetadata }: EgressDecision): void => {
    const reading = parseDestination(name ?? '');
    if (reading.kind !== 'destination') return;
    const place = placeOf(reading.destination);
    this.#egress.add({ ...place, by: programs, allowed: verdict !== 'refused', connections: 1 });
    if (verdict === 'refused') this.#refused({ what: 'host', name: addressOf(place), rule, by: programs, isMetadata });
  };

  /** The proxy has connected a program. What passes is summed when the connection ends, or the session. */
  readonly onConnection = (to: NetworkDestination, socket: Socket): void => {
    this.#egress.follow({ ...placeOf(to), by: programs }, socket);
  };

  /** For the component of an artifact. */
  ofComponent(by: string): ComponentTraffic {
    return {
      onTraffic: ({ url, bytesIn, bytesOut }) =>
        this.#egress.add({ ...placeIn(url), by, allowed: true, connections: 1, bytesIn, bytesOut }),
      onRefused: (url, rule = ofNetwork, isMetadata) => {
        const place = placeIn(url);
        this.#egress.add({ ...place, by, allowed: false, connections: 1 });
        this.#refused({ what: 'host', name: addressOf(place), rule, by, isMetadata });
      },
    };
  }

  /** A program that a command has started was killed before it began. */
  readonly onProgramKilled = (name: string, rule: string): void =>
    this.#refused({ what: 'command', name, rule, by: 'approvals' });

  /** A hook is asked. */
  readonly onHookAsked = (name: string): void => this.#hooks.add(name, 'used');

  /** Writes what is left to write before the last line, and gives what that holds. */
  settle(): RecordedUsage {
    this.#lines.settle();
    for (const line of this.#egress.lines()) this.#write(line);
    return {
      commands: this.#commands.all,
      tools: this.#tools.all,
      hosts: this.#egress.hosts(),
      capsules: this.#capsules.all,
      hooks: this.#hooks.all,
      unknown_calls: this.#unknownCalls,
    };
  }

  close(): void {
    this.#lines.close();
  }

  /** Hears the activity of the session. */
  hear(told: Activity): void {
    if (told.kind === 'call-judged') this.#judged(told.task, told.call);
    if (told.kind === 'file-refused') {
      const { path, rule, by } = told.file;
      this.#ofTask(told.task, { what: 'file', name: path, rule, by });
    }
    if (told.kind !== 'noted') return;
    const { event } = told;
    if (event.event_type === 'hook_error') this.#hooks.add(event.hook_name, 'refused');
    if (event.event_type !== 'delegation') return;
    if (event.status === 'started') this.#capsules.add(event.capsule, 'used');
    if (event.status === 'refused') this.#capsules.add(event.capsule, 'refused');
  }

  #judged(task: Task, { name, kind, refusal }: JudgedDispatch): void {
    const what = kind === 'shell' ? 'command' : 'tool';
    if (kind === 'unknown') this.#unknownCalls += 1;
    else (kind === 'shell' ? this.#commands : this.#tools).add(name, refusal === null ? 'used' : 'refused');
    if (refusal === null) return;
    this.#ofTask(task, { what, name, ...refusal });
  }

  #ofTask(task: Task, refusal: Refusal): void {
    this.#task = task;
    this.#refused(refusal, task);
    this.#task = null;
  }

  #refused({ what, name, rule, by, isMetadata = false }: Refused, task: Task | null = null): void {
    const line = {
      event_type: 'refusal',
      ...(task === null ? {} : { task_id: task.id }),
      what,
      name: shortened(name, maxText),
      rule: shortened(rule, maxText),
      by,
    } as const;
    const serious = this.#serious.of({ ...line, isMetadata });
    // However many lines there are: those before it must not hide it.
    if (serious === null) this.#lines.add(`${what} ${by}`, () => line);
    else this.#tellSerious({ ...line, serious });
  }

  #tellSerious(line: Line<'refusal'> & { readonly serious: Serious }): void {
    const { what, name, by, rule, serious } = line;
    this.#onWarning(
      new Diagnostic('W-APR-004', `${seriousWords[serious]}: ${what} ${name}, asked for by ${by} (${rule})`),
    );
    this.#write(line);
  }

  #write(event: TraceEvent): boolean {
    const [activity, task] = [this.#activity(), this.#task];
    return activity !== null && diagnosticOf(() => activity.emit({ kind: 'noted', task, event })) === null;
  }
}

interface Place {
  readonly host: string;
  readonly port: number;
}

function placeOf({ host, port }: NetworkDestination): Place {
  return { host, port: port ?? 0 };
}

function placeIn({ hostname: host, port, protocol }: URL): Place {
  return { host, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) };
}

function addressOf({ host, port }: Place): string {
  return `${host}:${port}`;
}
