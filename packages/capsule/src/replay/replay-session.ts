/** Runs a recorded session again: all that is svc's own happens, and nothing that reached outside of it. */

import { hookDeclaration } from '@svc/artifacts/manifest/hook-declaration.ts';
import type { Component } from '@svc/components/component.ts';
import { ComponentParted } from '@svc/components/parted.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { Clock } from '@svc/kit/clock.ts';
import { mintTraceEventId, type SessionId } from '@svc/protocol/ids.ts';
import type { JournalReader } from '@svc/record/journal/journal-reader.ts';
import type { JournalRecord } from '@svc/record/journal/records.ts';
import type { PreparedText, Trace, TraceEvent } from '@svc/record/trace/events.ts';
import { EndBudget } from '@svc/session/hooks/blocking-hooks.ts';
import { callHook, type Hook } from '@svc/session/hooks/hook.ts';
import { hookCompletion } from '@svc/session/hooks/hook-completion.ts';
import { HookSet } from '@svc/session/hooks/hook-set.ts';
import type { Driver } from '@svc/session/model/driver.ts';
import { SpendMeter } from '@svc/session/model/spend-meter.ts';
import { type ActivityListener, SessionActivity } from '@svc/session/task/activity.ts';
import { continuedConversations, type Conversations, threadedConversations } from '@svc/session/loop/conversations.ts';
import { EventStream } from '@svc/session/stream/event-stream.ts';
import { hooksTimeOver } from '@svc/session/recorder/recorder.ts';
import {
  recordedCapsuleSteps,
  recordedDriver,
  recordedHookCalls,
  recordedTool,
} from '@svc/session/recorder/recorded-effects.ts';
import { replayedApprovals } from '@svc/session/replay/replayed-approvals.ts';
import { readRecording, type RecordedEnd, type Recording, type Setup } from '@svc/session/replay/recorded-history.ts';
import type { Judge } from '@svc/session/replay/asked-again.ts';
import { type ReplayEnd, Replayer, type ReplayInputs } from '@svc/session/replay/replayer.ts';
import { replayInputs } from '@svc/session/replay/replay-inputs.ts';
import type { ComponentCalls } from '@svc/session/replay/replayed-calls.ts';
import { Session } from '@svc/session/session.ts';
import { TaskBoard } from '@svc/session/loop/task-board.ts';
import { taskFrames } from '@svc/session/stream/task-frames.ts';
import { traceLines } from '@svc/session/replay/trace-lines.ts';
import { Inventory } from '@svc/session/tools/inventory.ts';
import { createSubmitPlanTool } from '@svc/session/tools/plan/submit-plan-tool.ts';
import { SkillCeiling } from '@svc/session/tools/skills/skill-ceiling.ts';
import type { Tool } from '@svc/session/tools/tool.ts';
import { endOf } from '../run/session-journal.ts';
import { sessionSettings } from '../run/session-settings.ts';
import type { HookSetup, KeptWhere, SettingsSetup, ToolSetup } from '../stage/session-setup.ts';

/** What a replay came to. */
export interface Replayed {
  readonly recording: Recording;
  readonly end: ReplayEnd;
  /** The lines of the trace that were written again, without first and last. */
  readonly traced: readonly TraceEvent[];
  /** The tasks that came to their end again, in the order of their ends. */
  readonly ends: readonly RecordedEnd[];
  /** Calls of components; nothing was run where all are served. */
  readonly calls: ComponentCalls;
  /** How the session ended again, as its journal would say; null where it did not. */
  readonly close: Pick<JournalRecord<'close'>, 'status' | 'reason'> | null;
}

/** The components of a capsule as they are now, whose imports are played. */
export interface ReplayedComponents {
  /** Returns null where none of its tools is a component of that name. */
  tool(name: string): Tool | null;
  hook(name: string): Pick<Hook, 'component' | 'deadlineMs'> | null;
  /** `hasKey` when the recorded session had a key for its provider. */
  driver(hasKey: boolean): Driver | null;
  close(): Promise<void>;
}

interface ReplayRequest {
  readonly session: SessionId;
  readonly capsule: { readonly name: string; readonly version: string };
  /** Hears of everything that happens again. */
  readonly onActivity?: ActivityListener;
  /** Judges requests that differ from the recording; without it they may not differ. */
  readonly judge?: Judge;
  /** The components that are run again. When absent, the results of all calls come from the recording. */
  readonly components?: ReplayedComponents | null;
}

