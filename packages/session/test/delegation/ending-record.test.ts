import { afterEach, describe, expect, it } from 'vitest';

import { type ChildBehaviour, DelegationsFixture } from '../../../../test/support/delegations-fixture.ts';

const delegationId = 'dlg_0199c82cc00070018203040506070801';
const childWorkdir = '.svc/children/worker-0001020304050602';

let fixture: DelegationsFixture;
afterEach(async () => await fixture.dispose());

async function started(behaviour: ChildBehaviour): Promise<void> {
  fixture = await DelegationsFixture.start(behaviour, { deadlineMs: 90_000 });
  const request = { capsule: 'worker', version: '1.2.3', task: 'Count.' };
  await fixture.delegations.start(request, fixture.call());
  await fixture.referee.noted('has its task');
}

const terminated = { delegation_id: delegationId, status: 'terminated', reported_by: 'launcher', delivered: false };

describe('the record of a child that its parent ends', () => {
  it('says so before the child is signaled at the bound', async () => {
    await started({});
    fixture.clock.advance(90_000);
    const { record } = await fixture.referee.noted('signaled');
    expect(record).toMatchObject({ ...terminated, detail: 'still running after 90 s', duration_ms: 90_000 });
    expect(record).not.toHaveProperty('delivery_error');
  });

  it('says so before the child is signaled at the end of the session', async () => {
    await started({});
    const over = fixture.delegations.stop();
    const { record } = await fixture.referee.noted('signaled');
    expect(record).toMatchObject({ ...terminated, detail: 'ended by its parent' });
    await over;
  });

  it('stays the child’s when the child had settled it before the bound, which a poller has read', async () => {
    await started({ next: { kind: 'settle' } });
    await fixture.referee.noted('settled');
    fixture.clock.advance(90_000);
    expect((await fixture.referee.noted('signaled'))['record']).toMatchObject({ status: 'ok', reported_by: 'child' });
    const { text } = await fixture.delivered.next();
    expect(JSON.parse(text)).toMatchObject({ status: 'ok', duration_ms: 12 });
    await fixture.delegations.stop();
    expect(fixture.written).toMatchObject([{ status: 'ok', reported_by: 'child', delivered: true }]);
    expect(fixture.lines.all.map(({ status }) => status)).toEqual(['started', 'ok']);
  });

  it('stays the child’s when the child settled it in the moment of the bound', async () => {
    await started({ settlesLate: { status: 'error' } });
    fixture.clock.advance(90_000);
    const { text } = await fixture.delivered.next();
    expect(JSON.parse(text)).toMatchObject({ status: 'error' });
    await fixture.delegations.stop();
    expect(fixture.written.map(({ status, reported_by: by }) => [status, by])).toEqual([
      ['terminated', 'launcher'],
      ['error', 'child'],
    ]);
    expect(fixture.lines.all.map(({ status }) => status)).toEqual(['started', 'error']);
  });

  it('stays as the child settled it in the moment of the session’s end, and reaches nobody', async () => {
    await started({ settlesLate: {} });
    await fixture.delegations.stop();
    expect(fixture.readChildFile(childWorkdir, 'completion.json')).toMatchObject({
      status: 'ok',
      reported_by: 'child',
      delivery_error: 'nobody',
    });
    expect(fixture.delivered.all).toEqual([]);
    expect(fixture.lines.all.map(({ status }) => status)).toEqual(['started', 'ok']);
  });

  it('changes when the child, ended, left one that is not settled', async () => {
    await started({ settlesLate: { delivery_error: null } });
    fixture.clock.advance(90_000);
    const { text } = await fixture.delivered.next();
    expect(JSON.parse(text)).toMatchObject({ status: 'terminated' });
    await fixture.delegations.stop();
    expect(fixture.written.at(-1)).toMatchObject({ status: 'terminated', reported_by: 'launcher', delivered: true });
  });
});
