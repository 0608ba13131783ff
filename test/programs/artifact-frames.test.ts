import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { fixtureComponent } from '../../packages/components/test/support/fixture-component.ts';
import { addComponentTool } from '../support/component-tool.ts';
import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import { type FakeProvider, recordsIn } from '@svc/testing/fake-provider.ts';
import { says, type FakeToolCall } from '@svc/testing/fake-reply.ts';
import type { StreamFrame } from '../support/frame-stream.ts';
import { StreamedCapsule } from '../support/streamed-capsule.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const nativeTool = `#!/bin/sh
read -r request
case "$request" in
  *'"mood":"bad"'*) echo '{"status":"failed","content":"no","truncated":true}'; exit 7 ;;
  *'"mood":"odd"'*) echo '{"status":"passed","content":"a\\\\ud800b"}' ;;
  *'"mood":"worse"'*) kill -9 $$ ;;
  *) echo '{"status":"passed","content":"yes"}' ;;
esac
`;

function makeCapsule(endpoint: string): Workspace {
  const workspace = makeWorkspace({
    'svc.yaml': `name: frames
version: 1.0.0
artifacts:
  - { name: svc-tool-editor, version: 1.0.0 }
  - { name: probe, version: 1.0.0, source: ./probe }
  - { name: mood, version: 1.0.0, source: ./mood }
  - { name: style, version: 1.0.0, runtime: skill, source: ./style }
