import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { tracePath, useCapsules } from '../support/capsule-folders.ts';
import { calls, mcpArtifact, oddBehaviour, oddServerProgram, sdkServerProgram } from '../support/mcp-artifact.ts';
import { playSession, type ShownCall } from '../support/mcp-capsule.ts';
import { svc, SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

let sdkServer: string;

beforeAll(async () => {
  sdkServer = await sdkServerProgram();
});

function fenced(tool: string, content: string, more: Partial<ShownCall> = {}): ShownCall {
  return {
    tool,
    content: `<untrusted-content source=tool:${tool}>\n${content}\n</untrusted-content>`,
    fence: `tool:${tool}`,
    isError: false,
    truncated: false,
    ...more,
  };
}

/** What the odd server noted down that it was asked; nothing when it was never started. */
function asked(workspace: Workspace): readonly string[] {
  const log = join(workspace.folder, 'work', 'log');
  return existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n') : [];
}

const once = ['initialize', 'notifications/initialized {}', 'tools/list'];

interface OddCapsule {
  readonly behaviour?: string;
  readonly script?: string;
  readonly capabilities?: string;
}

function odd({
  behaviour = oddBehaviour(['echo'], { log: 'log' }),
  script = calls(),
  capabilities,
}: OddCapsule): Workspace {
  return capsule({
    manifest: `artifacts: [{ name: odd, version: 1.0.0, source: ./odd }]
${capabilities === undefined ? '' : `capabilities: ${capabilities}\n`}`,
    script,
    files: { ...mcpArtifact('odd', oddServerProgram(), 'behaviour.json'), 'work/behaviour.json': behaviour },
  });
}

describe('an artifact with an MCP server', () => {
  const manifest = 'artifacts: [{ name: notes, version: 1.0.0, source: ./notes-1.0.0.zip }]\n';

  it('can be built, and its tools are offered and called [D1-TRACE-03, D1-CARD-05]', async () => {
    const workspace = capsule({
      manifest,
      script: calls(
        ['notes__write_note', { name: 'a', text: 'hello' }],
        ['notes__read_note', { path: 'a.txt' }],
        ['notes__read_note', { path: 'b.txt' }],
        ['notes__write_note', { name: 'A!', text: 'x' }],
        ['notes', {}],
      ),
      files: { ...mcpArtifact('notes', sdkServer), 'notes/other.txt': 'not part of it' },
    });
    const built = await svc(workspace, ['build', 'notes']);
    expect(built.stdout).toBe(`${join(workspace.folder, 'notes-1.0.0.zip')}\n`);
    let card: unknown;
    const session = await playSession(workspace, {
      whileUp: async ({ url }) => {
        card = await (await fetch(`http://${url}/.well-known/agent-card.json`)).json();
      },
    });
    expect(card).toMatchObject({ capabilities: { tools: ['notes'] } });
    expect(session.calls.slice(0, 2)).toEqual([
      fenced('notes__write_note', 'written: a'),
      fenced('notes__read_note', '{"text":"hello"}'),
    ]);
    expect(session.calls.slice(2)).toMatchObject([
      { isError: true, content: expect.stringContaining("ENOENT: no such file or directory, open 'b.txt'") },
      { isError: true, fence: null, content: expect.stringContaining('arguments.name: must match pattern') },
      { isError: true, fence: null, content: expect.stringContaining('there is no tool named "notes"') },
    ]);
    expect(session.stderr).toBe('');
    const trace = readTrace(tracePath(workspace, session.line.session_id));
    expect(trace[0]).toMatchObject({
      tools_declared: ['notes__environment', 'notes__read_note', 'notes__write_note'],
    });
    expect(trace.find((line) => line['event_type'] === 'tool_call')).toMatchObject({
      tool_name: 'notes__write_note',
      tool_kind: 'mcp',
      exit_code: null,
    });
  });

  it.each([
    [
      'lacks the file that its command begins with',
      { 'notes/bin/server.mjs': null },
      'E-ART-004',
      'has no bin/server.mjs',
    ],
    [
      'names no command',
      { 'notes/svc.yaml': 'name: notes\nversion: 1.0.0\nruntime: tool\nimplementation: mcp\n' },
      'E-MAN-001',
      'command is missing',
    ],
  ])('cannot be built when it %s', async (_, changed, code, message) => {
    const files: Record<string, string | null> = { ...mcpArtifact('notes', sdkServer), ...changed };
    const workspace = capsule({
      files: Object.fromEntries(
        Object.entries(files).flatMap(([path, text]) => (text === null ? [] : [[path, text] as const])),
      ),
    });
    const { code: status, stderr } = await svc(workspace, ['build', 'notes']);
    expect(status).toBe(1);
    expect(stderr).toContain(`error[${code}]`);
    expect(stderr).toContain(message);
  });

  it('can be installed and listed without its server', async () => {
    const workspace = odd({});
    expect((await svc(workspace, ['install'])).code).toBe(0);
    expect((await svc(workspace, ['list'])).stdout).toMatch(/^odd +1\.0\.0 +tool +/m);
    expect(asked(workspace)).toEqual([]);
  });

  it('has the variables that its capsule grants', async () => {
    const workspace = capsule({
      manifest: `artifacts: [{ name: notes, version: 1.0.0, source: ./notes }]\ncapabilities: { env: { allow: [LANGUAGE] } }\n`,
      script: calls(['notes__environment', {}]),
      files: mcpArtifact('notes', sdkServer),
    });
    const session = await playSession(workspace, { env: { LANGUAGE: 'de', SECRET: 'x' } });
    expect(session.calls).toEqual([fenced('notes__environment', 'HOME LANG LANGUAGE PATH SVC_SESSION_ID TERM TMPDIR')]);
  });
});

describe('the server of an artifact', () => {
  it('gets its questions in the first session, and in later ones only when it is called', async () => {
    const workspace = odd({});
    expect((await playSession(workspace)).code).toBe(0);
    expect(asked(workspace)).toEqual([...once, 'end of input']);
    const [kept] = readdirSync(join(workspace.home, '.svc', 'cache', 'mcp-tools'));
    expect(kept).toMatch(/^[0-9a-f]{64}\.json$/);
    await playSession(workspace);
    expect(asked(workspace)).toEqual([...once, 'end of input']);
    workspace.write('script.yaml', calls(['odd__echo', { a: 1 }]));
    const third = await playSession(workspace);
    expect(third.calls).toEqual([fenced('odd__echo', '{"a":1}')]);
    expect(asked(workspace)).toEqual([...once, 'end of input', ...once, 'tools/call', 'end of input']);
  });

  it('gets its questions again when the artifact is another one', async () => {
    const workspace = odd({});
    await playSession(workspace);
    workspace.write('odd/bin/server.mjs', `${oddServerProgram()}\n// another one\n`);
    expect((await svc(workspace, ['install'])).code).toBe(0);
    await playSession(workspace);
    expect(asked(workspace)).toEqual([...once, 'end of input', ...once, 'end of input']);
  });

  it('causes a notice when it lists other tools than before, and the next session has them', async () => {
    const workspace = odd({});
    await playSession(workspace);
    workspace.write('work/behaviour.json', oddBehaviour(['echo', 'pid'], { log: 'log' }));
    workspace.write('script.yaml', calls(['odd__echo', {}], ['odd__pid', {}]));
    const second = await playSession(workspace);
    expect(second.calls[0]).toEqual(
      fenced('odd__echo', '{}\n[the server of odd lists other tools than before: new: pid]'),
    );
    expect(second.calls[1]?.content).toContain('there is no tool named "odd__pid"');
    expect(second.stderr).toBe(
      'warning[W-RUN-007]: the server of odd lists other tools than this session offers: new: pid\n' +
        'hint: the next session offers what it lists now\n',
    );
    const third = await playSession(workspace);
    expect(third.calls.map(({ isError }) => isError)).toEqual([false, false]);
    expect(third.stderr).toBe('');
  });

  it('causes a notice in every session when it lists what cannot be offered', async () => {
    const behaviour = oddBehaviour(['echo', 'a b', 'echo']);
    const workspace = odd({ behaviour });
    const warning =
      'warning[W-RUN-006]: the server of odd lists what is not offered: "a b", whose name is not one of the protocol; a second echo\n' +
      'hint: the model has 1 of its tools\n';
    expect((await playSession(workspace)).stderr).toBe(warning);
    expect((await playSession(workspace)).stderr).toBe(warning);
  });

  it('says at each start what artifacts[].tools names and no tool has', async () => {
    const workspace = odd({ behaviour: oddBehaviour(['read_file', 'search_all', 'b']) });
    const manifest = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    const chooses = (tools: string): void =>
      workspace.write('svc.yaml', manifest.replace('./odd }', `./odd, tools: ${tools} }`));
    const warned = 'warning[W-RUN-006]: the server of odd lists no tool';
    chooses('[raed_file, "search_*"]');
    for (const start of [1, 2]) {
      const { stderr } = await playSession(workspace);
      expect({ start, stderr }).toEqual({
        start,
        stderr: `${warned} raed_file, which artifacts[].tools chooses\nhint: did you mean read_file?\n`,
      });
    }
    chooses('[raed_file, c, serch_all]');
    expect((await playSession(workspace)).stderr).toBe(
      `${warned} raed_file, c, serch_all, which artifacts[].tools chooses\nhint: did you mean read_file for raed_file, b for c, search_all for serch_all?\n`,
    );
    chooses('[nothing]');
    expect((await playSession(workspace)).stderr).toBe(
      `${warned} nothing, which artifacts[].tools chooses\nhint: it lists read_file, search_all, b\n`,
    );
  });

  it('has the names that the manifest gives its tools, before model, trace and replay', async () => {
    const script = calls(['odd__process', {}], ['odd__pid', {}]);
    const workspace = odd({ behaviour: oddBehaviour(['pid', 'echo', 'b']), script });
    const manifest = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    const chooses = (tools: string): void =>
      workspace.write('svc.yaml', manifest.replace('./odd }', `./odd, tools: ${tools} }`));
    chooses('["*", { pid: process, nothing: x }]');
    const { stderr, calls: made, line } = await playSession(workspace);
    expect(made).toMatchObject([
      { tool: 'odd__process', content: expect.stringMatching(/\n\d+\n/) as string, isError: false },
      { content: expect.stringContaining('the tools are odd__b, odd__echo, odd__process') as string, isError: true },
    ]);
    expect(stderr).toContain('lists no tool nothing, which artifacts[].tools chooses\n');
    const [first] = readTrace(join(workspace.folder, '.svc', 'sessions', line.session_id, 'trace.jsonl'));
    expect(first).toMatchObject({
      tools_declared: ['odd__b', 'odd__echo', 'odd__process'],
      effective_grants: { renamed_tools: { odd__process: 'pid', odd__x: 'nothing' } },
    });
    expect((await svc(workspace, ['run', '--replay'])).stdout).toContain('the same except for ids and times');
    expect(await svc(workspace, ['test', '--record', 'renamed'])).toMatchObject({ code: 0 });
    expect(await svc(workspace, ['test'])).toMatchObject({ code: 0 });
    chooses('["*", { pid: other, nothing: x }]');
    const { stdout } = await svc(workspace, ['test']);
    expect(stdout).toContain('renamed differs at /grants/renamed_tools/odd__process: something else is granted\n');
    expect(stdout).toContain('what was recorded does not fit any more');
    chooses('["*", { pid: b }]');
    const refused = await svc(workspace, ['run', '--workdir', 'work', '--task', 'Do it.']);
    expect(refused.stderr).toContain(
      'error[E-CAP-014]: the tool odd__b of the artifact odd and the tool odd__b of the artifact odd share one name\n' +
        'hint: take one of them out, or give a tool of an MCP server another name in tools of its entry: { <tool>: <name> }\n',
    );
  });

  it('causes ten sentences when it lists much that cannot be offered, and svc list has each', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `t ${index}`);
    const task = { name: 'long', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } };
    const { tools } = JSON.parse(oddBehaviour(names)) as { readonly tools: readonly unknown[] };
    const workspace = odd({ behaviour: JSON.stringify({ tools: [task, ...tools] }) });
    const { stderr } = await playSession(workspace);
    expect(stderr).toContain('lists what is not offered: long, which answers only as a task; "t 0", whose name');
    expect(stderr).toContain(
      '"t 8", whose name is not one of the protocol; 3 more\n' +
        'hint: the model has 0 of its tools; svc list --json names each that is left out\n',
    );
    const [row = ''] = (await svc(workspace, ['list', '--json'])).stdout.split('\n');
    expect(JSON.parse(row)).toMatchObject({
      name: 'odd',
      left_out: [
        'long, which answers only as a task',
        ...names.map((name) => `"${name}", whose name is not one of the protocol`),
      ],
    });
  });

  it('causes a notice when it lists nothing or has no list, and its artifact is not on the card', async () => {
    const manifest = ['odd', 'bare', 'files'].map(
      (name) => `  - { name: ${name}, version: 1.0.0, source: ./${name} }\n`,
    );
    const workspace = capsule({
      manifest: `artifacts:\n${manifest.join('')}`,
      files: {
        ...mcpArtifact('odd', oddServerProgram()),
        ...mcpArtifact('bare', oddServerProgram(), 'bare.json'),
        'work/bare.json': oddBehaviour([], { habits: ['no list'] }),
        ...mcpArtifact('files', oddServerProgram(), 'files.json'),
        'work/files.json': oddBehaviour([], { habits: ['resources alone'], log: 'log' }),
      },
    });
    let card: unknown;
    const session = await playSession(workspace, {
      whileUp: async ({ url }) => {
        card = await (await fetch(`http://${url}/.well-known/agent-card.json`)).json();
      },
    });
    expect(card).toMatchObject({ capabilities: { tools: [] } });
    expect(session.stderr).toContain('warning[W-RUN-006]: the server of odd lists no tool\n');
    expect(session.stderr).toContain(
      'warning[W-RUN-006]: the server of bare has no list of tools: it answered with error -32601: unknown method\n' +
        'hint: svc uses nothing but tools of a server: without them, artifacts needs no bare\n',
    );
    expect(session.stderr).toContain('[W-RUN-006]: the server of files declares resources, and no tools\n');
    expect(asked(workspace)).toEqual(['initialize', 'notifications/initialized {}', 'end of input']);
    expect(session.code).toBe(0);
  });

  it.each([
    ['exits', 'it exited with status 7\nhint: its last words on stderr:\n  | no licence\n  |   at line 2'],
    [
      'old version',
      'it speaks the version "1999-01-01" of the protocol, and not one of 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, 2024-10-07',
    ],
    ['endless pages', 'it lists more than 10000 tools, or in more than 64 pages'],
  ])('keeps the first session from starting when it %s', async (habit, reason) => {
    const workspace = odd({ behaviour: oddBehaviour(['echo'], { habits: [habit] }) });
    const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', 'work', '--task', 'Do it.']);
    expect(stderr).toBe(`error[E-RUN-036]: the server of odd did not list its tools: ${reason}\n`);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });

  it('keeps the first session from starting when it never answers, and ends', async () => {
    const behaviour = oddBehaviour(['echo'], { habits: ['never answers'], log: 'log' });
    const workspace = odd({ behaviour, capabilities: '{ limits: { deadline: 2 } }' });
    const { code, stderr } = await svc(workspace, ['run', '--workdir', 'work', '--task', 'Do it.']);
    expect(stderr).toBe('error[E-RUN-036]: the server of odd did not list its tools: it did not answer within 2 s\n');
    expect(code).toBe(1);
    expect(asked(workspace)).toEqual(['initialize', 'end of input']);
  });

  it('delays no end of svc when it never answers', async () => {
    const workspace = odd({ behaviour: oddBehaviour(['echo'], { habits: ['never answers'], log: 'log' }) });
    const run = new SvcProcess(workspace, ['run', '--workdir', 'work', '--task', 'Do it.']);
    await expect.poll(() => asked(workspace), { timeout: 20_000 }).toEqual(['initialize']);
    run.child.kill('SIGTERM');
    const { code, stderr } = await run.ended;
    expect(stderr).toBe(
      'error[E-RUN-036]: the server of odd did not list its tools: it had not answered when svc was asked to stop\n',
    );
    expect(code).toBe(1);
    expect(asked(workspace)).toEqual(['initialize', 'end of input']);
  });

  it('ends when another one keeps the session from starting', async () => {
    const workspace = capsule({
      manifest: `artifacts:
  - { name: odd, version: 1.0.0, source: ./odd }
  - { name: broken, version: 1.0.0, source: ./broken }
`,
      files: {
        ...mcpArtifact('odd', oddServerProgram(), 'behaviour.json'),
        ...mcpArtifact('broken', oddServerProgram(), 'broken.json'),
        'work/behaviour.json': oddBehaviour(['echo'], { log: 'log' }),
        'work/broken.json': oddBehaviour([], { habits: ['exits'] }),
      },
    });
    const { code, stderr } = await svc(workspace, ['run', '--workdir', 'work', '--task', 'Do it.']);
    expect(stderr).toContain(
      'error[E-RUN-036]: the server of broken did not list its tools: it exited with status 7\n',
    );
    expect(code).toBe(1);
    expect(asked(workspace)).toEqual([...once, 'end of input']);
    const [id = ''] = readdirSync(join(workspace.folder, '.svc', 'sessions'));
    const sessions = await svc(workspace, ['sessions', '--failed', '--json']);
    expect(JSON.parse(sessions.stdout)).toMatchObject({ session_id: id, status: 'not-started' });
    for (const command of [
      ['trace', 'show'],
      ['tasks'],
      ['watch'],
      ['send', 'Hi.'],
      ['stop'],
      ['new', 'capsule', 'x', '--from'],
    ]) {
      const [name = '', ...rest] = command;
      const args = name === 'send' ? [name, id, ...rest] : [...command, id];
      expect((await svc(workspace, args)).stderr).toMatch(
        new RegExp(
          `^error\\[E-RUN-0(?:26|71)\\]: the session ${id} never started\\nhint: its start failed or was ended, `,
        ),
      );
    }
  });

  it('leaves the session alive when it breaks the protocol in a call', async () => {
    const tools = ['huge', 'garbage', 'die', 'closes', 'echo'];
    const workspace = odd({
      behaviour: oddBehaviour(tools),
      script: calls(
        ['odd__huge', {}],
        ['odd__garbage', {}],
        ['odd__die', {}],
        ['odd__closes', {}],
        ['odd__echo', { up: true }],
      ),
    });
    const session = await playSession(workspace);
    expect(session.calls.map(({ isError }) => isError)).toEqual([true, true, true, true, false]);
    expect(session.calls[3]?.content).toContain('the server of odd closed its output');
    expect(session.calls[4]).toEqual(fenced('odd__echo', '{"up":true}'));
    expect(session.code).toBe(0);
  });
});

