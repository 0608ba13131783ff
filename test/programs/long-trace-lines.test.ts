import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { OtlpReceiver } from '../support/otlp-receiver.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const useCapsule = useCapsules();

const digits = (end: string): string => end.padStart(32, '0');
const session = `ses_${digits('4f1a')}`;
const task = (number: number): string => `tsk_${digits(String(number))}`;
/** As a trace holds it, it takes more than 16 MiB. */
const longText = `Read this. "Now". ${'\u0001'.repeat(3 * 1024 * 1024)}`;

let events = 0;

function line(event_type: string, fields: Readonly<Record<string, unknown>>): string {
  events += 1;
  const ids = { event_id: `evt_${digits(String(events))}`, parent_id: null, session_id: session };
  return `${JSON.stringify({ event_type, ...ids, timestamp: 1_760_000_000_000 + events, ...fields })}\n`;
}

const start = line('session_start', {
  capsule: { name: 'demo', version: '1.2.3' },
  runtime_version: '0.4.0',
  containment: { declared: 'advisory', achieved: 'advisory', mechanism: 'none' },
  tools_declared: [],
  effective_grants: {},
});

const received = (id: string, text: string): string =>
  line('task_received', {
    task_id: id,
    context_id: `ctx_${digits('1')}`,
    origin: 'user',
    trust: 'trusted',
    lane: 'foreground',
    text,
  });

const inference = (id: string, more: Readonly<Record<string, unknown>> = {}): string =>
  line('inference', {
    task_id: id,
    turn: 1,
    model: 'm',
    outcome: 'response',
    stop_reason: 'end_turn',
    ...more,
    usage: { input_tokens: 10, output_tokens: 2 },
    duration_ms: 5,
  });

const ended = (id: string): string =>
  line('task_end', {
    task_id: id,
    state: 'completed',
    message: '',
    turns: 1,
    usage: { input_tokens: 10, output_tokens: 2 },
    duration_ms: 9,
  });

const end = line('session_end', { status: 'ok', tasks: 2, duration_ms: 20 });

/** A workspace whose one session has this trace and no journal. */
function withTrace(lines: readonly string[]): Workspace {
  const workspace = useCapsule();
  const folder = join(workspace.folder, '.svc', 'sessions', session);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, 'trace.jsonl'), lines.join(''));
  return workspace;
}

const rowsIn = (stdout: string): Record<string, unknown>[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((row) => JSON.parse(row) as Record<string, unknown>);

describe('a task of more than 16 MiB in a trace', () => {
  const trace = [start, received(task(1), longText), inference(task(1)), ended(task(1)), received(task(2), 'Go.'), end];

  it('appears in the list with how it begins, and so does all that follows it', async () => {
    const workspace = withTrace(trace);
    for (const command of [['sessions'], ['trace', 'list']]) {
      const { stdout, stderr } = await svc(workspace, [...command, '--json']);
      const [row] = rowsIn(stdout);
      expect(row).toMatchObject({ status: 'ok', tasks: 2, tokens: 12, unread_lines: 0 });
      expect(String(row?.['task']).slice(0, 20)).toBe('Read this. "Now". \u0001\u0001');
      expect(stderr).toBe('');
    }
    const { stdout, stderr } = await svc(workspace, ['tasks', '4f1a', '--json']);
    const tasks = rowsIn(stdout);
    expect(tasks.map(({ task: id, state, tokens }) => [id, state, tokens])).toEqual([
      [task(1), 'completed', 12],
      [task(2), 'not-started', 0],
    ]);
    expect(String(tasks[0]?.['text'])).toHaveLength(200);
    expect(stderr).toBe('');
    const receiver = await OtlpReceiver.start();
    onTestFinished(() => receiver.close());
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
    const sent = await svc(workspace, ['trace', 'export', '4f1a', '--otlp'], { env });
    expect(sent).toMatchObject({ code: 0, stderr: '' });
    expect(receiver.spans.map(({ name }) => name).toSorted()).toEqual(['chat m', 'invoke_agent demo']);
  });
});

describe('a line of more than 16 MiB that is skipped', () => {
  const trace = [
    start,
    received(task(1), 'Go.'),
    inference(task(1), { error: longText }),
    inference(task(1)),
    ended(task(1)),
    end,
  ];
  const warned =
    `warning[W-RUN-173]: the trace of ${session} has a line that cannot be read, and what follows from it is left out\n` +
    'hint: svc reads no line of more than 16 MiB or 300,000 values, and none behind 100,000 short ones: look into its trace.jsonl\n';

  it('causes a notice, and what stands behind it is shown', async () => {
    const workspace = withTrace(trace);
    for (const command of [['sessions'], ['trace', 'list']]) {
      const { stdout, stderr } = await svc(workspace, [...command, '--json']);
      expect(rowsIn(stdout)).toMatchObject([{ status: 'ok', tasks: 1, tokens: 12, unread_lines: 1 }]);
      expect(stderr).toBe(warned);
      expect((await svc(workspace, command)).stderr).toBe(warned);
    }
    for (const options of [[], ['--json']]) {
      const { stdout, stderr } = await svc(workspace, ['tasks', '4f1a', ...options]);
      expect(stdout).toMatch(/completed/);
      expect(stderr).toBe(warned);
    }
  });

  it('causes a notice when the trace goes to a collector', async () => {
    const workspace = withTrace([...trace, '{"event_type":"none"}\n']);
    const receiver = await OtlpReceiver.start();
    onTestFinished(() => receiver.close());
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
    const sent = await svc(workspace, ['trace', 'export', '4f1a', '--otlp', '--json'], { env });
    expect(sent.code).toBe(0);
    expect(rowsIn(sent.stdout)).toMatchObject([{ session, unread_lines: 2 }]);
    expect(receiver.spans.filter(({ name }) => name === 'chat m')).toHaveLength(1);
    const told =
      `warning[W-RUN-173]: the trace of ${session} has 2 lines that cannot be read, or of no event that this version of svc knows, ` +
      'and what follows from them is left out\n';
    expect(sent.stderr).toContain(told);
    expect((await svc(workspace, ['trace', 'export', '4f1a', '--otlp'], { env })).stderr).toContain(told);
  });
});
