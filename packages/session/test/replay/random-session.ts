/** Sessions in which much happens at once and whose outcomes are left to real chance, recorded and run again. */

import { runSync } from '@svc/kit/yield-to-loop.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';

import { FakeHooks } from '../../../../test/support/fake-hooks.ts';
import { fakeTool, passed, SessionFixture } from '../../../../test/support/session-fixture.ts';
import type { FakeClock } from '../../../../test/support/fake-clock.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import type { ContextId, SessionId } from '@svc/protocol/ids.ts';
import type { TaskSource } from '../../src/task/task.ts';
import { callHook } from '../../src/hooks/hook.ts';
import type { InferenceRequest, InferenceResponse } from '../../src/model/driver.ts';
import { type HistoryEvent, type Recorder, LiveRecorder } from '../../src/recorder/recorder.ts';
import { recordedCapsuleSteps, recordedHookCalls } from '../../src/recorder/recorded-effects.ts';
import { JournalReader } from '@svc/record/journal/journal-reader.ts';
import { openJournal } from '@svc/record/journal/journal-writer.ts';
import { JournalLines } from '../../src/replay/journal-lines.ts';
import { readRecording } from '../../src/replay/recorded-history.ts';
import { type ReplayEnd, Replayer } from '../../src/replay/replayer.ts';
import { replayInputs } from '../../src/replay/replay-inputs.ts';
// The program loads late code within a turn of the event loop: nothing comes in between.
import '../../src/loop/named-skills.ts';
import '../../src/loop/task-runner.ts';
import { nothingRan } from '../../src/tools/plan/capsule-step.ts';
import { createSubmitPlanTool } from '../../src/tools/plan/submit-plan-tool.ts';
import { neverReached, type Tool } from '../../src/tools/tool.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';

/** What a session left: its trace without what is never the same. */
export interface Outcome {
  readonly status: string;
  readonly traced: readonly unknown[];
}

export interface Recorded extends Outcome {
  readonly historyEvents: readonly HistoryEvent[];
}

type RecorderOf = (record: (historyEvent: HistoryEvent) => void, clock: FakeClock) => Recorder;

const throughOneGate: RecorderOf = (record, clock) => new LiveRecorder(record, clock);

/** Runs a session of chance and gives its trace and what went through its recorder. */
export async function recordRandomSession(recorderOf: RecorderOf = throughOneGate): Promise<Recorded> {
  const historyEvents: HistoryEvent[] = [];
  const outcome = await runRandomSession(recorderOf, (historyEvent) =>
    historyEvents.push(structuredClone(historyEvent)),
  );
  return { ...outcome, historyEvents };
}

/** The same by way of a journal on the disk. */
export async function journalRandomSession(): Promise<Recorded> {
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
    const outcome = await runRandomSession(throughOneGate, (historyEvent) => runSync(lines.write(historyEvent, 1)));
    journal.close();
    return { ...outcome, historyEvents: readBack(directory) };
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
): Promise<Outcome> {
  const world = new World((clock) => recorderOf(onHistoryEvent, clock));
  try {
    const run = world.run();
    const disturbing = world.disturb(run);
    const { status } = await run;
    await disturbing;
    return { status, traced: world.traced() };
  } finally {
    world.dispose();
  }
}

/** Runs the session again over what went through its recorder, up to its end where the recording is whole. */
export async function replaySession(
  historyEvents: readonly HistoryEvent[],
  isWhole = true,
): Promise<{ readonly end: ReplayEnd; readonly outcome: Outcome | null }> {
  const recorder: Replayer = new Replayer(historyEvents, () => world.inputs(), { isWhole });
  const world = new World(() => recorder);
  try {
    recorder.begin();
    const run = world.run().then(({ status }) => {
      recorder.finish();
      return status;
    });
    const end = await recorder.ended;
    return { end, outcome: end.kind === 'same' ? { status: await run, traced: world.traced() } : null };
  } finally {
    world.dispose();
  }
}

const chance = (of: number): boolean => Math.random() * of < 1;

