import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

import {
  classWarning,
  message,
  rpc,
  startCapsule,
  svc,
  type RunLine,
  type SvcProcess,
} from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));
/** Options of `unshare` for a space of processes of one's own; an ordinary user needs one of users as well. */
const elsewhere: readonly string[] = [process.getuid?.() === 0 ? '-pf' : '-rpf', '--kill-child', '--mount-proc'];

const workspaces: Workspace[] = [];

afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

/** A model that answers by what it read: its next answer depends on the conversation alone. Each request is written down. */
const driver = `
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const answers = [
  ...['one', 'two', 'three', '.', 'four', 'five', '.', 'six', 'seven', '.'],
];
for await (const line of createInterface({ input: process.stdin })) {
  const { request } = JSON.parse(line);
  appendFileSync('REQUESTS', JSON.stringify(request.messages) + '\\n');
  const turn = request.messages.filter(({ role }) => role === 'assistant').length;
  const answer = answers[turn];
  const content = answer === '.'
    ? [{ type: 'thinking', text: 'so it is', signature: 'c2ln' }, { type: 'text', text: 'turn ' + turn }]
    : [{ type: 'tool_call', id: 'call_' + turn, name: 'sh', input: { command: 'echo ' + answer } }];
  const response = { content, stop_reason: answer === '.' ? 'end_turn' : 'tool_call', continuation_id: 'c' + turn };
  process.stdout.write(JSON.stringify({ type: 'response', response }) + '\\n');
}
`;

function capsule(): Workspace {
  const workspace = makeWorkspace({});
  workspaces.push(workspace);
  workspace.write('driver.mjs', driver.replace('REQUESTS', join(workspace.folder, 'requests.jsonl')));
  workspace.write(
    'svc.yaml',
    `name: demo
version: 1.2.3
inference: { transport: process, model: m, command: ["${process.execPath}", "${join(workspace.folder, 'driver.mjs')}"] }
capabilities: { shell: { allow: [sh] } }
lifecycle: { task_acceptance: queue, after_task: sleep, conversation: threaded }
`,
  );
  return workspace;
}

interface Running {
  readonly process: SvcProcess;
  readonly line: RunLine;
}

async function start(workspace: Workspace, args = ['--workdir', join(workspace.folder, 'work')]): Promise<Running> {
  return await startCapsule(workspace, args);
}

/** Runs one task to its end; what `tasks/get` says of it then. */
async function run({ line }: Running, text: string, contextId: string): Promise<Record<string, unknown>> {
  const sent = (await rpc(line.url, 'message/send', message(text, contextId)))['result'] as { id: string };
  for (;;) {
    const task = (await rpc(line.url, 'tasks/get', { id: sent.id }))['result'] as { status: { state: string } };
    if (!['submitted', 'working'].includes(task.status.state)) return task;
  }
}

async function end({ process }: Running, signal: NodeJS.Signals): Promise<void> {
  process.child.kill(signal);
  await process.ended;
}

function requests(workspace: Workspace): unknown[] {
  const lines = readFileSync(join(workspace.folder, 'requests.jsonl'), 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as unknown);
}

const asked = (text: string): object => ({ role: 'user', content: [{ type: 'text', text }] });

function called(turn: number, word: string): object[] {
  const text = `<untrusted-content source=tool:sh>\ncommand: echo ${word}\nexit code: 0\nstdout:\n${word}\nstderr: (empty)\n</untrusted-content>`;
  const id = `call_${turn}`;
  return [
    { role: 'assistant', content: [{ type: 'tool_call', id, name: 'sh', input: { command: `echo ${word}` } }] },
    { role: 'tool', tool_call_id: id, is_error: false, content: [{ type: 'text', text }] },
  ];
}

const replied = (turn: number): object => ({
  role: 'assistant',
  content: [
    { type: 'thinking', text: 'so it is', signature: 'c2ln' },
    { type: 'text', text: `turn ${turn}` },
  ],
});

