import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { asks, says, script } from '../support/scripted-turns.ts';
import { startCapsule, svc, type SvcEnd, SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const useCapsule = useCapsules();

const staysUp = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';
const asker = 'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n';
const hangs = `- { when: Hang, delay_ms: 600000, content: [{ type: text, text: Late. }], stop_reason: end_turn }
- { when: Go, content: [{ type: text, text: "Do\\e[2Jne." }], stop_reason: end_turn }
`;

interface Started {
  readonly workspace: Workspace;
  readonly session: string;
  readonly run: (...args: readonly string[]) => Promise<SvcEnd>;
  readonly end: () => Promise<void>;
}

async function started(manifest: string, text: string): Promise<Started> {
  const workspace = useCapsule({ manifest, script: text });
  const { process, line } = await startCapsule(workspace);
  return {
    workspace,
    session: line.session_id,
    run: async (...args) => await svc(workspace, args),
    end: async () => {
      process.child.kill('SIGTERM');
      await process.ended;
    },
  };
}

function objectIn({ stdout }: SvcEnd): Record<string, unknown> {
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe('svc sessions', () => {
  it('says which session waits for an answer of a person, until it has one', async () => {
    const { run, session, end } = await started(staysUp + asker, script(asks('Which colour?'), says('Blue.')));
    const { asks: before } = objectIn(await run('sessions', '--json'));
    await run('send', session, 'Ask me.', '--wait');
    expect((await run('sessions')).stdout).toMatch(/ waits for you /);
    const { status, asks: meanwhile } = objectIn(await run('sessions', '--json'));
    expect([before, status, meanwhile]).toEqual([false, 'running', true]);
    await run('answer', session, 'blue');
    await expect.poll(async () => (await run('sessions')).stdout, { timeout: 60_000 }).toMatch(/ running /);
    await end();
  });
});

describe('svc send', () => {
  it('writes the answer of a task that it waited for, made harmless', async () => {
    const { run, end, session, workspace } = await started(staysUp, hangs);
    expect(await run('send', session.slice(-4), '--wait', 'Go.')).toMatchObject({
      code: 0,
      stdout: 'Done.\n',
      stderr: '',
    });
    const path = `${workspace.folder}/.svc/sessions/${session}`;
    const whole = await run('send', path, '--wait', '--json', 'Go.');
    expect(objectIn(whole)).toMatchObject({ session, state: 'completed', prompt: null });
    await end();
  });

  it('gives the reason of a task that failed, as svc tasks and svc watch do', async () => {
    const broken = '- content: [{ type: text, text: Half }]\n  stop_reason: error\n  error: the provider is busy\n';
    const { run, end, session, workspace } = await started(staysUp, broken);
    const { code, stderr } = await run('send', session, '--wait', 'Go.');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^error\[E-RUN-059\]: tsk_[0-9a-f]{32} failed: the provider is busy\nhint: /,
      ) as string,
    });
    expect(objectIn(await run('send', session, '--wait', '--json', 'Go.'))).toMatchObject({
      state: 'failed',
      response: 'error: the provider is busy',
    });
    const [first = ''] = (await run('tasks', session, '--json')).stdout.split('\n');
    expect(JSON.parse(first)).toMatchObject({ state: 'failed', reason: 'the provider is busy' });
    expect((await run('tasks', session)).stdout).toMatch(/ TEXT {2,}REASON\n.* Go\. {3,}the provider is busy\n/);
    const watching = new SvcProcess(workspace, ['watch', session]);
    await watching.printed(/^\[failed\] the provider is busy\n/m);
    watching.child.kill();
    await watching.ended;
    await end();
  });

  it('starts a task that others list, cancel, and wait for in vain', async () => {
    const { run, end, session, workspace } = await started(staysUp, hangs);
    const sent = await run('send', session, 'Hang.');
    expect(sent.stdout).toMatch(/^tsk_[0-9a-f]{32} (?:submitted|working)\n$/);
    const [task = ''] = sent.stdout.split(' ');
    const waiting = new SvcProcess(workspace, ['send', session, '--wait', '--json', 'Hang on.']);
    let queued: string[] = [];
    while (queued.length < 3) queued = (await run('tasks', '--json')).stdout.split('\n');
    const [first, second] = queued.slice(0, 2).map((each) => JSON.parse(each) as Record<string, unknown>);
    expect([first, second]).toMatchObject([
      { task, state: 'working', text: 'Hang.', tokens: 0, ended_at_ms: null },
      { state: 'submitted', text: 'Hang on.' },
    ]);
    expect((await run('tasks', session)).stdout).toMatch(
      /^TASK {7}STATE {6}AGE {3,8}TOKENS {2}TEXT\n….{8} {2}working {4}.* Hang\.\n….{8} {2}submitted {2}.* Hang on\.\n$/,
    );
    const other = String(second?.['task']);
    expect((await run('cancel', session, other.slice(-8))).stdout).toBe(`${other} canceled\n`);
    const failed = await waiting.ended;
    expect(failed.code).toBe(1);
    expect(objectIn(failed)).toMatchObject({ task: other, state: 'canceled' });
    expect(failed.stderr).toMatch(new RegExp(`^error\\[E-RUN-059\\]: ${other} canceled: `));
    expect((await run('cancel', session)).stdout).toBe(`${task} canceled\n`);
    const again = await run('cancel', session, task);
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toContain(`error[E-RUN-095]: no task was canceled: ${task} is canceled\n`);
    await end();
    // The session has ended, and its trace still has the facts.
    const rows = (await run('tasks', session, '--json')).stdout.trimEnd().split('\n');
    expect(rows.map((row) => (JSON.parse(row) as Record<string, unknown>)['state'])).toEqual([
      'canceled',
      'not-started',
    ]);
  });

  it('says whether the message was the answer to a question', async () => {
    const { run, end, session } = await started(
      asker + staysUp,
      script(asks('Which \u001B[31mcolour?'), says('Painted.')),
    );
    const first = await run('send', session, '--json', 'Paint the door.');
    const { task, is_answer: isAnswer } = objectIn(first);
    expect([isAnswer, first.stderr]).toEqual([false, '']);
    let state = '';
    while (state !== 'input-required') state = String(objectIn(await run('tasks', session, '--json'))['state']);
    const second = await run('send', session, '--json', 'blue');
    expect(objectIn(second)).toMatchObject({ task, is_answer: true });
    expect(second).toMatchObject({
      code: 0,
      stderr: `the message is the answer to the question that ${String(task)} waited with: Which colour?\n`,
    });
    while (state !== 'completed') state = String(objectIn(await run('tasks', session, '--json'))['state']);
    const third = await run('send', session, '--json', 'Paint the gate.');
    expect([objectIn(third)['is_answer'], third.stderr]).toEqual([false, '']);
    await end();
  });

  it('reports a capsule that has no room', async () => {
    const { run, end, session } = await started(staysUp.replace('queue,', 'queue, queue_depth: 0,'), hangs);
    await run('send', session, 'Hang.');
    const refused = await run('send', session, 'Hang on.');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^error\[E-RUN-092\]: the capsule took no task: task rejected: capsule is busy\n/);
    await end();
  });
});

