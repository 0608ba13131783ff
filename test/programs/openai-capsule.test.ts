import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { readTrace } from '../support/read-trace.ts';
import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import { svc } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const workspaces: Workspace[] = [];

afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

const key = 'sk-test-3f9a1c';

function manifest(endpoint: string): string {
  return `name: counter
version: 0.1.0
artifacts:
  - { name: svc-tool-editor, version: 1.0.0 }
  - { name: house-style, version: 1.0.0, runtime: skill, source: ./house-style }
inference:
  endpoint: ${endpoint}
  model: small-model
  api_key: \${PROVIDER_KEY}
  system_prompt: You count files.
  driver: { artifact: svc-driver-openai }
  max_tokens: 500
capabilities:
  shell: { allow: [sh] }
`;
}

describe('a capsule with the OpenAI driver', () => {
  it('runs a three-turn task with a WASM tool, a shell command and a skill [D1-MAN-05, D1-MAN-06, D1-MAN-08, D1-AUTH-01, D1-TRACE-02]', async () => {
    const provider = await startFakeOpenAi(
      [
        {
          kind: 'stream',
          toolCalls: [
            {
              id: 'call_a',
              name: 'svc-tool-editor',
              arguments: ['{"command":"wri', 'te","path":"notes/one.txt",', '"content":"first\\n"}'],
            },
            { id: 'call_b', name: 'house-style', arguments: '{}' },
          ],
        },
        {
          kind: 'stream',
          text: ['Counting.'],
          toolCalls: [{ id: 'call_c', name: 'sh', arguments: '{"command":"cat notes/one.txt | wc -l"}' }],
        },
        { kind: 'stream', thinking: ['One line.'], text: ['There is ', 'one ', 'line.'] },
      ],
      { key },
    );
    const workspace = makeWorkspace({
      'svc.yaml': manifest(provider.endpoint),
      'task.md': 'Write a note and count its lines.\n',
      'house-style/svc.yaml':
        'name: house-style\nversion: 1.0.0\nruntime: skill\ndescription: How to word an answer.\n',
      'house-style/skill.md': 'Answer in one sentence.\n',
    });
    workspaces.push(workspace);
    const { code, stdout, stderr } = await svc(workspace, ['run'], { env: { PROVIDER_KEY: key } });
    await provider.close();
    expect(stderr).toBe('');
    expect(stdout).toMatch(/\nstatus: {2}ok\n$/);
    expect(code).toBe(0);

    const session = readdirSync(join(workspace.folder, 'workdir'))[0] ?? '';
    const workdir = join(workspace.folder, 'workdir', session);
    expect(readFileSync(join(workdir, 'out', 'result.txt'), 'utf8')).toBe('There is one line.');
    expect(readFileSync(join(workdir, 'notes', 'one.txt'), 'utf8')).toBe('first\n');
    expect(provider.requests.map(({ path, headers }) => [path, headers['authorization']])).toEqual(
      Array.from({ length: 3 }, () => ['/v1/chat/completions', `Bearer ${key}`]),
    );
    const [first, second, third] = conversation;
    expect(provider.requests.map(({ json }) => json)).toEqual([
      { ...common, messages: first },
      { ...common, messages: [...first, ...second] },
      { ...common, messages: [...first, ...second, ...third] },
    ]);

    const text = readFileSync(join(workspace.folder, '.svc', 'sessions', session, 'trace.jsonl'), 'utf8');
    expect(text).not.toContain(key);
    const trace = readTrace(join(workspace.folder, '.svc', 'sessions', session, 'trace.jsonl'));
    expect(trace.map(settled)).toEqual(expectedTrace(session, provider.endpoint));
    expect(parents(trace)).toEqual([
      null,
      'session_start',
      'session_start',
      ...Array.from({ length: 8 }, () => 'task_start'),
      'session_start',
      'session_start',
    ]);
  });
});

