import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';

import type { DelegationsDeps } from '../../src/delegation/delegations-deps.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Arrivals } from '../../../../test/support/arrivals.ts';
import { type ChildBehaviour, childSession, DelegationsFixture } from '../../../../test/support/delegations-fixture.ts';

const delegationId = 'dlg_0199c82cc00070018203040506070801';
const childWorkdir = '.svc/children/worker-0001020304050602';

let fixture: DelegationsFixture;
afterEach(async () => await fixture.dispose());

/** Starts a child that has its task when this resolves. */
async function started(behaviour: ChildBehaviour, changes: Partial<DelegationsDeps> = {}): Promise<void> {
  fixture = await DelegationsFixture.start(behaviour, changes);
  const request = { capsule: 'worker', version: '1.2.3', task: 'Count.' };
  const outcome = await fixture.delegations.start(request, fixture.call());
  expect(outcome).toMatchObject({ kind: 'started', childWorkdir });
  await fixture.referee.noted('has its task');
}

const crash = {
  delegation_id: delegationId,
  capsule_name: 'worker',
  capsule_version: '1.2.3',
  session_id: childSession,
  status: 'crashed',
  duration_ms: 0,
  detail: 'exit status 7; its last words on stderr:\n[secret] is lost',
};

describe('a child that ends without a word', () => {
  const dies = { next: { kind: 'exit', code: 7 }, complains: 'known-secret is lost\n' };

  it('counts as crashed, which the conversation that delegated reads [D2-COMPL-14] [D2-COMPL-01] [D2-COMPL-02] [D2-COMPL-03] [D2-COMPL-08] [D2-COMPL-26]', async () => {
    await started(dies);
    const { text, ...to } = await fixture.delivered.next();
    const conversation = 'token:ann ctx_parent';
    expect(to).toEqual({ contextId: 'ctx_parent', conversation, trust: 'untrusted', delegationId });
    const workdir = join(fixture.workdir, childWorkdir);
    expect(JSON.parse(text)).toEqual({ ...crash, workdir });
    expect(fixture.lines.all.map(({ status }) => status)).toEqual(['started', 'crashed']);
    expect(fixture.lines.all[1]?.detail).toBe(crash.detail);
  });

  it('has its end in the record before its parent reads it, and again after [D2-COMPL-10] [D2-COMPL-11] [D2-COMPL-30] [D2-COMPL-31]', async () => {
    await started(dies);
    await fixture.delivered.next();
    const workdir = join(fixture.workdir, childWorkdir);
    expect(fixture.written).toEqual([
      { ...crash, workdir, reported_by: 'launcher', delivered: false },
      { ...crash, workdir, reported_by: 'launcher', delivered: true },
    ]);
    expect(fixture.readChildFile(childWorkdir, 'completion.json')).toEqual(fixture.written[1]);
  });

  it('has its slot freed by its parent before anybody hears of the end', async () => {
    await started(dies);
    await fixture.delivered.next();
    expect(fixture.referee.deregistered.all[0]?.body).toEqual({ outcome: 'failed', child: childSession });
  });

  it('has its end reported all the same when the referee does not answer for 2 s', async () => {
    fixture = await DelegationsFixture.start(dies);
    fixture.referee.isDeaf = true;
    await fixture.delegations.start({ capsule: 'worker', version: '1.2.3', task: 'Count.' }, fixture.call());
    await fixture.referee.deregistered.next();
    expect(fixture.delivered.all).toEqual([]);
    fixture.clock.advance(2000);
    const { text } = await fixture.delivered.next();
    expect(JSON.parse(text)).toMatchObject({ status: 'crashed' });
  });

  it('has an end that says when a signal killed it', async () => {
    await started({ next: { kind: 'die' } });
    const { text } = await fixture.delivered.next();
    expect(JSON.parse(text)).toMatchObject({ status: 'crashed', detail: 'ended by SIGKILL' });
  });

  it('has its end sent again once when the queue has no room [D2-COMPL-35]', async () => {
    fixture = await DelegationsFixture.start(dies);
    fixture.refusals = 1;
    await fixture.delegations.start({ capsule: 'worker', version: '1.2.3', task: 'Count.' }, fixture.call());
    await fixture.delivered.next();
    await fixture.delivered.next();
    expect(fixture.delivered.all[0]).toEqual(fixture.delivered.all[1]);
    expect(fixture.written.map(({ delivered }) => delivered)).toEqual([false, true]);
    expect(fixture.warnings).toEqual([]);
  });

  it('has an end that the record calls not delivered, with one line on standard error, when the queue never has room [D2-COMPL-12] [D2-COMPL-33] [D2-COMPL-34]', async () => {
    fixture = await DelegationsFixture.start(dies);
    fixture.refusals = 3;
    await fixture.delegations.start({ capsule: 'worker', version: '1.2.3', task: 'Count.' }, fixture.call());
    await fixture.delivered.next();
    await fixture.delivered.next();
    expect(fixture.written.at(-1)).toMatchObject({ delivered: false, delivery_error: 'the queue is full' });
    expect(fixture.warnings).toEqual([`the completion of ${delegationId} could not be delivered: the queue is full`]);
  });
});