/** Nothing, a turn of the event loop or some milliseconds. */
async function aWhile(): Promise<void> {
  const ms = Math.random() * 4;
  if (ms > 2) await setTimeout(ms - 1);
  else if (ms > 1) await setImmediate();
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

  constructor(recorderOf: (clock: FakeClock) => Recorder) {
    let recorder: Recorder | null = null;
    const ask = fakeTool('ask', async (_args, { requestInput, signal }) => {
      const answer = await requestInput('Which?');
      await aWhile();
      signal.throwIfAborted();
      return passed(answer.kind === 'answered' ? answer.text : 'nothing');
    });
    const work = fakeTool('work', async (args, { emitText, record, signal }) => {
      await aWhile();
      if (chance(3)) emitText('working');
      if (chance(8)) record({ event_type: 'logs_limit_reached', max_bytes: 1 });
      await aWhile();
      signal.throwIfAborted();
      if (chance(5)) return { ...passed('no'), status: 'failed' };
      return passed(`${JSON.stringify(args).length}-${Math.random()}`);
    });
    const skill: Tool = {
      ...fakeTool('skill', async (_args, { signal }) => {
        await aWhile();
        signal.throwIfAborted();
        return chance(5) ? neverReached('it has changed') : passed(`For $ARGUMENTS: ${Math.random()}`);
      }),
      kind: 'skill',
      permits: [{ tool: 'work' }],
    };
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
    const { set } = this.#hooks;
    this.#fixture = new SessionFixture({
      recorder: fixed,
      turns: Array.from({ length: 400 }, () => randomTurn),
      tools: [ask, work, skill, planTool(this.#directory, late)],
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
      if (chance(12)) this.#fixture.clock.advance(500);
      if (chance(15)) {
        const skills = chance(2) ? ['skill'] : [];
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
    const answer = { text: `answer ${Math.random()}` };
    if (chance(2)) board.answerInput(answer);
    else if (chance(3)) board.answer({ taskId: task.id, waitId: `q${task.questions - 1}` }, answer);
    else board.answer(wait.question, { ...answer, sender: { principal: 'local', tags: {} } });
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

  dispose(): void {
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

function planTool(sessionDirectory: string, recorder: Recorder): Tool {
  return createSubmitPlanTool({
    sessionDirectory,
    redact: (text) => text,
    clock: { monotonicMs: () => 0, now: () => 0 },
    runCapsuleStep: recordedCapsuleSteps(async (_step, { record }) => {
      await aWhile();
      if (chance(2)) record({ event_type: 'logs_limit_reached', max_bytes: 2 });
      return chance(3)
        ? nothingRan('refused')
        : { ...nothingRan(''), status: 'passed', reached: true, output: `${Math.random()}` };
    }, recorder),
  });
}

async function randomTurn(
  request: InferenceRequest,
  { onText }: { onText: (text: string) => void },
): Promise<InferenceResponse> {
  await aWhile();
  if (chance(3)) onText('Let me see.');
  await aWhile();
  const usage = { inputTokens: 10, outputTokens: Math.ceil(Math.random() * 90) };
  if (chance(3)) return { content: [{ type: 'text', text: `Done ${Math.random()}.` }], stopReason: 'end_turn', usage };
  if (chance(12)) return { content: [], stopReason: 'error', error: 'the provider is down', usage };
  const names = ['work', 'ask', 'submit-plan', 'nothing'].filter((name) => name !== 'nothing' || chance(5));
  const calls = Array.from({ length: 1 + Math.floor(Math.random() * 2) }, (_, index) => {
    const name = names[Math.floor(Math.random() * names.length)] ?? 'work';
    const input = name === 'submit-plan' ? randomPlan() : { n: request.messages.length };
    return { type: 'tool_call', id: `call_${index}`, name, input } as const;
  });
  return { content: calls, stopReason: 'tool_call', usage };
}

function randomPlan(): object {
  const steps = Array.from({ length: 2 + Math.floor(Math.random() * 5) }, (_, index) => ({
    id: `s${index}`,
    ...(chance(5)
      ? { capsule: 'helper', version: '1.0.0', input: 'Help.' }
      : { tool: chance(6) ? 'ask' : 'work', input: { index } }),
    depends_on: index > 0 && chance(2) ? [`s${Math.floor(Math.random() * index)}`] : [],
    retries: chance(3) ? 2 : 0,
    on_error: chance(2) ? 'continue' : 'skip',
  }));
  return { id: 'p', steps };
}
