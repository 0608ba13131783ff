import { describe, expect, it } from 'vitest';

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
    // The session has ended, and its trace still tells.
    const rows = (await run('tasks', session, '--json')).stdout.trimEnd().split('\n');
    expect(rows.map((row) => (JSON.parse(row) as Record<string, unknown>)['state'])).toEqual([
      'canceled',
      'not-started',
    ]);
  });

  it('is told by a capsule that has no room', async () => {
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