describe('an end that meets a disk which is full', () => {
  it('reaches the parent all the same, with a note that it cannot be recorded', async () => {
    await started(
      { next: { kind: 'exit', code: 7 } },
      {
        writeChildFile: () => {
          throw new Diagnostic('E-IO-001', 'completion.json cannot be written: no space left on the device');
        },
      },
    );
    await fixture.delivered.next();
    const line = `the end of ${delegationId} could not be recorded: completion.json cannot be written: no space left on the device`;
    expect(fixture.warnings).toEqual([line, line]);
  });

  it('becomes not delivered in the record when the session cannot take it down', async () => {
    const attempts = new Arrivals<string>();
    await started(
      { next: { kind: 'exit', code: 7 } },
      {
        deliver: ({ text }) => {
          attempts.push(text);
          throw new Diagnostic('E-IO-001', 'the trace cannot be written');
        },
      },
    );
    await attempts.next();
    await attempts.next();
    expect(fixture.written.at(-1)).toMatchObject({ delivered: false, delivery_error: 'the trace cannot be written' });
  });
});

describe('a child that has reported its end', () => {
  it('has one report when its process ends later [D2-COMPL-17]', async () => {
    await started({});
    fixture.delegations.open(delegationId)?.complete('{"status":"ok"}');
    await fixture.delegations.stop();
    expect(fixture.lines.all.map(({ status }) => status)).toEqual(['started', 'ok']);
    expect(fixture.delivered.all).toEqual([]);
    // It was gone before it could write that its parent knows: a poller of its record must not wait for ever.
    expect(fixture.written).toMatchObject([{ status: 'ok', reported_by: 'child', delivered: true }]);
    // It has freed its slot itself.
    expect(fixture.referee.deregistered.all).toEqual([]);
  });

  it('has its slot freed for it when it is killed before it can do that', async () => {
    await started({});
    fixture.delegations.open(delegationId)?.complete('{"status":"ok"}');
    process.kill(Number(fixture.referee.notes.all[0]?.['pid']), 'SIGKILL');
    expect((await fixture.referee.deregistered.next()).body).toEqual({ outcome: 'failed', child: childSession });
    await fixture.delegations.stop();
    expect(fixture.lines.all.map(({ status }) => status)).toEqual(['started', 'ok']);
  });

  it('ends at its bound all the same when its process stays', async () => {
    await started({});
    fixture.delegations.open(delegationId)?.complete('{"status":"ok"}');
    fixture.clock.advance(600_000);
    await fixture.referee.noted('signaled');
    await fixture.delegations.stop();
    expect(fixture.delivered.all).toEqual([]);
  });

  it('has a report from its record, by its parent, when it could not deliver it [D2-COMPL-35]', async () => {
    await started({ next: { kind: 'record', fields: { status: 'error', capsule_name: 'boss', workdir: '/etc' } } });
    const { text } = await fixture.delivered.next();
    const told = {
      delegation_id: delegationId,
      capsule_name: 'worker',
      capsule_version: '1.2.3',
      session_id: childSession,
      status: 'error',
      result_path: 'out/result.txt',
      workdir: join(fixture.workdir, childWorkdir),
      duration_ms: 12,
    };
    expect(JSON.parse(text)).toEqual(told);
    expect(fixture.written).toEqual([{ ...told, reported_by: 'child', delivered: true }]);
    expect(fixture.lines.all.map(({ status }) => status)).toEqual(['started', 'error']);
  });

  it('has a report with two attempts when it was gone before it could deliver it', async () => {
    fixture = await DelegationsFixture.start({ next: { kind: 'record', fields: { delivery_error: null } } });
    fixture.refusals = 1;
    await fixture.delegations.start({ capsule: 'worker', version: '1.2.3', task: 'Count.' }, fixture.call());
    await fixture.delivered.next();
    await fixture.delivered.next();
    expect(fixture.written).toMatchObject([{ reported_by: 'child', delivered: true }]);
  });

  it('counts as not delivered, after one attempt more, when it cannot be reached now either', async () => {
    fixture = await DelegationsFixture.start({ next: { kind: 'record' } });
    fixture.refusals = 3;
    await fixture.delegations.start({ capsule: 'worker', version: '1.2.3', task: 'Count.' }, fixture.call());
    await fixture.delivered.next();
    expect(fixture.written).toMatchObject([
      { reported_by: 'child', delivered: false, delivery_error: 'the queue is full' },
    ]);
    expect(fixture.warnings).toHaveLength(1);
    await fixture.delegations.stop();
    expect(fixture.delivered.all).toHaveLength(1);
  });
});

