import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { exporting } from '../../packages/artifacts/test/store/artifacts.ts';
import { fixtureComponent } from '../../packages/components/test/support/fixture-component.ts';
import { compileTimeoutMs } from '../../packages/components/test/support/hosted-tool.ts';
import { tracePath } from '../support/capsule-folders.ts';
import { completed, reply, working } from '../support/frame-lines.ts';
import { hookCapsule } from '../support/hook-capsule.ts';
import { hookErrors } from '../support/hook-trace.ts';
import { runs, says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules, type StreamedCapsule } from '../support/streamed-capsule.ts';
import { svc, SvcProcess } from '../support/svc-process.ts';

const capsules = useStreamedCapsules();

const shell = '  shell: { allow: [sh] }\n';

/** A capsule whose every task runs a command for each order, with a hook that does what the order in the command says. */
async function commanded(declared: string, ...orders: readonly string[]): Promise<StreamedCapsule> {
  return await capsules.from(
    await hookCapsule({
      hooks: { odd: declared },
      deadlineSecs: orders.some((order) => order.endsWith('hang')) ? 1 : 20,
      capabilities: shell,
      manifest: staysUp,
      memory: orders.some((order) => order.endsWith('allocate')) ? '64Mi' : '512Mi',
      script: script(...orders.map((order) => runs(`echo > ran # [[${order}]]`)), says('Done.')),
    }),
  );
}

async function bytesOf(fixture: string): Promise<Uint8Array> {
  const { wasm } = await fixtureComponent(fixture);
  if (!(wasm instanceof Uint8Array)) throw new Error('a fixture is its bytes');
  return wasm;
}

type Failure = readonly [told: string, error: RegExp];

/** Every way in which a hook can fail: its order, and the report; one capsule for those that need the same limits. */
const failures: readonly { readonly way: string; readonly all: readonly Failure[] }[] = [
  {
    way: 'fails, breaks off or answers too much',
    all: [
      ['fail No idea.', /^No idea\.$/],
      ['trap', /^it broke off: the component called exit \(failure\)/],
      ['odd-arm', /^it broke off: /],
      ['deny-large', /^it broke off: the component gave a value of more than 64 MiB/],
      ['deny-long', /^its deny is of 9000 characters, 8192 is the most$/],
    ],
  },
  { way: 'hangs', all: [['hang', /^it did not answer within 1 s$/]] },
  { way: 'needs too much memory', all: [['allocate', /^out of memory$/]] },
];

/** The errors of the hook at an event are these, once for each of so many tasks. */
function expectErrors(capsule: StreamedCapsule, event: string, all: readonly Failure[], tasks: number): void {
  const errors = hookErrors(capsule.trace).map((error) => error.replace(`odd ${event}: `, ''));
  const expected = Array.from({ length: tasks }, () => all.map(([, error]) => expect.stringMatching(error) as string));
  expect(errors).toEqual(expected.flat());
}

describe('a hook that only watches and fails', { timeout: compileTimeoutMs }, () => {
  it.each(failures)('leaves the session as it is when it $way', async ({ all }) => {
    const capsule = await commanded('binding: on-tool-call', ...all.map(([told]) => `on-tool-call ${told}`));
    for (const text of ['One.', 'Two.']) {
      const { frames } = await (await capsule.submit(text)).untilClosed();
      const called = all.flatMap(() => ['artifact', 'status']);
      expect(frames.map(({ event }) => event)).toEqual(['status', ...called, 'text', 'status']);
      expect(frames.at(-1)?.data).toMatchObject({ status: { state: 'completed' } });
    }
    expectErrors(capsule, 'on-tool-call', all, 2);
  });

  it('leaves the session as it is when it refuses, which it may not', async () => {
    const capsule = await commanded('binding: on-shell', 'on-shell deny No.');
    expect((await (await capsule.submit('Go.')).untilClosed()).lines.at(-1)).toBe(`4 ${completed()}`);
    expect(existsSync(join(capsule.line.workdir, 'ran'))).toBe(true);
    expect(hookErrors(capsule.trace)).toEqual([
      'odd on-shell: it answered deny, which its commit_policy does not allow',
    ]);
  });
});