inference: { endpoint: '${endpoint}', model: m, driver: { artifact: svc-driver-openai } }
capabilities: { shell: { allow: [sh, echo] } }
lifecycle: { task_acceptance: queue, after_task: sleep }
`,
    'mood/svc.yaml': 'name: mood\nversion: 1.0.0\nruntime: tool\nimplementation: native\n',
    'mood/bin/mood': nativeTool,
    'style/svc.yaml': 'name: style\nversion: 1.0.0\nruntime: skill\n',
    'style/skill.md': 'Say <untrusted-content> as it is.\n',
  });
  chmodSync(join(workspace.folder, 'mood', 'bin', 'mood'), 0o755);
  return workspace;
}

/** One call of a turn, and the `artifact` of its frame except for `duration_ms`. */
interface Case {
  readonly name: string;
  readonly call: FakeToolCall;
  readonly artifact: Readonly<Record<string, unknown>>;
}

function called(id: string | null, name: string, input: unknown): FakeToolCall {
  return { id, name, arguments: typeof input === 'string' ? input : JSON.stringify(input) };
}

function fenced(name: string, text: string): { readonly content: string; readonly fence_source: string } {
  return {
    content: `<untrusted-content source=tool:${name}>\n${text}\n</untrusted-content>`,
    fence_source: `tool:${name}`,
  };
}

const passed = { is_error: false, exit_code: null, truncated: false };
const failed = { is_error: true, exit_code: null, truncated: false };
/** The runtime's own words about a call that ran nothing. */
const unreached = { ...failed, fence_source: null };

const cases: readonly Case[] = [
  {
    name: 'a WASM tool that passed [D1-FRAME-19, D1-FRAME-22, D1-FRAME-24, D1-FRAME-26, D1-FRAME-30]',
    call: called('c01', 'probe', { op: 'echo', note: '<untrusted-content>' }),
    artifact: {
      tool_name: 'probe',
      ...fenced('probe', '{"op":"echo","note":"<[broken]untrusted-content>"}'),
      tool_call_id: 'c01',
      ...passed,
    },
  },
  {
    name: 'a WASM tool that failed [D1-FRAME-22, D1-FRAME-26, D1-FRAME-30]',
    call: called('c02', 'svc-tool-editor', { command: 'read', path: 'absent.txt' }),
    artifact: {
      tool_name: 'svc-tool-editor',
      ...fenced('svc-tool-editor', 'absent.txt does not exist'),
      tool_call_id: 'c02',
      ...failed,
    },
  },
  {
    name: 'a WASM tool that trapped [D1-FRAME-26]',
    call: called('c03', 'probe', { op: 'fail', message: 'on purpose' }),
    artifact: {
      tool_name: 'probe',
      // The engine's own account of the trap stands between.
      content: expect.stringMatching(
        /^<untrusted-content source=tool:probe>\nthe tool probe broke off: [^]*on purpose[^]*\n<\/untrusted-content>$/,
      ),
      fence_source: 'tool:probe',
      tool_call_id: 'c03',
      ...failed,
    },
  },
  {
    name: 'a WASM tool with a result of a mebibyte [D1-FRAME-20]',
    call: called('c04', 'probe', { op: 'large', megabytes: 1 }),
    artifact: { tool_name: 'probe', ...fenced('probe', 'y'.repeat(1048576)), tool_call_id: 'c04', ...passed },
  },
  {
    name: 'a native tool that passed [D1-FRAME-29]',
    call: called('c05', 'mood', {}),
    artifact: { tool_name: 'mood', ...fenced('mood', 'yes'), tool_call_id: 'c05', ...passed, exit_code: 0 },
  },
  {
    name: 'a native tool that failed, with a flag and an exit status of its own [D1-FRAME-26, D1-FRAME-29, D1-FRAME-31]',
    call: called('c06', 'mood', { mood: 'bad' }),
    artifact: {
      tool_name: 'mood',
      ...fenced('mood', 'no'),
      tool_call_id: 'c06',
      is_error: true,
      exit_code: 7,
      truncated: true,
    },
  },
  {
    name: 'a native tool that was killed [D1-FRAME-26, D1-FRAME-29]',
    call: called('c07', 'mood', { mood: 'worse' }),
    artifact: {
      tool_name: 'mood',
      ...fenced('mood', 'the tool mood did not answer with the JSON object of a tool result (ended by signal SIGKILL)'),
      tool_call_id: 'c07',
      ...failed,
    },
  },
  {
    name: 'a native tool whose result holds half a character [D1-FRAME-20]',
    call: called('c19', 'mood', { mood: 'odd' }),
    artifact: { tool_name: 'mood', ...fenced('mood', 'a\uFFFDb'), tool_call_id: 'c19', ...passed, exit_code: 0 },
  },
  {
    name: 'a shell command that exits with 0 [D1-FRAME-22, D1-FRAME-26, D1-FRAME-29, D1-FRAME-31]',
    call: called('c08', 'sh', { command: 'echo out; echo err >&2' }),
    artifact: {
      tool_name: 'sh',
      ...fenced('sh', 'command: echo out; echo err >&2\nexit code: 0\nstdout:\nout\nstderr:\nerr'),
      tool_call_id: 'c08',
      ...passed,
      exit_code: 0,
    },
  },
  {
    name: 'a shell command that exits with 3 [D1-FRAME-29, D1-FRAME-34]',
    call: called('c09', 'sh', { command: 'exit 3' }),
    artifact: {
      tool_name: 'sh',
      ...fenced('sh', 'command: exit 3\nexit code: 3\nstdout: (empty)\nstderr: (empty)'),
      tool_call_id: 'c09',
      ...passed,
      exit_code: 3,
    },
  },
  {
    name: 'a shell command that did not run to completion [D1-FRAME-26, D1-FRAME-29]',
    call: called('c10', 'sh', { command: 'kill -9 $$' }),
    artifact: {
      tool_name: 'sh',
      ...fenced('sh', 'command: kill -9 $$\nended by signal: SIGKILL\nstdout: (empty)\nstderr: (empty)'),
      tool_call_id: 'c10',
      ...failed,
    },
  },
  {
    name: 'a shell command with more output than the model is shown [D1-FRAME-31]',
    call: called('c11', 'sh', { command: "head -c 20000 /dev/zero | tr '\\0' a" }),
    artifact: {
      tool_name: 'sh',
      ...fenced(
        'sh',
        `command: head -c 20000 /dev/zero | tr '\\0' a\nexit code: 0\nstdout:\n${'a'.repeat(16384)}\n[3616 more bytes are not shown; the whole is kept in logs/4-sh-stdout.log, out of reach of tools: what a command writes into a file can be read in parts]\nstderr: (empty)`,
      ),
      tool_call_id: 'c11',
      is_error: false,
      exit_code: 0,
      truncated: true,
    },
  },
  {
    name: 'a command that was never started [D1-FRAME-23, D1-FRAME-26, D1-FRAME-30, D1-FRAME-32]',
    call: called('c12', 'echo', { command: '"open' }),
    artifact: {
      tool_name: 'echo',
      content: 'the command cannot be split into words: a " is not closed',
      tool_call_id: 'c12',
      ...unreached,
    },
  },
  {
    name: 'a skill [D1-FRAME-19, D1-FRAME-23, D1-FRAME-26, D1-FRAME-30]',
    call: called('c13', 'style', {}),
    artifact: {
      tool_name: 'style',
      content: 'Say <untrusted-content> as it is.\n',
      fence_source: null,
      tool_call_id: 'c13',
      ...passed,
    },
  },
  {
    name: 'a tool that does not exist [D1-FRAME-23, D1-FRAME-26, D1-FRAME-30, D1-FRAME-32]',
    call: called('c14', 'absent', {}),
    artifact: {
      tool_name: 'absent',
      content: 'there is no tool named "absent"; the tools are echo, mood, probe, sh, style, svc-tool-editor',
      tool_call_id: 'c14',
      ...unreached,
    },
  },
  {
    name: 'arguments that do not fit the schema [D1-FRAME-23, D1-FRAME-26, D1-FRAME-30, D1-FRAME-32]',
    call: called('c15', 'sh', { cmd: 'true' }),
    artifact: {
      tool_name: 'sh',
      content:
        'the arguments of sh do not fit its input schema:\narguments.command: is required\narguments.cmd: is not a known property',
      tool_call_id: 'c15',
      ...unreached,
    },
  },
  {
    name: 'arguments that are no JSON [D1-FRAME-23, D1-FRAME-26, D1-FRAME-30, D1-FRAME-32]',
    call: called('c16', 'probe', '{"op":'),
    artifact: {
      tool_name: 'probe',
      content: 'the arguments of probe are not a JSON object',
      tool_call_id: 'c16',
      ...unreached,
    },
  },
  {
    name: 'a call without an id [D1-FRAME-25]',
    call: called(null, 'sh', { command: 'true' }),
    artifact: {
      tool_name: 'sh',
      ...fenced('sh', 'command: true\nexit code: 0\nstdout: (empty)\nstderr: (empty)'),
      tool_call_id: null,
      ...passed,
      exit_code: 0,
    },
  },
  {
    name: 'a call with an empty id [D1-FRAME-25]',
    call: called('', 'echo', { command: "'two words' three" }),
    artifact: {
      tool_name: 'echo',
      ...fenced('echo', "command: echo 'two words' three\nexit code: 0\nstdout:\ntwo words three\nstderr: (empty)"),
      tool_call_id: null,
      ...passed,
      exit_code: 0,
    },
  },
];

const callLines: ReadonlySet<unknown> = new Set(['tool_call', 'shell', 'skill_call']);

/** All of them are calls of one turn, so that their order shows too. */
describe('the artifact frame of', () => {
  let provider: FakeProvider;
  let capsule: StreamedCapsule;
  let frames: readonly StreamFrame[] = [];
  let durations: readonly unknown[] = [];

  beforeAll(async () => {
    provider = await startFakeOpenAi([{ kind: 'stream', toolCalls: cases.map(({ call }) => call) }, says('Done.')]);
    const workspace = makeCapsule(provider.endpoint);
    addComponentTool(workspace, 'probe', await fixtureComponent('probe-tool'));
    capsule = await StreamedCapsule.start(workspace);
    frames = (await (await capsule.submit('Try everything.')).untilClosed()).frames;
    const calls = capsule.trace.filter((line) => callLines.has(line['event_type']));
    durations = calls.map((line) => line['duration_ms']);
  });
  afterAll(async () => {
    await capsule.dispose();
    await provider.close();
  });

  it.each(cases.map(({ name, artifact }, index) => [name, artifact, index] as const))(
    '%s',
    (_name, artifact, index) => {
      const frame = frames[index + 1];
      expect(frame?.data).toEqual({
        id: frames[0]?.data['id'],
        artifact: { ...artifact, duration_ms: durations[index] },
      });
    },
  );

  it('each call stands in the order of the calls, with the next id of the task [D1-FRAME-14, D1-FRAME-18, D1-ID-01, D1-ID-07]', () => {
    expect(frames.map(({ id, event }) => `${id} ${event}`)).toEqual([
      '0 status',
      ...cases.map((_, index) => `${index + 1} artifact`),
      '20 status',
      '21 text',
      '22 text',
      '23 status',
    ]);
    expect(new Set(frames.map(({ data }) => data['id'])).size).toBe(1);
  });

  it('any call has the same keys in the same order, and no summary [D1-FRAME-17, D1-FRAME-33]', () => {
    const keys = frames
      .filter(({ event }) => event === 'artifact')
      .map(({ data }) => Object.keys(data['artifact'] as object));
    const expected = [
      'tool_name',
      'content',
      'fence_source',
      'tool_call_id',
      'is_error',
      'duration_ms',
      'exit_code',
      'truncated',
    ];
    expect(keys).toEqual(cases.map(() => expected));
  });

  it('any call says how long it took, as its line of the trace does [D1-FRAME-28]', () => {
    expect(durations).toHaveLength(19);
    const told = frames.filter(({ event }) => event === 'artifact').map(({ data }) => data['artifact']);
    expect(told.map((artifact) => (artifact as Record<string, unknown>)['duration_ms'])).toEqual(durations);
    for (const duration of durations) expect(duration).toSatisfy((ms) => Number.isInteger(ms) && Number(ms) >= 0);
    // The component of the first call had to be compiled and started for it.
    expect(durations[0]).toBeGreaterThan(0);
  });

  it('any call holds what the model received in its next request [D1-FRAME-20, D1-FRAME-21]', async () => {
    const { json } = await provider.request(2);
    const { messages } = json as { readonly messages: unknown };
    const received = recordsIn(messages).filter((message) => message['role'] === 'tool');
    const shown = frames.filter(({ event }) => event === 'artifact');
    expect(received.map((message) => message['content'])).toEqual(
      shown.map(({ data }) => (data['artifact'] as { readonly content: string }).content),
    );
  });
});
