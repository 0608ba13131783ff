/** Runs sessions in this process whose model and tool take no time. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { runSync } from '@svc/kit/yield-to-loop.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { Driver, InferenceResponse } from '@svc/session/model/driver.ts';
import { SessionActivity } from '@svc/session/task/activity.ts';
import { EventStream } from '@svc/session/stream/event-stream.ts';
import { openJournal } from '@svc/record/journal/journal-writer.ts';
import { passThrough, LiveRecorder } from '@svc/session/recorder/recorder.ts';
import { recordedDriver, recordedTool } from '@svc/session/recorder/recorded-effects.ts';
import { JournalLines } from '@svc/session/replay/journal-lines.ts';
import { taskFrames } from '@svc/session/stream/task-frames.ts';
import { traceLines } from '@svc/session/replay/trace-lines.ts';
import { recordRedaction } from '@svc/kit/diagnostics/handle-id.ts';
import { Session } from '@svc/session/session.ts';
import { SpendMeter } from '@svc/session/model/spend-meter.ts';
import { noHooks } from '@svc/session/hooks/session-hooks.ts';
import { TaskBoard } from '@svc/session/loop/task-board.ts';
import { Inventory } from '@svc/session/tools/inventory.ts';
import type { Tool } from '@svc/session/tools/tool.ts';
import { openFileTrace } from '@svc/record/trace/file-trace.ts';
import { mintSessionId, mintTraceEventId } from '@svc/protocol/ids.ts';
import { roomyWorkdir } from '../../test/support/roomy-workdir.ts';

const callingTurns = 9;
/** The key of a provider, and the token of a listener. */
const secrets = ['sk-0123456789abcdefghijklmnop', '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456'];

/** No two answers and results of a session are the same, as no two are in one that works: a journal keeps a text once. */
function callsTool(turn: number): InferenceResponse {
  return {
    content: [
      { type: 'text', text: `I look at part ${turn}.` },
      { type: 'tool_call', id: `call_${turn}`, name: 'noop', input: { path: `part-${turn}.txt` } },
    ],
    stopReason: 'tool_call',
  };
}
const replies: InferenceResponse = { content: [{ type: 'text', text: 'done' }], stopReason: 'end_turn' };

let turnsOfAll = 0;

const driver: Driver = {
  label: 'scripted',
  openTask: () => {
    let turn = 0;
    return {
      infer: async () => {
        turn += 1;
        turnsOfAll += 1;
        return { kind: 'response', response: turn <= callingTurns ? callsTool(turnsOfAll) : replies };
      },
      close: async () => {},
    };
  },
  close: async () => {},
};

/** About a kilobyte. */
const lines = 'one line of what was found\n'.repeat(36);

const tool: Tool = {
  name: 'noop',
  description: 'Does nothing.',
  kind: 'wasm',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  call: async () => ({ status: 'passed', content: `${turnsOfAll}\n${lines}`, exitCode: null, truncated: false }),
};

/** What one turn takes: by the clock, and of the processors, which other work on the machine lengthens less. */
export interface TurnCost {
  readonly ms: number;
  readonly cpuMs: number;
}

/**
 * Runs one session of `tasks` tasks, ten turns each, all but the last with a tool call. Driver and tool answer at once, so what
 * a turn costs is the session's own: the loop, the checks, the frames and the trace on disk, and its journal where
 * it keeps one.
 */
export async function costPerTurn(tasks: number, hasJournal: boolean): Promise<TurnCost> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  try {
    const clock = systemClock;
    const sessionId = mintSessionId(clock);
    const redactor = new Redactor();
    for (const secret of secrets) redactor.register(new Secret(secret));
    const redact = recordRedaction(redactor);
    const trace = openFileTrace({ path: join(folder, 'trace.jsonl'), sessionId, ids: clock, redact });
    const stream = new EventStream();
    const activity = new SessionActivity();
    const limits = { maxBody: 8 * 1024 * 1024, maxBytes: 256 * 1024 * 1024 };
    const onFull = (): void => {};
    const about = { directory: folder, session: sessionId, capture: 'content', redact, limits, clock, onFull } as const;
    const journal = hasJournal ? openJournal(about) : null;
    const journalLines = journal === null ? null : new JournalLines(journal, redact);
    const recorder =
      journalLines === null
        ? passThrough(clock)
        : new LiveRecorder((historyEvent) => runSync(journalLines.write(historyEvent, clock.now())), clock);
    activity.subscribe(traceLines(trace, mintTraceEventId(clock)));
    activity.subscribe(taskFrames(stream));
    const acceptance = { taskAcceptance: 'queue', queueDepth: tasks, afterTask: 'exit' } as const;
    const board = new TaskBoard({ acceptance, clock, activity, recorder, prepare: (text) => trace.prepare(text) });
    const session = new Session({
      id: sessionId,
      events: stream,
      board,
      background: { stop: async () => {} },
      runner: {
        driver: recordedDriver(driver, recorder),
        approvals: null,
        projectText: null,
        onFailed: () => {},
        inventory: new Inventory([recordedTool(tool, recorder)], clock),
        hooks: noHooks,
        inference: { model: '', system: '', maxTurns: 10, maxTokens: 100, context: { maxTokens: null, threshold: 1 } },
        maxReopens: 0,
        spend: new SpendMeter(null),
        activity,
        recorder,
        clock,
        workdirSize: roomyWorkdir,
        conversations: { has: () => false, history: () => [], save: () => {} },
        inputTimeoutMs: null,
        writeResult: () => {},
      },
    });
    for (let task = 0; task < tasks; task += 1) {
      board.submit({ text: 'go', origin: 'user', trust: 'trusted' });
    }
    const began = performance.now();
    const cpuBefore = process.cpuUsage();
    const { status } = await session.run();
    const { user, system } = process.cpuUsage(cpuBefore);
    const elapsedMs = performance.now() - began;
    trace.close();
    journal?.close();
    if (status !== 'ok') throw new Error(`the session ended ${status}`);
    const turns = tasks * (callingTurns + 1);
    return { ms: elapsedMs / turns, cpuMs: (user + system) / 1000 / turns };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
