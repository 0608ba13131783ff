import { afterEach, describe, expect, it } from 'vitest';

import type { DelegationsDeps, StartOutcome } from '../../src/delegation/delegations-deps.ts';
import { SessionReferee } from '../../src/delegation/session-referee.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { type ChildBehaviour, childSession, DelegationsFixture } from '../../../../test/support/delegations-fixture.ts';
import { isGone } from '../../../../test/support/is-gone.ts';

const request = { capsule: 'worker', version: '1.2.3', task: 'Count the files.' };

let fixture: DelegationsFixture;
afterEach(async () => await fixture.dispose());

async function starting(behaviour: ChildBehaviour = {}, changes: Partial<DelegationsDeps> = {}): Promise<void> {
  fixture = await DelegationsFixture.start(behaviour, changes);
}

async function start(signal?: AbortSignal): Promise<StartOutcome> {
  return await fixture.delegations.start(request, fixture.call(signal));
}

async function reasonOfFailure(): Promise<string> {
  const outcome = await start();
  expect(outcome.kind).toBe('failed');
  expect(fixture.lines.all.map(({ status }) => status)).toEqual(['failed']);
  expect(fixture.delegations.running).toEqual([]);
  expect(fixture.delivered.all).toEqual([]);
  return outcome.kind === 'failed' ? outcome.reason : '';
}

describe('a delegation that the referee refuses', () => {
  it('comes back as the sentence of the referee, and nothing is started [D2-DELEG-13]', async () => {
    await starting();
    const error = 'capsules.spawn.allow: the child declares shell "sh", which the parent does not hold';
    fixture.referee.refusal = { status: 403, error };
    expect(await start()).toEqual({ kind: 'refused', sentence: error });
    expect(fixture.lines.all).toMatchObject([{ status: 'refused', detail: error }]);
    expect(fixture.referee.notes.all).toEqual([]);
  });

  it('fails in the same way where the capsule resolves to nothing', async () => {
    await starting();
    fixture.referee.refusal = { status: 500, error: 'worker latest is not in the registry' };
    expect(await start()).toEqual({ kind: 'refused', sentence: 'worker latest is not in the registry' });
  });

  it('gives one line of bounded length, whatever answers for the referee: the model reads it as the runtime’s', async () => {
    await starting();
    fixture.referee.refusal = { status: 403, error: `no\u001b[31m\n\n${'x'.repeat(50_000)}` };
    const sentence = `no\\u{1b}[31m\\u{a}\\u{a}${'x'.repeat(3978)}…`;
    expect(await start()).toEqual({ kind: 'refused', sentence });
  });
});