describe('a hook that may refuse and fails', { timeout: compileTimeoutMs }, () => {
  it.each(failures)('refuses the call when it $way [D1-FRAME-16]', async ({ all }) => {
    const orders = all.map(([told]) => `on-shell ${told}`);
    const capsule = await commanded('binding: on-shell\ncommit_policy: deny', ...orders);
    const asked = [...orders.keys(), orders.length].map((turn) => `${turn} ${working(turn + 1)}`);
    const { length } = asked;
    for (const [index, text] of ['One.', 'Two.'].entries()) {
      const { lines } = await (await capsule.submit(text)).untilClosed();
      expect(lines).toEqual([...asked, `${length} ${reply('Done.')}`, `${length + 1} ${completed()}`]);
      expectErrors(capsule, 'on-shell', all, index + 1);
    }
    expect(existsSync(join(capsule.line.workdir, 'ran'))).toBe(false);
    const refused = 'the call was refused: the hook odd, which judges it, failed';
    const calls = capsule.trace.filter((line) => line['event_type'] === 'shell');
    const outcome = { is_error: true, content_bytes: refused.length };
    expect(calls).toMatchObject([...all, ...all].map(() => outcome));
  });
});

describe('a hook whose component cannot be used', { timeout: compileTimeoutMs }, () => {
  it('refuses the calls that it judges, and no other', async () => {
    const workspace = await hookCapsule({
      hooks: { odd: 'binding: on-shell\ncommit_policy: deny' },
      capabilities: shell,
      manifest: staysUp,
      script: script(runs('echo > ran'), says('Done.')),
    });
    writeFileSync(join(workspace.folder, 'odd', 'component.wasm'), exporting('svc:hook/lifecycle@0.1.0'));
    const capsule = await capsules.from(workspace);
    const { lines } = await (await capsule.submit('Go.')).untilClosed();
    expect(lines).toEqual([`0 ${working(1)}`, `1 ${working(2)}`, `2 ${reply('Done.')}`, `3 ${completed()}`]);
    expect(existsSync(join(capsule.line.workdir, 'ran'))).toBe(false);
    const errors = hookErrors(capsule.trace);
    expect(errors).toHaveLength(1);
    expect(errors[0]?.replace('odd on-shell: ', '')).toMatch(/^it cannot be used: /);
  });

  it('keeps the capsule from starting when it is a tool', async () => {
    const workspace = await hookCapsule({ hooks: { odd: 'binding: on-shell' }, script: script(says('Done.')) });
    writeFileSync(join(workspace.folder, 'odd', 'component.wasm'), await bytesOf('probe-tool'));
    expect((await svc(workspace, ['run', '--task', 'Go.'])).stderr).toMatch(
      /^error\[E-ART-004\]: the component of odd does not export svc:hook\/lifecycle: it exports "svc:tool\/run@0\.1\.0" and more\n/,
    );
  });
});

describe('the status of a session', { timeout: compileTimeoutMs }, () => {
  it.each([
    ['trap', 2, 'trapped'],
    ['odd-arm', 2, 'trapped'],
    ['fail No. and to hang', 0, 'ok'],
  ])('after a hook was to %s ends with exit code %i', async (told, code, status) => {
    const orders = told.split(' and to ').map((each) => `on-tool-call ${each}`);
    const capsule = await commanded('binding: [on-tool-call, on-session-end]', ...orders);
    await (await capsule.submit('Go.')).untilClosed();
    expect((await capsule.terminate()).code).toBe(code);
    expect(capsule.trace.at(-1)).toMatchObject({ event_type: 'session_end', status });
  });

  it('counts a hook that breaks off at the very end', async () => {
    const workspace = await hookCapsule({
      hooks: { odd: 'binding: on-session-end' },
      orders: '[[on-session-end trap]]',
      manifest: staysUp,
    });
    const capsule = await capsules.from(workspace);
    await (await capsule.submit('Go.')).untilClosed();
    expect((await capsule.terminate()).code).toBe(2);
    expect(capsule.trace.slice(-2)).toMatchObject([
      { event_type: 'hook_error', hook_name: 'odd', event: 'on-session-end' },
      { event_type: 'session_end', status: 'trapped' },
    ]);
  });
});

