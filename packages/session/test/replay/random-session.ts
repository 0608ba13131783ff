/** Sessions in which much happens at once and whose outcomes are left to real chance, recorded and run again. */

import { runSync } from '@svc/kit/yield-to-loop.ts';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

import { FakeHooks } from '../../../../test/support/fake-hooks.ts';
import { SessionFixture } from '../../../../test/support/session-fixture.ts';
import type { FakeClock } from '../../../../test/support/fake-clock.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import type { ContextId, SessionId } from '@svc/protocol/ids.ts';
import type { TaskSource } from '../../src/task/task.ts';
import { Approvals } from '../../src/approvals/approvals.ts';
import { callHook } from '../../src/hooks/hook.ts';
import { type HistoryEvent, type Recorder, LiveRecorder } from '../../src/recorder/recorder.ts';
import { recordedHookCalls } from '../../src/recorder/recorded-effects.ts';
import { JournalReader } from '@svc/record/journal/journal-reader.ts';
import { journalFile, openJournal } from '@svc/record/journal/journal-writer.ts';
import { JournalLines } from '../../src/replay/journal-lines.ts';
import { readRecording } from '../../src/replay/recorded-history.ts';
import { type ReplayEnd, Replayer } from '../../src/replay/replayer.ts';
import { replayedApprovals } from '../../src/replay/replayed-approvals.ts';
import { replayInputs } from '../../src/replay/replay-inputs.ts';
// The program loads late code within a turn of the event loop: nothing comes in between.
import '../../src/loop/named-skills.ts';
import '../../src/loop/task-runner.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import { aWhile, chance, oneOf } from './left-to-chance.ts';
import { approvalRules, randomTools } from './random-tools.ts';
import { randomTurn } from './random-turns.ts';

/** What a session left: its trace without what is never the same. */
export interface Outcome {
  readonly status: string;
  readonly traced: readonly unknown[];
}

export interface Recorded extends Outcome {
  readonly historyEvents: readonly HistoryEvent[];
  /** How many lines the trace had before each of them. */
  readonly tracedBefore: readonly number[];
}

/** What of a journal is there after a kill. */
export interface Killed {
  readonly kept: readonly HistoryEvent[];
  /** The lines of the trace that were there by then. */
  readonly traced: readonly unknown[];
}

type RecorderOf = (record: (historyEvent: HistoryEvent) => void, clock: FakeClock) => Recorder;

/** One whose checks take as long as chance has it: a measure of a large folder, a schema in a thread. */
class SlowLooks extends LiveRecorder {
  override async settle<T>(place: string, look: () => Promise<T | null>): Promise<T | null> {
    return await super.settle(place, async () => {
      await aWhile();
      return await look();
    });
  }
}

const throughOneGate: RecorderOf = (record, clock) => new SlowLooks(record, clock);

/** Runs a session of chance and gives its trace and what went through its recorder. */
export async function recordRandomSession(recorderOf: RecorderOf = throughOneGate): Promise<Recorded> {
  const historyEvents: HistoryEvent[] = [];
  const run = await runRandomSession(recorderOf, (historyEvent) => historyEvents.push(structuredClone(historyEvent)));
  return { ...run, historyEvents };
}

/** The same by way of a journal on the disk. */
export async function journalRandomSession(): Promise<Recorded> {
  return await journaled((recorded) => recorded);
}

/** What a kill leaves of the journal of a session of chance: at each of its records, or at so many of them where it has more. */
export async function killedRandomSession(most: number): Promise<readonly Killed[]> {
  return await journaled(({ traced, tracedBefore }, directory) => {
    const file = join(directory, journalFile);
    const lines = readFileSync(file, 'utf8').split(/(?<=\n)/);
    const ends = lines.map((_, index) => index + 1).filter(() => Math.random() * lines.length < most);
    const killed = ends.map((end) => {
      writeFileSync(file, lines.slice(0, end).join(''));
      const kept = readBack(directory);
      return { kept, traced: traced.slice(0, tracedBefore[kept.length] ?? traced.length) };
    });
    // The records of texts alone are nothing that a session meets.
    return killed.filter(({ kept }, index) => kept.length !== killed[index - 1]?.kept.length);
  });
}