describe('a delegation', () => {
  it('fails when the referee does not answer', async () => {
    await starting({}, { referee: new SessionReferee('http://127.0.0.1:9') });
    expect(await reasonOfFailure()).toBe('the referee at http://127.0.0.1:9 cannot be asked: nothing listens there');
  });

  it('fails when it gets no approval, but lines for the standard input of a child', async () => {
    await starting();
    fixture.referee.approval = 'msa1.a\n{"OTEL_EXPORTER_OTLP_ENDPOINT":"http://127.0.0.1:9"}';
    expect(await reasonOfFailure()).toMatch(/cannot be asked: what answers there is not a referee$/);
    expect(fixture.referee.notes.all).toEqual([]);
  });

  it('fails when the local stores do not have the artifact that was approved', async () => {
    const asked: unknown[] = [];
    await starting(
      {},
      {
        readChild: async (child) => {
          asked.push(child);
          return { kind: 'not-read', reason: 'its content is another one' };
        },
      },
    );
    expect(await reasonOfFailure()).toBe('worker 1.2.3 is not started: its content is another one');
    expect(asked).toEqual([{ name: 'worker', version: '1.2.3', sha256: 'a'.repeat(64) }]);
    expect(fixture.referee.notes.all).toEqual([]);
  });

  it('fails when no directory can be made for the child', async () => {
    await starting(
      {},
      {
        makeChildDirectory: () => {
          throw new Diagnostic('E-IO-001', 'the directory cannot be made: no space left');
        },
      },
    );
    expect(await reasonOfFailure()).toBe('the directory cannot be made: no space left');
  });

  it('fails when there is no program to start', async () => {
    await starting({}, { program: { command: '/nowhere/svc', args: [] } });
    expect(await reasonOfFailure()).toBe('it could not be started: no such command');
  });

  it('fails when the child ends before it is up, and says how and with which last words, without secrets', async () => {
    await starting({
      exits: 3,
      complains: 'error[E-CAP-003]: the floor cannot be met\nknown-secret {approval} \u001b[31m',
    });
    expect(await reasonOfFailure()).toBe(
      'it ended before it was up (exit status 3; its last words on stderr:\nerror[E-CAP-003]: the floor cannot be met\n[secret] [secret] \\u{1b}[31m)',
    );
  });

  it.each([
    ['garbage', 'it runs\n', 'the first line it printed is not a JSON object: "it runs"'],
    ['an array', '[]\n', 'the first line it printed is not a JSON object: "[]"'],
    ['a line without an end', 'x'.repeat(70_000), 'the first line it printed has no end'],
  ])('fails when the child prints %s, and ends it', async (_, first, reason) => {
    await starting({ first });
    const failing = reasonOfFailure();
    const { pid } = await fixture.referee.noted('started');
    expect(await failing).toBe(`${reason} (exit status 0)`);
    expect(isGone(pid)).toBe(true);
    // It may have registered before it went wrong.
    expect((await fixture.referee.deregistered.next()).body).toEqual({ outcome: 'failed', child: childSession });
  });

  it.each([
    [{ name: 'other' }, 'its first line is not that of worker 1.2.3'],
    [{ version: '1.2.4' }, 'its first line is not that of worker 1.2.3'],
    [{ url: 'example.org:80' }, 'the url of its first line is not a port of this machine'],
    [{ session_id: 'ses_1' }, 'the session_id of its first line is not the one it was given'],
    [{ pid: 'one' }, 'the pid of its first line is not a number'],
    [{ workdir: 1 }, 'the workdir of its first line is missing'],
  ])('fails when the line of the child has %j', async (line, reason) => {
    await starting({ line });
    expect(await reasonOfFailure()).toBe(`${reason} (exit status 0)`);
  });

  it('fails when the child is not up after 180 s, and not before [D2-LIMIT-05]', async () => {
    await starting({ first: '' });
    const failing = reasonOfFailure();
    const { pid } = await fixture.referee.noted('started');
    fixture.clock.advance(179_999);
    expect(isGone(pid)).toBe(false);
    fixture.clock.advance(1);
    expect(await failing).toBe('it was not up within 180 s (exit status 0)');
    expect(isGone(pid)).toBe(true);
  });

  it('fails when the child rejects its task: svc ends it and frees its slot', async () => {
    await starting({ sends: [{ state: 'rejected', message: 'no room' }] });
    const failing = start();
    const { pid } = await fixture.referee.noted('started');
    expect(await failing).toMatchObject({
      kind: 'failed',
      sessionId: childSession,
      reason: 'it rejected its task: no room',
    });
    expect(isGone(pid)).toBe(true);
    const { headers, body } = await fixture.referee.deregistered.next();
    expect(body).toEqual({ outcome: 'failed', child: childSession });
    expect(headers['x-svc-spawn-credential']).toBe('msc1.credential-of-the-test');
  });

  it('fails when the child refuses its task', async () => {
    await starting({ sends: [{ error: { code: -32602, message: 'Invalid params' } }] });
    expect(await reasonOfFailure()).toBe('it refused its task: Invalid params');
  });

  it('fails when the answer of the child is not a task', async () => {
    await starting({ sends: [{ odd: 'yes' }] });
    expect(await reasonOfFailure()).toBe('what it answered to its task is not a task');
  });

  it('fails when the child dies with its task in its hands', async () => {
    await starting({ sends: ['die'], complains: 'out of luck' });
    expect(await reasonOfFailure()).toBe(
      'it ended before it had its task (exit status 5; its last words on stderr:\nout of luck)',
    );
  });

  it('fails when the child does not answer properly for 30 s [D2-LIMIT-06]', async () => {
    await starting({ sends: Array.from({ length: 100 }, () => 'no json') });
    const beginningMs = fixture.clock.monotonicMs();
    expect(await reasonOfFailure()).toBe(
      'its task could not be delivered within 30 s: it answered 503, and not with JSON-RPC',
    );
    const tried = fixture.referee.notes.all.filter(({ what }) => what === 'asked').length;
    expect(tried).toBeGreaterThan(20);
    expect(fixture.clock.monotonicMs() - beginningMs).toBeGreaterThan(28_000);
    expect(fixture.clock.monotonicMs() - beginningMs).toBeLessThanOrEqual(30_000);
  });
});