const editor = parse(readFileSync(new URL('../../artifacts/svc-tool-editor/svc.yaml', import.meta.url), 'utf8')) as {
  description: string;
  input_schema: unknown;
};

function offered(name: string, description: string, parameters: unknown): unknown {
  return { type: 'function', function: { name, description, parameters } };
}

/** What every request of the task says beside its messages. */
const common = {
  model: 'small-model',
  stream: true,
  stream_options: { include_usage: true },
  max_tokens: 500,
  tools: [
    offered('house-style', 'How to word an answer.', { type: 'object', properties: {} }),
    offered(
      'sh',
      'Runs a command line with sh, in the working directory at every call, and gives its exit code, stdout and stderr. Standard input is empty, and what is left running is ended. A command that runs longer than 600 s goes on in the background, and its end is not reported.',
      {
        type: 'object',
        properties: { command: { type: 'string', description: 'The command line, as for sh -c.' } },
        required: ['command'],
        additionalProperties: false,
      },
    ),
    offered('svc-tool-editor', editor.description, editor.input_schema),
  ],
};

function called(id: string, name: string, args: string): unknown {
  return { id, type: 'function', function: { name, arguments: args } };
}

/** What each turn adds to the conversation. */
const conversation = [
  [
    { role: 'system', content: 'You count files.' },
    { role: 'user', content: 'Write a note and count its lines.\n' },
  ],
  [
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        called('call_a', 'svc-tool-editor', '{"command":"write","path":"notes/one.txt","content":"first\\n"}'),
        called('call_b', 'house-style', '{}'),
      ],
    },
    {
      role: 'tool',
      tool_call_id: 'call_a',
      content: '<untrusted-content source=tool:svc-tool-editor>\ncreated notes/one.txt (6 bytes)\n</untrusted-content>',
    },
    { role: 'tool', tool_call_id: 'call_b', content: 'Answer in one sentence.\n' },
  ],
  [
    {
      role: 'assistant',
      content: 'Counting.',
      tool_calls: [called('call_c', 'sh', '{"command":"cat notes/one.txt | wc -l"}')],
    },
    {
      role: 'tool',
      tool_call_id: 'call_c',
      content:
        '<untrusted-content source=tool:sh>\ncommand: cat notes/one.txt | wc -l\nexit code: 0\nstdout:\n1\nstderr: (empty)\n</untrusted-content>',
    },
  ],
] as const;

/** A line without what differs from run to run: ids, times and durations, whose shapes are checked here. */
function settled(line: Record<string, unknown>): Record<string, unknown> {
  const { event_id: eventId, parent_id: _parent, timestamp, duration_ms: durationMs, ...told } = line;
  const { start_ms: startMs, ttfb_ms: firstMs, ...rest } = told;
  expect(eventId).toMatch(/^evt_[0-9a-f]{32}$/);
  expect(Number.isInteger(timestamp)).toBe(true);
  for (const ms of [durationMs, startMs, firstMs]) if (ms !== undefined) expect(Number.isInteger(ms)).toBe(true);
  for (const key of ['task_id', 'context_id']) {
    if (key in rest) rest[key] = /^(tsk|ctx)_[0-9a-f]{32}$/.test(String(rest[key])) ? key : rest[key];
  }
  return rest;
}

/** The type of each line's parent. */
function parents(trace: readonly Record<string, unknown>[]): unknown[] {
  const types = new Map(trace.map((line) => [line['event_id'], line['event_type']]));
  return trace.map((line) => (line['parent_id'] === null ? null : types.get(line['parent_id'])));
}

