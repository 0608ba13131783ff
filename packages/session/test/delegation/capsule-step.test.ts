import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { afterEach, describe, expect, it, onTestFinished } from 'vitest';

import type { DelegationsDeps } from '../../src/delegation/delegations-deps.ts';
import type { StepOutcome } from '../../src/tools/plan/capsule-step.ts';
import { type ChildBehaviour, childSession, DelegationsFixture } from '../../../../test/support/delegations-fixture.ts';
import { isGone } from '../../../../test/support/is-gone.ts';

const step = { id: 'count', capsule: 'worker', version: '1.2.3', task: 'Count the files.' };

let fixture: DelegationsFixture;
afterEach(async () => await fixture.dispose());

async function starting(behaviour: ChildBehaviour, changes: Partial<DelegationsDeps> = {}): Promise<void> {
  fixture = await DelegationsFixture.start(behaviour, changes);
}

async function run(signal?: AbortSignal): Promise<StepOutcome> {
  return await fixture.delegations.runStep(step, fixture.call(signal));
}

const answered = {
  state: 'completed',
  message: 'done',
  artifacts: [{ name: 'response', parts: [{ text: 'Seven.' }, { text: 'Or eight.' }] }],
};

function methodsAsked(): unknown[] {
  return fixture.referee.notes.all.filter(({ what }) => what === 'asked').map(({ method }) => method);
}