describe('a record that is not the child’s own', () => {
  it.each([
    ['names another delegation', { delegation_id: 'dlg_other' }],
    ['names another session', { session_id: 'ses_ffffffffffffffffffffffffffffffff' }],
    ['is not from a child', { reported_by: 'launcher' }],
    ['has no status of a child', { status: 'terminated' }],
  ])('does not count when it %s: the child crashed', async (_, fields) => {
    await started({ next: { kind: 'record', fields, code: 7 } });
    const { text } = await fixture.delivered.next();
    expect(JSON.parse(text)).toMatchObject({ status: 'crashed', detail: 'exit status 7' });
  });

  it('does not count behind a link', async () => {
    await started({});
    const directory = join(fixture.workdir, childWorkdir);
    const record = { delegation_id: delegationId, session_id: childSession, reported_by: 'child', status: 'ok' };
    writeFileSync(join(directory, 'elsewhere'), JSON.stringify({ ...record, duration_ms: 1 }));
    symlinkSync('elsewhere', join(directory, 'completion.json'));
    const { pid } = fixture.referee.notes.all[0] ?? {};
    process.kill(Number(pid), 'SIGKILL');
    const { text } = await fixture.delivered.next();
    rmSync(join(directory, 'completion.json'));
    expect(JSON.parse(text)).toMatchObject({ status: 'crashed' });
  });
});

