/** Runs a session in this process, with stand-ins all around it. */

import type { Approvals } from '@svc/session/approvals/approvals.ts';
import { tmpdir } from 'node:os';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { noHooks, type SessionHooks } from '@svc/session/hooks/session-hooks.ts';
import { type Conversations, threadedConversations } from '@svc/session/loop/conversations.ts';
import { backgroundEnds } from '@svc/session/loop/background-ends.ts';
import { SessionActivity } from '@svc/session/task/activity.ts';
import { EventStream } from '@svc/session/stream/event-stream.ts';
import { type Recorder, passThrough } from '@svc/session/recorder/recorder.ts';
import { recordedDriver, recordedTool } from '@svc/session/recorder/recorded-effects.ts';
import { FrameStore } from '@svc/session/stream/frame-store.ts';
import { Session } from '@svc/session/session.ts';
import { SpendMeter } from '@svc/session/model/spend-meter.ts';
import { TaskBoard, type Acceptance } from '@svc/session/loop/task-board.ts';
import { taskFrames } from '@svc/session/stream/task-frames.ts';
import { traceLines } from '@svc/session/replay/trace-lines.ts';
import type { WorkdirSize } from '@svc/session/workdir/workdir-size.ts';
import { BackgroundCommands } from '@svc/session/tools/background/background-commands.ts';
import { SkillCeiling } from '@svc/session/tools/skills/skill-ceiling.ts';
import { Inventory } from '@svc/session/tools/inventory.ts';
import type { Tool } from '@svc/session/tools/tool.ts';
import type { TraceEvent, Trace } from '@svc/record/trace/events.ts';
import { encodeNumberedFrame } from '@svc/protocol/frames.ts';
import { mintTraceEventId, type SessionId } from '@svc/protocol/ids.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeDriver, type Turn } from './fake-driver.ts';
import { roomyWorkdir } from './roomy-workdir.ts';

export interface FixtureOptions {
  readonly turns: readonly Turn[];
  readonly tools?: readonly Tool[];
  readonly acceptance?: Partial<Acceptance>;
  readonly maxTurns?: number;
  readonly spendCeiling?: number;
  readonly contextMaxTokens?: number;
  readonly projectText?: string;
  readonly maxReopens?: number;
  readonly inputTimeoutMs?: number;
  readonly hooks?: Partial<SessionHooks>;
  /** Called as a frame is published, before anything else happens. */
  readonly onSeen?: (frame: SeenFrame) => void;
  /** What the driver does at the end of each task. */
  readonly closeTask?: () => Promise<void>;
  readonly threaded?: boolean;
  /** In the place of those that `threaded` asks for. */
  readonly conversations?: Conversations;
  /** Roomy when absent. */
  readonly workdirSize?: WorkdirSize;
  /** The result cannot be put where it belongs. */
  readonly resultRefused?: boolean;
  /** The trace fails from this event type on, as on a full disk. */
  readonly recorder?: (clock: FakeClock) => Recorder;
  readonly approvals?: (recorder: Recorder, clock: FakeClock) => Approvals;
  readonly traceFailsAt?: TraceEvent['event_type'];
}

/** A frame as a reader sees it, shortened for expectations: `3 status working "inference turn 1"`. */
export interface SeenFrame {
  readonly id: bigint;
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** A whole session with a driver, clock and trace that tests can see into. */
export class SessionFixture {
  readonly clock = new FakeClock();
  /** With a grace of 10 s. */
  readonly background = new BackgroundCommands({ clock: this.clock, graceMs: 10_000, endIsTold: true });
  readonly traced: TraceEvent[] = [];
  readonly results: string[] = [];
  readonly frames: SeenFrame[] = [];
  readonly driver: FakeDriver;
  /** Shared with whatever asks the model beside the tasks. */
  readonly spend: SpendMeter;
  readonly session: Session;
  readonly activity = new SessionActivity();
  readonly stream = new EventStream((frame, id) => this.#see(id, encodeNumberedFrame(id, frame)), {
    store: new FrameStore(tmpdir()),
    onLost: (lost) => {
      throw lost;
    },
  });
  readonly #onSeen: (frame: SeenFrame) => void;
  #traceFails = false;
  #watchers: (() => void)[] = [];