describe('a delegation with less time than a delivery may take', () => {
  it('fails when that is over', async () => {
    await starting({ sends: Array.from({ length: 100 }, () => 'no json') }, { deadlineMs: 5000 });
    expect(await reasonOfFailure()).toBe(
      'its task could not be delivered within 5 s: it answered 503, and not with JSON-RPC',
    );
  });
});

describe('a child whose listener is coming up', () => {
  it('gets its task again until it answers', async () => {
    await starting({ sends: ['drop', 'no json', { state: 'submitted' }] });
    expect((await start()).kind).toBe('started');
    expect(fixture.referee.notes.all.filter(({ what }) => what === 'asked')).toHaveLength(3);
  });
});

describe('a call that is canceled', () => {
  it('starts nothing after a cancel that meets the question to the referee', async () => {
    await starting();
    fixture.referee.isSilent = true;
    const abort = new AbortController();
    const call = start(abort.signal).catch((error: unknown) => error);
    abort.abort(new Error('the task was canceled'));
    expect(await call).toEqual(new Error('the task was canceled'));
    expect(fixture.lines.all).toEqual([]);
  });

  it('starts nothing after a cancel that meets the reading of the artifact', async () => {
    const abort = new AbortController();
    await starting(
      {},
      {
        readChild: async () => {
          abort.abort(new Error('the task was canceled'));
          return { kind: 'read', envAllow: [], mayAsk: false };
        },
      },
    );
    expect(await start(abort.signal).catch((error: unknown) => error)).toEqual(new Error('the task was canceled'));
    expect(fixture.lines.all).toEqual([]);
    expect(fixture.referee.notes.all).toEqual([]);
  });

  it('keeps the end that the child has reported', async () => {
    await starting({ sends: ['hang'] });
    const abort = new AbortController();
    const call = start(abort.signal).catch((error: unknown) => error);
    await fixture.referee.noted('asked');
    fixture.delegations.open('dlg_0199c82cc00070018203040506070801')?.complete('{"status":"ok"}');
    abort.abort(new Error('the task was canceled'));
    expect(await call).toEqual(new Error('the task was canceled'));
    await fixture.delegations.stop();
    expect(fixture.lines.all.map(({ status }) => status)).toEqual(['ok']);
  });

  it('ends a child that comes up, and records that [D2-COMPL-15]', async () => {
    await starting({ first: '' });
    const abort = new AbortController();
    const call = start(abort.signal).catch((error: unknown) => error);
    const { pid } = await fixture.referee.noted('started');
    abort.abort(new Error('the task was canceled'));
    expect(await call).toEqual(new Error('the task was canceled'));
    expect(isGone(pid)).toBe(true);
    const detail = 'ended by its parent before it was up; exit status 0';
    expect(fixture.lines.all).toMatchObject([{ status: 'terminated', detail }]);
    expect(fixture.written).toMatchObject([
      { status: 'terminated', reported_by: 'launcher', delivered: false, detail, session_id: '', duration_ms: 0 },
    ]);
    expect(fixture.delivered.all).toEqual([]);
  });

  it('ends a child that gets its task too, and takes no completion any more', async () => {
    await starting({ sends: ['hang'] });
    const abort = new AbortController();
    const call = start(abort.signal).catch((error: unknown) => error);
    await fixture.referee.noted('asked');
    abort.abort(new Error('the task was canceled'));
    expect(await call).toEqual(new Error('the task was canceled'));
    expect(fixture.delegations.open('dlg_0199c82cc00070018203040506070801')).toBeNull();
    await fixture.referee.noted('signaled');
    expect(await fixture.lines.next()).toMatchObject({ status: 'terminated', child_session_id: childSession });
    expect(fixture.delivered.all).toEqual([]);
  });

  it('does not touch a child that has its task', async () => {
    await starting();
    const abort = new AbortController();
    expect((await start(abort.signal)).kind).toBe('started');
    abort.abort(new Error('the task was canceled'));
    expect(fixture.delegations.running).toHaveLength(1);
    expect(fixture.delegations.open('dlg_0199c82cc00070018203040506070801')).not.toBeNull();
  });
});