describe('a child that runs for too long', () => {
  it('ends at the bound, counted from its line, and counts as terminated [D2-COMPL-07] [D2-LIMIT-08] [D2-LIMIT-09] [D2-LIMIT-10] [D2-COMPL-16]', async () => {
    await started({}, { deadlineMs: 90_000 });
    fixture.clock.advance(89_999);
    expect(fixture.delegations.running).toHaveLength(1);
    fixture.clock.advance(1);
    // Its own report comes too late now.
    expect(fixture.delegations.open(delegationId)).toBeNull();
    const { text } = await fixture.delivered.next();
    expect(JSON.parse(text)).toMatchObject({
      status: 'terminated',
      duration_ms: 90_000,
      detail: 'still running after 90 s; exit status 0',
    });
    expect(fixture.lines.all.map(({ status }) => status)).toEqual(['started', 'terminated']);
    expect(fixture.written.map(({ delivered }) => delivered)).toEqual([false, false, true]);
    expect(fixture.referee.deregistered.all[0]?.body).toEqual({ outcome: 'failed', child: childSession });
  });

  it('has no more time for having been slow to take its task [D2-LIMIT-08]', async () => {
    fixture = await DelegationsFixture.start(
      { sends: [...Array.from({ length: 8 }, () => 'no json'), { state: 'submitted' }] },
      { deadlineMs: 90_000 },
    );
    const readyMs = fixture.clock.monotonicMs();
    await fixture.delegations.start({ capsule: 'worker', version: '1.2.3', task: 'Count.' }, fixture.call());
    const tookMs = fixture.clock.monotonicMs() - readyMs;
    expect(tookMs).toBeGreaterThan(3000);
    fixture.clock.advance(89_999 - tookMs);
    expect(fixture.delegations.open(delegationId)).not.toBeNull();
    fixture.clock.advance(1);
    expect(fixture.delegations.open(delegationId)).toBeNull();
  });

  it('dies by SIGKILL when it does not end by itself within 8 s', async () => {
    await started({ stubborn: true });
    fixture.clock.advance(600_000);
    await fixture.referee.noted('signaled');
    fixture.clock.advance(8000);
    const { text } = await fixture.delivered.next();
    expect(JSON.parse(text)).toMatchObject({
      status: 'terminated',
      detail: 'still running after 600 s; ended by SIGKILL',
    });
  });
});

describe('the end of the session', () => {
  it('ends every child, records it and reports it to nobody [D2-COMPL-15]', async () => {
    await started({});
    const over = fixture.delegations.stop();
    expect(fixture.delegations.open(delegationId)).toBeNull();
    await over;
    expect(fixture.lines.all.map(({ status }) => status)).toEqual(['started', 'terminated']);
    const ending = { status: 'terminated', reported_by: 'launcher', delivered: false };
    expect(fixture.written).toMatchObject([
      { ...ending, detail: 'ended by its parent' },
      { ...ending, detail: 'ended by its parent; exit status 0' },
    ]);
    for (const record of fixture.written) expect(record).not.toHaveProperty('delivery_error');
    expect(fixture.delivered.all).toEqual([]);
    expect(fixture.referee.deregistered.all).toHaveLength(1);
  });

  it('kills a child that does not end', async () => {
    await started({ stubborn: true });
    const over = fixture.delegations.stop();
    await fixture.referee.noted('signaled');
    fixture.clock.advance(8000);
    await over;
    expect(fixture.written.at(-1)).toMatchObject({ detail: 'ended by its parent; ended by SIGKILL' });
  });

  it('ends a child that is coming up, and the call fails', async () => {
    fixture = await DelegationsFixture.start({ first: '' });
    const request = { capsule: 'worker', version: '1.2.3', task: 'Count.' };
    const call = fixture.delegations.start(request, fixture.call());
    const { pid } = await fixture.referee.noted('started');
    await fixture.delegations.stop();
    expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH');
    expect(await call).toMatchObject({ kind: 'failed', reason: 'the session ends' });
    expect(fixture.lines.all.map(({ status }) => status)).toEqual(['terminated']);
  });

  it('starts nothing after it', async () => {
    fixture = await DelegationsFixture.start({});
    await fixture.delegations.stop();
    const request = { capsule: 'worker', version: '1.2.3', task: 'Count.' };
    const outcome = await fixture.delegations.start(request, fixture.call());
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'the session ends' });
    expect(fixture.referee.spawns).toEqual([]);
  });
});
