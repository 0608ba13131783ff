/** Makes the delegations of a session whose children and referee are stand-ins. */

import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { killLiveGroups } from '@svc/sandbox/child-group.ts';
import { Delegations } from '@svc/session/delegation/delegations.ts';
import type { CompletionDelivery, DelegationsDeps } from '@svc/session/delegation/delegations-deps.ts';
import { SessionReferee } from '@svc/session/delegation/session-referee.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import type { ContextId, SessionId } from '@svc/protocol/ids.ts';
import { Arrivals } from './arrivals.ts';
import { FakeClock } from './fake-clock.ts';
import { StandInReferee } from './stand-in-referee.ts';

/** See `stand-in-child.mjs`. */
export type ChildBehaviour = Readonly<Record<string, unknown>>;

export const parentSession = 'ses_ffffffffffffffffffffffffffffffff';
export const childSession = 'ses_000102030405060708090a0b0c0d0e03';

type Line = Extract<TraceEvent, { event_type: 'delegation' }>;

/** Time that a test moves. Waits between attempts are over at once, and have moved it. */
class AttemptClock extends FakeClock {
  override after(ms: number, callback: () => void): () => void {
    if (ms > maxWait) return super.after(ms, callback);
    const cancelTimer = super.after(ms, callback);
    const turn = setImmediate(() => this.advance(ms));
    return () => {
      clearImmediate(turn);
      cancelTimer();
    };
  }
}

const maxWait = 1000;

/** The parent's side of delegation with stand-ins for everything else: real children, a real socket, time that a test moves. */
export class DelegationsFixture {
  readonly clock = new AttemptClock();
  readonly referee: StandInReferee;
  /** The parent's accessible workdir. */
  readonly workdir: string;
  readonly delegations: Delegations;
  /** Lines of the trace, those of calls among them. */
  readonly lines = new Arrivals<Line>();
  /** What the session was given as completions. */
  readonly delivered = new Arrivals<CompletionDelivery>();
  readonly warnings: string[] = [];
  /** What `completion.json` held each time it was written. */
  readonly written: Readonly<Record<string, unknown>>[] = [];
  /** Refuses this many deliveries. */
  refusals = 0;
  readonly #root: string;

  static async start(behaviour: ChildBehaviour, changes: Partial<DelegationsDeps> = {}): Promise<DelegationsFixture> {
    return new DelegationsFixture(await StandInReferee.start(), behaviour, changes);
  }

  private constructor(referee: StandInReferee, behaviour: ChildBehaviour, changes: Partial<DelegationsDeps>) {
    this.referee = referee;
    this.#root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-delegations-')));
    this.workdir = join(this.#root, 'work');
    this.delegations = new Delegations({ ...this.#deps(behaviour), ...changes });
  }

  /** As a tool or a plan makes it. */
  call(signal: AbortSignal = new AbortController().signal): {
    taskId: string;
    place: string;
    signal: AbortSignal;
    record: (event: TraceEvent) => boolean;
  } {
    return { taskId: 'tsk_parent', place: 'tsk_parent/1/m1/t1', signal, record: (event) => this.#record(event) };
  }

  /** Where the only child that was started works. */
  readChildFile(childWorkdir: string, name: string): Readonly<Record<string, unknown>> {
    return JSON.parse(readFileSync(join(this.workdir, childWorkdir, name), 'utf8')) as Record<string, unknown>;
  }

  async dispose(): Promise<void> {
    killLiveGroups();
    await this.delegations.stop();
    await this.referee.close();
    rmSync(this.#root, { recursive: true, force: true });
  }

  #record(event: TraceEvent): boolean {
    if (event.event_type !== 'delegation') throw new Error(`a line of type ${event.event_type}`);
    this.lines.push(event);
    return true;
  }

  #deps(behaviour: ChildBehaviour): DelegationsDeps {
    const make = (...below: string[]): string => {
      const path = join(this.#root, ...below);
      mkdirSync(path, { recursive: true });
      return path;
    };
    return {
      referee: new SessionReferee(this.referee.url),
      credential: new Secret('msc1.credential-of-the-test'),
      sessionId: parentSession as SessionId,
      childGraceMs: 8000,
      capture: 'meta',
      project: null,
      url: 'http://127.0.0.1:4711',
      workdir: this.workdir,
      makeChildDirectory: (directory) => make('work', '.svc', 'children', directory),
      makeChildRoot: (directory) => make('roots', directory),
      writeChildFile: (directory, name, text) => {
        this.written.push(JSON.parse(text) as Record<string, unknown>);
        writeFileSync(join(directory, name), text);
      },
      program: { command: process.execPath, args: [standIn, JSON.stringify(behaviour)] },
      pid: process.pid,
      env: { PATH: process.env['PATH'], HOME: join(this.#root, 'home') },
      envAllow: [],
      spawnAllow: ['worker'],
      readChild: async () => ({ kind: 'read', envAllow: [], mayAsk: false }),
      deadlineMs: 600_000,
      telemetry: null,
      taskFacts: () => ({
        contextId: 'ctx_parent' as ContextId,
        conversation: 'token:ann ctx_parent' as ContextId,
        trust: 'untrusted',
      }),
      deliver: (delivery) => {
        this.delivered.push(delivery);
        this.refusals -= 1;
        return this.refusals < 0 ? null : 'the queue is full';
      },
      redact: (text) => text.replaceAll('known-secret', '[secret]'),
      record: (event) => this.#record(event),
      warn: (line) => this.warnings.push(line),
      clock: this.clock,
    };
  }
}

const standIn = fileURLToPath(new URL('stand-in-child.mjs', import.meta.url));