it('the SDK is loaded with the first server, not with the session', async () => {
  const workspace = odd({});
  const list = join(workspace.home, 'loaded');
  const preload = fileURLToPath(new URL('../support/loaded-files.cjs', import.meta.url));
  const env = { NODE_OPTIONS: `--require=${preload}`, LOADED_FILES: list };
  const loaded = async (): Promise<string> => {
    await playSession(workspace, { env });
    return readFileSync(list, 'utf8');
  };
  expect(await loaded()).toContain('dist/packages/-modelcontextprotocol-client.cjs');
  const second = await loaded();
  expect(second).toContain('dist/packages/');
  expect(second).not.toContain('modelcontextprotocol');
});

describe('a server that is a program of the host', () => {
  function hosted(capabilities: string): Workspace {
    const workspace = capsule({
      manifest: `artifacts: [{ name: odd, version: 1.0.0, source: ./odd }]\ncapabilities: ${capabilities}\n`,
      script: calls(['odd__echo', {}]),
      files: {
        'odd/svc.yaml':
          'name: odd\nversion: 1.0.0\nruntime: tool\nimplementation: mcp\ncommand: [node, server.mjs, behaviour.json]\n',
        'work/server.mjs': oddServerProgram(),
        'work/behaviour.json': oddBehaviour(['echo']),
      },
    });
    return workspace;
  }

  it('can be built, and runs when it may run', async () => {
    const workspace = hosted('{ shell: { allow: [node] } }');
    expect((await svc(workspace, ['build', 'odd'])).code).toBe(0);
    expect((await playSession(workspace)).calls).toEqual([fenced('odd__echo', '{}')]);
  });

  it('keeps the session from starting when it may not run', async () => {
    const workspace = hosted('{ shell: { allow: [git] } }');
    const { code, stderr } = await svc(workspace, ['run', '--workdir', 'work', '--task', 'Do it.']);
    expect(stderr).toBe(
      'error[E-CAP-016]: the server of odd is the program node, which neither artifacts[].runs of its entry nor capabilities.shell.allow lists\n' +
        'hint: set runs: [node] on its entry, or use an artifact that brings its server along\n',
    );
    expect(code).toBe(1);
  });
});