async function journaled<Value>(use: (recorded: Recorded, directory: string) => Value): Promise<Value> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-journal-'));
  try {
    const session = 'ses_00000000000000000000000000000001' as SessionId;
    const redact = (text: string): string => text;
    const limits = { maxBody: 8 * 1024 * 1024, maxBytes: 256 * 1024 * 1024 };
    const clock = { now: () => 1 };
    const journal = openJournal({ directory, session, capture: 'content', redact, limits, clock, onFull: () => {} });
    const about = {
      svc: '0.4.0',
      node: '20.20.2',
      trusted: true,
      capsule: { name: 'demo', version: '1.0.0' },
    } as const;
    journal.append({ k: 'open', version: 1, session, epoch: 1, capture: 'content', ...about });
    const lines = new JournalLines(journal, redact);
    const run = await runRandomSession(throughOneGate, (historyEvent) => runSync(lines.write(historyEvent, 1)));
    journal.close();
    return use({ ...run, historyEvents: readBack(directory) }, directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function readBack(directory: string): readonly HistoryEvent[] {
  const held = HeldDirectory.open(directory);
  const reader = JournalReader.open(held, null);
  try {
    if (reader === null) throw new Error('there is no journal');
    const { historyEvents, damage, missing } = readRecording(reader);
    if (damage !== null || missing !== null) throw new Error(JSON.stringify({ damage, missing }));
    return historyEvents;
  } finally {
    reader?.close();
    held.close();
  }
}

async function runRandomSession(
  recorderOf: RecorderOf,
  onHistoryEvent: (historyEvent: HistoryEvent) => void,
): Promise<Omit<Recorded, 'historyEvents'>> {
  const tracedBefore: number[] = [];
  const record = (historyEvent: HistoryEvent): void => {
    tracedBefore.push(world.traced().length);
    onHistoryEvent(historyEvent);
  };
  const world: World = new World((clock) => recorderOf(record, clock));
  try {
    const run = world.run();
    const disturbing = world.disturb(run);
    const { status } = await run;
    await disturbing;
    return { status, traced: world.traced(), tracedBefore };
  } finally {
    await world.dispose();
  }
}

/** Runs the session again over what went through its recorder, up to its end where the recording is whole. */
export async function replaySession(
  historyEvents: readonly HistoryEvent[],
  isWhole = true,
): Promise<{ readonly end: ReplayEnd; readonly status: string | null; readonly traced: readonly unknown[] }> {
  const recorder: Replayer = new Replayer(historyEvents, () => world.inputs(), { isWhole });
  const world = new World(() => recorder);
  try {
    recorder.begin();
    const run = world.run().then(({ status }) => {
      recorder.finish();
      return status;
    });
    const end = await recorder.ended;
    return { end, status: end.kind === 'same' ? await run : null, traced: world.traced() };
  } finally {
    await world.dispose();
  }
}

/** Two clients with a conversation each, of one and the same name, and some that begin one of their own. */
function from(): Pick<TaskSource, 'contextId' | 'sender'> {
  if (chance(3)) return {};
  const principal = chance(2) ? 'token:ann' : 'token:bob';
  return { contextId: 'main' as ContextId, sender: { principal, tags: {} } };
}

class World {
  readonly #directory = mkdtempSync(join(tmpdir(), 'svc-replay-'));
  readonly #fixture: SessionFixture;
  readonly #recorder: Recorder;
  readonly #hooks: FakeHooks;
  readonly #tools: ReturnType<typeof randomTools>;

  constructor(recorderOf: (clock: FakeClock) => Recorder) {
    let recorder: Recorder | null = null;
    const fixed = (clock: FakeClock): Recorder => (recorder ??= recorderOf(clock));
    const late: Recorder = {
      effect: (...args) => fixed(this.#fixture.clock).effect(...args),
      settle: (...args) => fixed(this.#fixture.clock).settle(...args),
      find: (...args) => fixed(this.#fixture.clock).find(...args),
      arrive: (...args) => fixed(this.#fixture.clock).arrive(...args),
      timer: (...args) => fixed(this.#fixture.clock).timer(...args),
      over: (taskId) => fixed(this.#fixture.clock).over(taskId),
      stepOf: (place) => fixed(this.#fixture.clock).stepOf(place),
    };
    this.#hooks = hooksOf(late, (event) => this.#fixture.activity.emit({ kind: 'noted', task: null, event }));
    this.#tools = randomTools(this.#directory, late);
    const { set } = this.#hooks;
    this.#fixture = new SessionFixture({
      recorder: fixed,
      turns: Array.from({ length: 400 }, () => randomTurn),
      tools: this.#tools.tools,
      approvals: approvalsOf,
      maxTurns: 6,
      maxReopens: 2,
      inputTimeoutMs: 1000,
      threaded: true,
      acceptance: { queueDepth: 3 },
      spendCeiling: 100_000,
      hooks: {
        taskStarted: (...args) => set.taskStarted(...args),
        inferred: (...args) => set.inferred(...args),
        judgeCall: (...args) => set.judgeCall(...args),
        taskEnded: (...args) => set.taskEnded(...args),
        takeArtifacts: (id) => set.takeArtifacts(id),
        mayReopen: set.mayReopen,
      },
    });
    this.#recorder = fixed(this.#fixture.clock);
  }

  async run(): Promise<{ readonly status: string }> {
    const { session } = this.#fixture;
    if (!(this.#recorder instanceof Replayer)) {
      session.board.submit({ text: 'Begin.', origin: 'user', trust: 'trusted' });
    }
    await this.#hooks.set.sessionStarted();
    const { status } = await session.run();
    await this.#hooks.set.sessionEnded(status);
    return { status };
  }

  /** Does what people, children and commands do to a session until it is over. */
  async disturb(run: Promise<unknown>): Promise<void> {
    const over = { yet: false };
    void run.finally(() => (over.yet = true));
    const { board } = this.#fixture.session;
    while (!over.yet) {
      // What comes from outside comes in a turn of the event loop of its own.
      await setImmediate();
      await aWhile();
      this.#answerMaybe();
      this.#decideMaybe();
      if (chance(12)) this.#fixture.clock.advance(500);
      if (chance(15)) {
        const skills = oneOf([[], ['skill'], ['guide', 'narrow']]);
        board.submit({ text: `And ${Math.random()}?`, origin: 'message', trust: 'untrusted', skills, ...from() });
      }
      if (chance(25)) this.#endOfWork();
      if (chance(40)) void board.cancelAll();
      const current = board.current();
      if (current !== null && chance(30)) void board.cancel(current);
    }
  }

  /** As messages do, as who names the question does, and as who names one that is settled does in vain. */
  #answerMaybe(): void {
    const { board } = this.#fixture.session;
    const task = board.current();
    const wait = task?.inputWait ?? null;
    if (task === null || wait === null || !chance(2)) return;
    const answer = { text: oneOf([`answer ${Math.random()}`, '4', 'yes', '']) };
    if (chance(2)) board.answerInput(answer);
    else if (chance(3)) board.answer({ taskId: task.id, waitId: `q${task.questions - 1}` }, answer);
    else board.answer(wait.question, { ...answer, sender: { principal: 'local', tags: {} } });
  }

  #decideMaybe(): void {
    const { approvals } = this.#fixture.session;
    const [open] = approvals?.list() ?? [];
    if (open === undefined || !chance(2)) return;
    const decision = chance(3) ? 'deny' : 'allow';
    const option = oneOf(['once', 'session', 'manifest'] as const);
    approvals?.answer(
      { ...open, decision, option, note: chance(2) ? 'because' : null },
      { principal: 'person', way: 'terminal' },
    );
  }

  inputs(): ReturnType<typeof replayInputs> {
    const { session } = this.#fixture;
    const record = (event: TraceEvent): void => this.#fixture.activity.emit({ kind: 'noted', task: null, event });
    return replayInputs({
      board: session.board,
      approvals: session.approvals,
      shutDown: () => session.shutDown(),
      trap: (why) => session.trap(why),
      record,
    });
  }

  traced(): readonly unknown[] {
    return this.#fixture.traced.map(({ ...event }) => ({ ...event, start_ms: 0, ttfb_ms: 0, duration_ms: 0 }));
  }

  async dispose(): Promise<void> {
    await this.#tools.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #endOfWork(): void {
    const event: TraceEvent = {
      event_type: 'background_command',
      task_id: 'tsk_1',
      work_id: `wrk_${Math.random()}`,
      command_name: 'sh',
      state: 'ended',
      exit_code: 0,
      duration_ms: 1,
    };
    this.#recorder.arrive({ what: 'note', event });
    this.#fixture.activity.emit({ kind: 'noted', task: null, event });
    const { board } = this.#fixture.session;
    const begun = board.current();
    const place = begun === null ? {} : { contextId: begun.contextId, conversation: begun.conversation };
    board.deliver({ text: 'It has ended.', origin: 'completion', trust: 'untrusted', ...place });
  }
}

/** Makes three hooks: one judges, one may reopen a task, and one only listens and is slow. */
function hooksOf(recorder: Recorder, record: (event: TraceEvent) => void): FakeHooks {
  const does = async (event: string): Promise<unknown> => {
    await aWhile();
    if (chance(9)) throw new Error('broken');
    if (event === 'on-tool-call' && chance(4)) return { tag: 'deny', val: `because of ${Math.random()}` };
    if (event === 'on-task-end' && chance(3)) return { tag: 'reopen-task', val: 'Again.' };
    return undefined;
  };
  return new FakeHooks(
    [
      { name: 'judge', does, binding: ['on-tool-call'], commit_policy: ['deny'], execution_mode: 'blocking' },
      {
        name: 'again',
        does,
        binding: ['on-task-end', 'on-inference'],
        commit_policy: ['reopen-task'],
        execution_mode: 'blocking',
      },
      { name: 'slow', does, binding: ['on-task-start', 'on-inference', 'on-task-end'], execution_mode: 'async' },
    ],
    { call: recordedHookCalls(callHook, recorder), timer: (...args) => recorder.timer(...args), record },
  );
}

/** The approvals of a session: a replay takes them from its recording. */
function approvalsOf(recorder: Recorder, clock: FakeClock): Approvals {
  if (recorder instanceof Replayer) return replayedApprovals(recorder, 'demo');
  return new Approvals({
    rules: { default: 'allow', opaque: 'ask', rules: approvalRules },
    ways: ['terminal'],
    timeoutMs: 1000,
    recorder,
    clock,
    log: { write: () => {}, close: () => {} },
    unattended: async () => (chance(12) ? 'nobody is there' : null),
    capsule: 'demo',
    redact: (text) => text,
    kept: {
      mayKeep: () => true,
      find: () => (chance(20) ? 'apr_kept' : null),
      keep: async () => {
        await aWhile();
        return chance(2);
      },
    },
  });
}