  constructor(options: FixtureOptions) {
    this.#onSeen = options.onSeen ?? (() => {});
    this.driver = new FakeDriver(options.turns, options.closeTask);
    this.spend = new SpendMeter(options.spendCeiling ?? null);
    const trace = this.#trace(options.traceFailsAt);
    const { activity, clock, stream } = this;
    const recorder = options.recorder?.(clock) ?? passThrough(clock);
    activity.subscribe(traceLines(trace, mintTraceEventId(clock)));
    activity.subscribe(taskFrames(stream));
    const acceptance = { taskAcceptance: 'queue', queueDepth: 1, afterTask: 'exit', ...options.acceptance } as const;
    const { threaded = false } = options;
    const conversations = options.conversations ?? (threaded ? threadedConversations() : null);
    this.session = new Session({
      id: 'ses_00000000000000000000000000000001' as SessionId,
      events: stream,
      board: new TaskBoard({ acceptance, clock, activity, recorder, prepare: (text) => trace.prepare(text) }),
      background: this.background,
      runner: {
        driver: recordedDriver(this.driver, recorder),
        approvals: options.approvals?.(recorder, clock) ?? null,
        onFailed: () => {},
        inventory: inventoryOf(
          (options.tools ?? []).map((tool) => recordedTool(tool, recorder)),
          clock,
        ),
        hooks: { ...noHooks, ...options.hooks },
        inference: {
          model: 'm',
          system: 'Be brief.',
          maxTurns: options.maxTurns ?? 10,
          maxTokens: 100,
          context: { maxTokens: options.contextMaxTokens ?? null, threshold: 0.5 },
        },
        spend: this.spend,
        activity,
        recorder,
        clock,
        workdirSize: options.workdirSize ?? roomyWorkdir,
        conversations,
        projectText: options.projectText ?? null,
        maxReopens: options.maxReopens ?? 1,
        inputTimeoutMs: options.inputTimeoutMs ?? null,
        writeResult: (text) => {
          if (options.resultRefused === true) throw new Diagnostic('E-IO-001', 'out/result.txt cannot be written');
          this.results.push(text);
        },
      },
    });
    const { board } = this.session;
    const onLost = (lost: Diagnostic): void => this.session.trap(lost);
    const record = (event: TraceEvent): void => activity.emit({ kind: 'noted', task: null, event });
    this.background.observe(backgroundEnds({ board, record, onLost }));
  }

  /** Resolves once a frame satisfies `wanted`, those already seen included. */
  async frame(wanted: (frame: SeenFrame) => boolean): Promise<SeenFrame> {
    for (;;) {
      const found = this.frames.find(wanted);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  /** Every frame so far, one line each: id, event, and what distinguishes it. */
  get lines(): string[] {
    return this.frames.map(({ id, event, data }) => `${id} ${event} ${tellApart(event, data)}`);
  }

  tracedTypes(): string[] {
    return this.traced.map((event) => event.event_type);
  }

  #see(id: bigint, bytes: string): void {
    const data = /^data: ([^\n]*)$/m.exec(bytes)?.[1] ?? '';
    const event = /^event: (.*)$/m.exec(bytes)?.[1] ?? '';
    const frame = { id, event, data: JSON.parse(data) as Record<string, unknown> };
    this.frames.push(frame);
    this.#onSeen(frame);
    for (const watcher of this.#watchers.splice(0)) watcher();
  }

  #trace(failsAt: TraceEvent['event_type'] | undefined): Trace {
    return {
      write: (event) => {
        this.#traceFails ||= event.event_type === failsAt;
        if (this.#traceFails) throw new Diagnostic('E-IO-002', 'the trace cannot be written: no space left');
        this.traced.push(event);
        return mintTraceEventId(this.clock);
      },
      prepare: async (text) => ({ text, json: Buffer.from(JSON.stringify(text)) }),
      close: () => {},
    };
  }
}

function tellApart(event: string, data: Record<string, unknown>): string {
  if (event === 'status') {
    const { state, message } = data['status'] as { state: string; message: string };
    return `${state} "${message}"`;
  }
  if (event === 'artifact') {
    const { tool_name: name, is_error: isError } = data['artifact'] as { tool_name: string; is_error: boolean };
    return `${name} ${isError ? 'error' : 'ok'}`;
  }
  return `"${String(data['text'])}" ${String(data['final'])}`;
}

/** A tool in process; its outcome defaults to a pass that answers `ok`. */
function inventoryOf(tools: readonly Tool[], clock: FakeClock): Inventory {
  const ceiling = tools.some(({ permits }) => permits !== undefined) ? new SkillCeiling(tools) : null;
  return new Inventory(tools, clock, undefined, ceiling);
}

/** A skill that gives this text. */
export function fakeSkill(name: string, text: string, more: Pick<Tool, 'permits' | 'callers'> = {}): Tool {
  return { ...fakeTool(name, async () => passed(text)), kind: 'skill', ...more };
}

export function fakeTool(name: string, call: Tool['call'] = async () => passed('ok')): Tool {
  return { name, description: name, kind: 'wasm', inputSchema: { type: 'object' }, call };
}

export function passed(content: string): Awaited<ReturnType<Tool['call']>> {
  return { status: 'passed', content, exitCode: null, truncated: false };
}