describe('svc answer', () => {
  it('answers what a task asks, and nothing else', async () => {
    const { run, end, session } = await started(asker + staysUp, script(asks('Which colour?'), says('Painted.')));
    const early = await run('answer', session, 'blue');
    expect(early).toMatchObject({ code: 1, stdout: '' });
    expect(early.stderr).toMatch(/^error\[E-RUN-093\]: there is no question to answer: no task has run yet\n/);
    const asked = await run('send', session, '--wait', 'Paint the door.');
    expect(asked).toMatchObject({ code: 1, stdout: '' });
    expect(asked.stderr).toMatch(
      /^error\[E-RUN-094\]: tsk_\w+ waits for an answer: Which colour\?\nhint: svc answer ses_/,
    );
    expect((await run('tasks', session)).stdout).toMatch(/ input-required .* \? Which colour\?\n$/);
    expect(objectIn(await run('answer', session, '--json', 'blue'))).toMatchObject({ session, state: 'working' });
    let state = '';
    while (state !== 'completed') state = String(objectIn(await run('tasks', session, '--json'))['state']);
    expect((await run('answer', session, 'red')).stderr).toMatch(/E-RUN-093\]: .*: tsk_\w+ is completed\n/);
    await end();
  });
});

describe('svc answer at a capsule', () => {
  it('names the question, and says that it is settled instead of answering the next one', async () => {
    const { end, asked } = await answered({ events: true, answer: { code: -32_010, message: 'Question not open' } });
    expect(end).toMatchObject({ code: 1, stdout: '' });
    expect(end.stderr).toMatch(/^error\[E-RUN-093\]: .*: tsk_1 does not wait with that question any more\n/);
    expect(asked).toEqual(['stream/watch {}', 'tasks/answer {"id":"tsk_1","wait":"q1","text":"blue"}']);
  });

  it('from before there were names sends a message, once the question is still the same', async () => {
    const { end, asked } = await answered({ events: false, answer: { code: -32_601, message: 'Method not found' } });
    expect(end).toMatchObject({ code: 0, stdout: 'tsk_1 input-required\n', stderr: '' });
    expect(asked.map((each) => each.split(' ', 1)[0])).toEqual([
      'stream/watch',
      'tasks/get',
      'tasks/get',
      'message/send',
    ]);
  });

  it('counts it as an older one when it lists a method and does not serve it', async () => {
    const { end, asked } = await answered({ events: true, answer: { code: -32_601, message: 'Method not found' } });
    expect(end.code).toBe(0);
    expect(asked.map((each) => each.split(' ', 1)[0])).toEqual([
      'stream/watch',
      'tasks/answer',
      'tasks/get',
      'message/send',
    ]);
  });
});