describe('a hook that hangs when the session is to stop', { timeout: compileTimeoutMs }, () => {
  it.each(['on-task-start', 'on-task-end', 'on-session-end'])(
    'at %s holds it no longer than its part of the time',
    async (event) => {
      const workspace = await hookCapsule({
        hooks: { slow: `binding: ${event}` },
        orders: `[[${event} wait]]`,
        deadlineSecs: 300,
        manifest: staysUp,
        capabilities: '  limits: { deadline: 300 }\n',
      });
      const capsule = await capsules.from(workspace);
      const watch = await capsule.watch();
      const sent = await capsule.send('Go.');
      if (event === 'on-task-start')
        await waitFor(() => capsule.trace.some((line) => line['event_type'] === 'task_start'));
      else await watch.until(({ data }) => data['id'] === sent.id && data['final'] === true);
      const { code } = await capsule.terminate();
      expect(code).toBe(event === 'on-task-start' ? 1 : 0);
      expect(capsule.trace.at(-1)?.['event_type']).toBe('session_end');
      const errors =
        event === 'on-task-start' ? [] : [`slow ${event}: it did not answer before the session had to end`];
      expect(hookErrors(capsule.trace)).toEqual(errors);
    },
  );
});

describe('a hook that hangs at the end of a task', { timeout: compileTimeoutMs }, () => {
  it('keeps the next task waiting for ten seconds after a cancel, and the trace says so', async () => {
    const workspace = await hookCapsule({
      hooks: { slow: 'binding: on-task-end' },
      orders: '[[on-task-end wait]]',
      deadlineSecs: 300,
      manifest: staysUp,
      capabilities: '  limits: { deadline: 300 }\n',
    });
    const capsule = await capsules.from(workspace);
    const watch = await capsule.watch();
    const first = await capsule.send('Go.');
    const second = await capsule.send('Go on.');
    await watch.until(({ data }) => data['id'] === first.id && data['final'] === true);
    await capsule.rpc('tasks/cancel', { id: first.id });
    await watch.until(({ data }) => data['id'] === second.id && data['final'] === true);
    expect(hookErrors(capsule.trace)).toEqual(['slow on-task-end: it did not answer within 10 s of the cancel']);
    await capsule.terminate();
    const replayed = await new SvcProcess(workspace, ['run', '--replay']).ended;
    expect(replayed).toMatchObject({ code: 0, stdout: expect.stringContaining('the same except for ids and times') });
  });
});

describe('a hook that hangs while a session is staged', { timeout: compileTimeoutMs }, () => {
  it('keeps a signal waiting no longer than its part of the time', async () => {
    const workspace = await hookCapsule({
      hooks: { slow: 'binding: on-stage' },
      orders: '[[on-stage wait]]',
      deadlineSecs: 300,
      manifest: staysUp,
    });
    const svc = new SvcProcess(workspace, ['run', '--json']);
    const sessions = join(workspace.folder, '.svc', 'sessions');
    const logOf = (id: string): string => join(sessions, id, 'logs', 'hook-slow.log');
    await waitFor(() => existsSync(sessions) && readdirSync(sessions).some((id) => existsSync(logOf(id))));
    svc.child.kill('SIGTERM');
    const { code } = await svc.ended;
    const trace = readTrace(tracePath(workspace, readdirSync(sessions)[0] ?? ''));
    workspace.remove();
    expect(code).toBe(0);
    expect(hookErrors(trace)).toEqual(['slow on-stage: it did not answer before the session had to end']);
    expect(trace.at(-1)).toMatchObject({ event_type: 'session_end', status: 'ok' });
  });
});

async function waitFor(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
}