/** Runs the session of a journal again. Touches no process, socket, workdir or file. Returns null for a journal without the setup of its session. */
export async function replaySession(reader: JournalReader, request: ReplayRequest): Promise<Replayed | null> {
  const recording = readRecording(reader);
  const { setup } = recording;
  return setup === null ? null : await replayFrom(setup, recording, request);
}

/** Runs a recorded session again as if it had begun with this, in the same way. */
export async function replayFrom(setup: Setup, recording: Recording, request: ReplayRequest): Promise<Replayed> {
  const replay = new Replay(setup, recording, request);
  const end = await replay.run();
  const { traced, ends, calls, close } = replay;
  return { recording, end, traced, ends, calls, close };
}

/**
 * Runs code of the session, which believes what its recorder hands it. A recording that was made up to look like one, chain and all, can hold anything:
 * this turns any error of that code into `refusal`. Errors of the system stay what they are.
 */
export async function orRefused<Value>(
  run: () => Promise<Value>,
  refusal: (why: string) => Diagnostic,
): Promise<Value> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Diagnostic || error instanceof DiagnosticList || isSystemError(error)) throw error;
    throw refusal(`it holds what no session has met (${error instanceof Error ? error.message : String(error)})`);
  }
}

class Replay {
  readonly traced: TraceEvent[] = [];
  readonly ends: RecordedEnd[] = [];
  close: Replayed['close'] = null;
  readonly #recorder: Replayer;
  readonly #hooks: HookSet;
  readonly #session: Session;
  readonly #inventory: Inventory;
  readonly #activity = new SessionActivity();

  constructor(setup: Setup, recording: Recording, request: ReplayRequest) {
    const { components = null, judge } = request;
    const {
      conversations,
      hasKey = false,
      projectText = null,
      ...manifest
    } = JSON.parse(setup.settings) as SettingsSetup;
    const { inference } = manifest;
    const settings = sessionSettings(manifest, { system: setup.system, projectText });
    const inputs = (): ReplayInputs =>
      replayInputs({
        board: this.#session.board,
        approvals: this.#session.approvals,
        shutDown: () => this.#session.shutDown(),
        trap: (reason) => this.#session.trap(reason),
        record: this.#record,
      });
    const recorder: Replayer = new Replayer(recording.historyEvents, inputs, {
      ...(judge === undefined ? {} : { judge }),
      runsComponents: components !== null,
      isWhole: recording.close !== null,
    });
    this.#recorder = recorder;
    const stream = new EventStream();
    this.#activity.subscribe(traceLines(this.#trace(), mintTraceEventId(systemClock)));
    this.#activity.subscribe(taskFrames(stream));
    if (request.onActivity !== undefined) this.#activity.subscribe(request.onActivity);
    this.#activity.subscribe((told) => {
      if (told.kind !== 'task-settled') return;
      this.ends.push(endOf(told.task));
    });
    const driver = recordedDriver(components?.driver(hasKey) ?? absentDriver, recorder);
    const spend = new SpendMeter(inference.max_session_tokens ?? null);
    const tools = (JSON.parse(setup.tools) as readonly ToolSetup[]).map((tool) =>
      recordedTool(toolOf(tool, recorder, components), recorder),
    );
    this.#inventory = new Inventory(tools, stillClock, undefined, new SkillCeiling(tools));
    this.#hooks = this.#hooksOf(JSON.parse(setup.hooks) as readonly HookSetup[], { inference, request, driver, spend });
    this.#session = new Session({
      id: request.session,
      events: stream,
      background: { stop: async () => {} },
      board: new TaskBoard({
        acceptance: settings.acceptance,
        clock: stillClock,
        activity: this.#activity,
        recorder,
        prepare,
      }),
      runner: {
        ...settings.runner,
        driver,
        approvals: replayedApprovals(recorder, request.capsule.name),
        onFailed: () => {},
        inventory: this.#inventory,
        hooks: this.#hooks,
        spend,
        activity: this.#activity,
        recorder,
        clock: stillClock,
        workdirSize: measuredWorkdir,
        conversations: conversationsOf[conversations](),
        writeResult: () => {},
      },
    });
  }

  get calls(): ComponentCalls {
    return this.#recorder.componentCalls;
  }

  async run(): Promise<ReplayEnd> {
    this.#recorder.begin();
    this.#runSession().catch((error: unknown) => this.#recorder.fail(error));
    return await this.#recorder.ended;
  }

  async #runSession(): Promise<void> {
    await this.#hooks.stage(this.#inventory.definitions);
    await this.#hooks.sessionStarted();
    const { status, trap } = await this.#session.run();
    await this.#hooks.sessionEnded(status);
    this.close = { status: this.#hooks.trapped ? 'trapped' : status, reason: trap?.message ?? null };
    this.#recorder.finish();
  }

  readonly #record = (event: TraceEvent): void => this.#activity.emit({ kind: 'noted', task: null, event });

  #trace(): Trace {
    return {
      write: (event) => {
        this.traced.push(event);
        return mintTraceEventId(systemClock);
      },
      prepare,
      close: () => {},
    };
  }

  #hooksOf(
    hooks: readonly HookSetup[],
    {
      inference,
      request: { session: sessionId, capsule, components = null },
      driver,
      spend,
    }: { inference: SettingsSetup['inference']; request: ReplayRequest; driver: Driver; spend: SpendMeter },
  ): HookSet {
    const recorder = this.#recorder;
    const timer = recorder.timer.bind(recorder);
    return new HookSet({
      hooks: hooks.map((hook) => hookOf(hook, components)),
      session: { sessionId, capsule: capsule.name, version: capsule.version },
      complete: hookCompletion({
        driver,
        model: inference.model,
        maxTokens: inference.max_tokens,
        spend,
        clock: stillClock,
        timer,
        record: this.#record,
        limitMs: 0,
      }),
      call: recordedHookCalls(components === null ? notHere : callHook, recorder),
      timer,
      record: this.#record,
      keepOutput: () => {},
      writeManifests: async () => null,
      budget: EndBudget.ofRecording((end) => void timer(hooksTimeOver.name, 0, end)),
      drainMs: 0,
    });
  }
}