interface StandIn {
  /** Whether it knows events. */
  readonly events: boolean;
  /** The error of `tasks/answer`. */
  readonly answer: { readonly code: number; readonly message: string };
}

const question = { wait_id: 'q1', prompt: 'Which colour?' };
const waiting = { task_id: 'tsk_1', context_id: 'ctx_1', state: 'input-required', text: '', question };
const snapshot = `event: snapshot\ndata: ${JSON.stringify({ methods: ['tasks/answer'], tasks: [waiting] })}\n\n`;
const acknowledgement = 'event: connection-ack\ndata: {}\n\n';

/** What `svc answer` comes to with something that listens like a capsule, and what it asked of it. */
async function answered({ events, answer }: StandIn): Promise<{ end: SvcEnd; asked: readonly string[] }> {
  const workspace = useCapsule({});
  const asked: string[] = [];
  const artifacts = [{ name: 'prompt', parts: [{ text: 'Which colour?' }] }];
  const task = { id: 'tsk_1', contextId: 'ctx_1', status: { state: 'input-required' }, artifacts };
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      if (request.method === 'GET')
        return response
          .setHeader('content-type', 'application/json')
          .end(JSON.stringify({ name: 'old', version: '1', url: 'u' }));
      const { method, params } = JSON.parse(body) as { method: string; params: unknown };
      asked.push(`${method} ${JSON.stringify(params)}`);
      if (method === 'stream/watch') {
        response.writeHead(200, { 'content-type': 'text/event-stream', ...(events ? { 'svc-events': '1' } : {}) });
        return response.write(events ? acknowledgement + snapshot : acknowledgement);
      }
      response.setHeader('content-type', 'application/json');
      const outcome = method === 'tasks/answer' ? { error: answer } : { result: task };
      return response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...outcome }));
    });
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { end: await svc(workspace, ['answer', address, 'blue']), asked };
}