describe('threaded conversations with --workdir', () => {
  it('go on over a kill and a restart: ten turns in three tasks', async () => {
    const workspace = capsule();
    for (const [text, signal] of [
      ['Begin.', 'SIGKILL'],
      ['Go on.', 'SIGTERM'],
      ['End.', 'SIGTERM'],
    ] as const) {
      const running = await start(workspace);
      expect(await run(running, text, 'thread-1')).toMatchObject({ status: { state: 'completed' } });
      await end(running, signal);
    }
    const seen = requests(workspace);
    expect(seen).toHaveLength(10);
    // The request of the third task.
    expect(seen[7]).toEqual([
      asked('Begin.'),
      ...called(0, 'one'),
      ...called(1, 'two'),
      ...called(2, 'three'),
      replied(3),
      asked('Go on.'),
      ...called(4, 'four'),
      ...called(5, 'five'),
      replied(6),
      asked('End.'),
    ]);
  });

  it('exist once a context and once a workdir', async () => {
    const workspace = capsule();
    const first = await start(workspace);
    await run(first, 'Begin.', 'thread-1');
    await run(first, 'Something else.', 'thread-2');
    await end(first, 'SIGTERM');
    const second = await start(workspace, ['--workdir', join(workspace.folder, 'other')]);
    await run(second, 'Anew.', 'thread-1');
    await end(second, 'SIGTERM');
    const seen = requests(workspace);
    expect([seen[0], seen[4], seen[8]]).toEqual([[asked('Begin.')], [asked('Something else.')], [asked('Anew.')]]);
  });

  it('without the flag live as long as the session, and leave no file', async () => {
    const workspace = capsule();
    for (const _ of ['first', 'second']) {
      const running = await start(workspace, []);
      await run(running, 'Begin.', 'thread-1');
      await run(running, 'Go on.', 'thread-1');
      await end(running, 'SIGTERM');
    }
    const seen = requests(workspace) as unknown[][];
    expect(seen.map((messages) => messages.length)).toEqual([1, 3, 5, 7, 9, 11, 13, 1, 3, 5, 7, 9, 11, 13]);
    expect(existsSync(join(workspace.folder, '.svc/conversations'))).toBe(false);
  });

  it('make a second session fail at once, before it says anything', async () => {
    const workspace = capsule();
    const running = await start(workspace);
    const { code, stdout, stderr } = await svc(workspace, [
      'run',
      '--json',
      '--workdir',
      join(workspace.folder, 'work'),
    ]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `error[E-RUN-033]: session ${running.line.session_id} (process ${running.line.pid}) works in ${running.line.workdir} already\n` +
        `hint: stop it with svc stop ${running.line.session_id}, or give this one a workdir of its own\n`,
    );
    await end(running, 'SIGTERM');
    await end(await start(workspace), 'SIGTERM');
  });

  it('make a session of another container fail too, which leaves the record of the first alone (skipped without namespaces)', async (context) => {
    context.skip(spawnSync('unshare', elsewhere.concat('true')).status !== 0, 'needs a namespace of processes');
    const workspace = capsule();
    const running = await start(workspace);
    const records = join(workspace.home, '.svc/running');
    const listed = readdirSync(records);
    expect(listed).toHaveLength(1);
    const svcElsewhere = (...args: readonly string[]) =>
      spawnSync('unshare', [...elsewhere, process.execPath, program, ...args], {
        cwd: workspace.folder,
        env: { PATH: process.env['PATH'], HOME: workspace.home, SVC_CONTAINMENT_CEILING: 'advisory' },
        encoding: 'utf8',
        timeout: 25_000,
        killSignal: 'SIGKILL',
      });
    const { status, stdout, stderr } = svcElsewhere('run', '--workdir', join(workspace.folder, 'work'));
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr.replace(classWarning, '')).toBe(
      `error[E-RUN-033]: session ${running.line.session_id} (process ${running.line.pid}) works in ${running.line.workdir} already\n` +
        'hint: it is of another container or machine, or of before this one was last started: stop it there, wait 5 minutes where it has ended, or give this one a workdir of its own\n',
    );
    expect(svcElsewhere('ps').stderr).toBe('no capsule is running\n');
    expect(readdirSync(records)).toEqual(listed);
    expect((await svc(workspace, ['ps'])).stdout).toContain(running.line.session_id);
    await end(running, 'SIGTERM');
    expect(readdirSync(records)).toEqual([]);
  });

  it('fail the task of their context when they are damaged, by name, and no other', async () => {
    const workspace = capsule();
    const first = await start(workspace);
    await run(first, 'Begin.', 'thread-1');
    await end(first, 'SIGTERM');
    const path = keptFile(workspace);
    writeFileSync(path, readFileSync(path, 'utf8').slice(0, -20));
    const second = await start(workspace);
    expect(await run(second, 'Go on.', 'thread-1')).toMatchObject({
      status: { state: 'failed', message: 'session ended' },
    });
    expect(readFileSync(join(second.line.workdir, 'out/result.txt'), 'utf8')).toBe(
      `error: E-RUN-031: the kept conversation ${path} cannot be used: it is damaged`,
    );
    expect(await run(second, 'Begin.', 'thread-2')).toMatchObject({ status: { state: 'completed' } });
    await end(second, 'SIGTERM');
    expect(requests(workspace)).toHaveLength(8);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'stay as they were when the disk is full (needs root, to mount one)',
    async () => {
      const workspace = capsule();
      const disk = join(workspace.folder, '.svc/conversations');
      mkdirSync(disk, { recursive: true });
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
      try {
        const running = await start(workspace);
        await run(running, 'Begin.', 'thread-1');
        const path = keptFile(workspace);
        const before = readFileSync(path, 'utf8');
        expect(await run(running, 'x'.repeat(100_000), 'thread-1')).toMatchObject({ status: { state: 'failed' } });
        expect(readFileSync(join(running.line.workdir, 'out/result.txt'), 'utf8')).toBe(
          `error: E-IO-001: the conversation ${path} cannot be kept: no space left on the device`,
        );
        expect(readFileSync(path, 'utf8')).toBe(before);
        expect(await run(running, 'Go on.', 'thread-1')).toMatchObject({ status: { state: 'completed' } });
        await end(running, 'SIGTERM');
      } finally {
        execFileSync('umount', [disk]);
      }
    },
  );
});

/** The one file of a conversation, by the name that the runtime gives it. */
function keptFile(workspace: Workspace): string {
  const root = join(workspace.folder, '.svc/conversations');
  const [path, ...others] = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.json'),
  );
  expect(others).toEqual([]);
  return join(root, path ?? '');
}