describe('a capsule step', () => {
  it('asks the capsule for its task until that has ended, and hands on the answer', async () => {
    await starting({ gets: [{ state: 'submitted' }, { state: 'working' }, answered] });
    expect(await run()).toEqual({
      status: 'passed',
      reached: true,
      content: 'Seven.\nOr eight.',
      output: 'Seven.\nOr eight.',
      fenceSource: 'tool:worker',
      cut: false,
      exitCode: null,
      retryable: false,
    });
    expect(methodsAsked()).toEqual(['message/send', 'tasks/get', 'tasks/get', 'tasks/get', 'session/stop']);
    const asked = fixture.referee.notes.all.filter(({ what }) => what === 'asked');
    expect(asked[0]?.['params']).toMatchObject({ message: { parts: [{ text: 'Count the files.' }] } });
    expect(asked[0]?.['headers']).toMatchObject({ 'x-svc-task-origin': 'peer', 'x-svc-task-trust': 'untrusted' });
    expect(asked[1]?.['params']).toEqual({ id: 'tsk_1' });
  });

  it('starts a capsule that reports to nobody, and ends it before it returns [D2-VAR-03] [D2-HANDLE-08]', async () => {
    await starting({ gets: [answered] });
    await run();
    const started = fixture.referee.notes.all.find(({ what }) => what === 'started');
    expect(Object.keys(started?.['env'] as object).sort()).toEqual(['HOME', 'PATH', 'SVC_REFEREE_URL']);
    expect(() => process.kill(Number(started?.['pid']), 0)).toThrow('ESRCH');
    expect(fixture.delegations.running).toEqual([]);
    expect(fixture.delivered.all).toEqual([]);
    expect(fixture.referee.deregistered.all.map(({ body }) => body)).toEqual([
      { outcome: 'failed', child: childSession },
    ]);
  });

  it('has one line in the trace beside its own, which says how far it got', async () => {
    await starting({ gets: [answered] });
    await run();
    expect(fixture.lines.all).toMatchObject([{ status: 'started', capsule: 'worker', child_session_id: childSession }]);
  });

  it('asks for no capsule that the manifest does not name, whatever the referee would grant', async () => {
    await starting({ gets: [answered] }, { spawnAllow: ['other'] });
    expect(await run()).toMatchObject({
      status: 'failed',
      reached: false,
      content: "capsule worker not in parent's spawn_allow: capabilities.spawn.allow does not name it",
    });
    expect(fixture.referee.spawns).toEqual([]);
    expect(fixture.lines.all).toMatchObject([{ status: 'refused' }]);
  });

  it('fails with the sentence of the referee, and nothing of it has run', async () => {
    await starting({});
    fixture.referee.refusal = { status: 403, error: 'capsule "worker" not in parent\'s spawn_allow' };
    expect(await run()).toMatchObject({
      status: 'failed',
      reached: false,
      content: 'capsule "worker" not in parent\'s spawn_allow',
      retryable: false,
    });
    expect(fixture.lines.all).toMatchObject([{ status: 'refused' }]);
  });

  it.each([
    [{ state: 'failed', message: 'session ended' }, 'its task is failed: session ended'],
    [{ state: 'canceled', message: 'canceled' }, 'its task is canceled: canceled'],
    [{ state: 'rejected' }, 'its task is rejected'],
    [
      { state: 'input-required', artifacts: [{ name: 'prompt', parts: [{ text: 'Which files?' }] }] },
      'it asks for input, which nobody gives in a plan: Which files?',
    ],
    [{ error: { code: -32001, message: 'Task not found' } }, 'it does not say what became of its task: Task not found'],
    [{ odd: [] }, 'what it says of its task is not a task'],
  ])('fails when the capsule answers %j', async (told, reason) => {
    await starting({ gets: [told] });
    expect(await run()).toMatchObject({ status: 'failed', reached: true, content: reason, retryable: true });
    expect(methodsAsked().at(-1)).toBe('session/stop');
  });

  it('asks again when an answer gets lost', async () => {
    await starting({ gets: ['drop', 'no json', answered] });
    expect(await run()).toMatchObject({ status: 'passed' });
  });

  it('fails when the capsule ends before its answer was read, and says what it must declare', async () => {
    await starting({ next: { kind: 'exit', code: 0 }, complains: 'bye' });
    expect(await run()).toMatchObject({
      status: 'failed',
      content:
        'it ended before its answer was read: a capsule of a step declares lifecycle.task_acceptance: queue and after_task: sleep (exit status 0; its last words on stderr:\nbye)',
    });
  });

  it('asks and believes nobody once the capsule has ended: another program may listen at its port', async () => {
    const asked: unknown[] = [];
    const stranger = createServer(
      (request, response) =>
        void (async () => {
          const { method } = JSON.parse(await text(request)) as { method: string };
          asked.push(method);
          const pid = Number(fixture.referee.notes.all.find(({ what }) => what === 'started')?.['pid']);
          process.kill(pid, 'SIGKILL');
          for (let turns = 0; turns < 100; turns += isGone(pid) ? 1 : 0) await nextTurn();
          const state = method === 'tasks/get' ? 'completed' : 'submitted';
          const result = { ...answered, id: 'tsk_1', contextId: 'ctx_1', status: { state } };
          response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
        })(),
    );
    stranger.listen(0, '127.0.0.1');
    await once(stranger, 'listening');
    onTestFinished(() => void stranger.close());
    await starting({ line: { url: `localhost:${(stranger.address() as AddressInfo).port}` } });
    expect(await run()).toMatchObject({
      status: 'failed',
      content: expect.stringMatching(/^it ended before its answer was read: /) as unknown,
    });
    expect(asked).toEqual(['message/send']);
  });

  it('fails when the capsule is not up', async () => {
    await starting({ exits: 2 });
    expect(await run()).toMatchObject({ status: 'failed', content: 'it ended before it was up (exit status 2)' });
    expect(fixture.lines.all).toMatchObject([{ status: 'failed' }]);
  });

  it('fails when the capsule is not done within the time of a delegation', async () => {
    await starting({}, { deadlineMs: 5000 });
    expect(await run()).toMatchObject({ status: 'failed', content: 'still running after 5 s' });
  });

  it('ends the capsule when it is canceled', async () => {
    await starting({ gets: ['hang'] });
    const abort = new AbortController();
    const running = run(abort.signal).catch((error: unknown) => error);
    await fixture.referee.notes.next(({ method }) => method === 'tasks/get');
    abort.abort(new Error('the task was canceled'));
    expect(await running).toEqual(new Error('the task was canceled'));
    const pid = fixture.referee.notes.all.find(({ what }) => what === 'started')?.['pid'];
    expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH');
    expect(methodsAsked()).not.toContain('session/stop');
  });

  it('ends the capsule when the session ends', async () => {
    await starting({ gets: ['hang'] });
    const running = run();
    await fixture.referee.notes.next(({ method }) => method === 'tasks/get');
    await fixture.delegations.stop();
    expect(await running).toMatchObject({ status: 'failed', reached: false, content: 'the session ends' });
  });
});