/** Nothing takes time in a replay, and timers run out as they did. */
const stillClock: Clock = {
  now: () => systemClock.now(),
  randomBytes: (size) => systemClock.randomBytes(size),
  monotonicMs: () => 0,
  after: () => () => {},
};

/** The texts of a recording are redacted already. */
async function prepare(text: string): Promise<PreparedText> {
  return { text, json: Buffer.from(JSON.stringify(text)) };
}

/** For what a replay lacks, and its recorder never asks. */
function notHere(): Promise<never> {
  return Promise.reject(new Error('a replay reaches nothing outside of it'));
}

/** Stands for a component of the recording that the capsule does not have now. */
function noComponent(): Promise<never> {
  return Promise.reject(new ComponentParted(null, 'is not one of this capsule any more'));
}

const absentDriver: Driver = {
  label: 'replay',
  openTask: () => ({ infer: noComponent, close: async () => {} }),
  close: async () => {},
};

const absentComponent: Component = { call: noComponent, warm: () => {}, close: async () => {} };

const measuredWorkdir = {
  begin: () => {},
  check: async () => {},
  settled: async () => {},
  last: async () => {},
  breached: new AbortController().signal,
};

function toolOf({ isOwn, ...tool }: ToolSetup, recorder: Replayer, components: ReplayedComponents | null): Tool {
  if (isOwn !== true) {
    const component = components?.tool(tool.name) ?? null;
    return { ...tool, call: component === null ? noComponent : (...call) => component.call(...call) };
  }
  return createSubmitPlanTool({
    sessionDirectory: '',
    redact: (text) => text,
    runCapsuleStep: recordedCapsuleSteps(notHere, recorder),
    clock: stillClock,
  });
}

function hookOf({ name, ...declared }: HookSetup, components: ReplayedComponents | null): Hook {
  const { component, deadlineMs } = components?.hook(name) ?? { component: absentComponent, deadlineMs: 0 };
  return { name, declaration: hookDeclaration(declared), component, deadlineMs };
}

/** What is kept between sessions comes from the recording. */
const conversationsOf: Readonly<Record<KeptWhere, () => Conversations | null>> = {
  nowhere: () => null,
  'in the session': threadedConversations,
  continued: () => continuedConversations(new Map()),
  'between sessions': () => ({ isKept: true, has: () => false, history: () => [], save: () => {} }),
};