function expectedTrace(session: string, endpoint: string): unknown[] {
  const { host: provider, hostname, port } = new URL(endpoint);
  const task = { session_id: session, task_id: 'task_id' };
  const turn = (number: number, stopReason: string): unknown => ({
    event_type: 'inference',
    ...task,
    turn: number,
    model: 'small-model',
    outcome: 'response',
    stop_reason: stopReason,
    usage: { input_tokens: 10, output_tokens: 5 },
    host: provider,
  });
  const containment = {
    declared: 'advisory',
    achieved: 'advisory',
    mechanism: expect.stringMatching(/^(none|seccomp-only)$/),
  };
  const preopen = { path: '.', writable: true };
  return [
    {
      event_type: 'session_start',
      session_id: session,
      capsule: { name: 'counter', version: '0.1.0' },
      runtime_version: '0.4.0',
      driver: 'svc-driver-openai',
      containment,
      tools_declared: ['house-style', 'sh', 'svc-tool-editor'],
      effective_grants: {
        containment: { ...containment, floor_met: true, userns_grant: expect.any(String) },
        filesystem_scope: null,
        workdir_exec: false,
        read_only: false,
        preopens: [
          { artifact: 'svc-tool-editor', runtime: 'tool', ...preopen },
          { artifact: 'svc-driver-openai', runtime: 'driver', ...preopen },
        ],
        network_allow: [],
        unix_sockets: false,
        shell_allow: ['sh'],
        spawn_allow: [],
        env_allow: [],
        plan_submit: false,
        interpreter_runtime: ['sh'],
        limits: expect.arrayContaining([
          { resource: 'processes', of: 'session', max: 128, held_by: expect.any(String) },
        ]),
        staged_runtime: ['svc-tool-editor@1.0.0', 'house-style@1.0.0', 'svc-driver-openai@1.0.0'],
      },
    },
    {
      event_type: 'task_received',
      ...task,
      context_id: 'context_id',
      origin: 'user',
      trust: 'trusted',
      lane: 'foreground',
      text: 'Write a note and count its lines.\n',
    },
    { event_type: 'task_start', ...task, attempt: 1 },
    turn(1, 'tool_call'),
    {
      event_type: 'tool_call',
      ...task,
      turn: 1,
      tool_call_id: 'call_a',
      arguments: { command: 'write', path: 'notes/one.txt', content: 'first\n' },
      is_error: false,
      content_bytes: 100,
      exit_code: null,
      truncated: false,
      tool_name: 'svc-tool-editor',
      tool_kind: 'wasm',
    },
    {
      event_type: 'file_change',
      ...task,
      tool_name: 'svc-tool-editor',
      path: 'notes/one.txt',
      change: 'created',
      before: null,
      after: { sha256: 'b640e840b19d378660b32fb51ae18d67dccb4a8596a29e7bd72c1b2ae5928f41', bytes: 6 },
    },
    {
      event_type: 'skill_call',
      ...task,
      turn: 1,
      tool_call_id: 'call_b',
      arguments: {},
      is_error: false,
      content_bytes: 24,
      skill_name: 'house-style',
    },
    turn(2, 'tool_call'),
    {
      event_type: 'shell',
      ...task,
      turn: 2,
      tool_call_id: 'call_c',
      arguments: { command: 'cat notes/one.txt | wc -l' },
      is_error: false,
      content_bytes: 129,
      exit_code: 0,
      truncated: false,
      command_name: 'sh',
    },
    turn(3, 'end_turn'),
    {
      event_type: 'task_end',
      ...task,
      state: 'completed',
      message: 'session ended',
      turns: 3,
      usage: { input_tokens: 30, output_tokens: 15 },
    },
    {
      event_type: 'egress',
      session_id: session,
      host: hostname,
      port: Number(port),
      allowed: true,
      by: 'svc-driver-openai',
      connections: 3,
      bytes_in: expect.any(Number),
      bytes_out: expect.any(Number),
    },
    {
      event_type: 'session_end',
      session_id: session,
      status: 'ok',
      tasks: 1,
      grant_evidence: {
        commands: { sh: { used: 1, refused: 0 } },
        tools: { 'house-style': { used: 1, refused: 0 }, 'svc-tool-editor': { used: 1, refused: 0 } },
        hosts: { [provider]: { used: 3, refused: 0 } },
        capsules: {},
        hooks: {},
        unknown_calls: 0,
      },
    },
  ];
}
