import { describe, expect, it } from 'vitest';

import { identitySentence, refusal, sentence, TestReferee } from './referee-kit.ts';

const identity = [403, sentence(identitySentence)];
const malformed =
  'the body must be a JSON object whose outcome is complete or failed; child, where it is given, is a session id';

/** A referee with a running lead, its child and the child of that child. */
async function family(): Promise<{
  readonly referee: TestReferee;
  readonly lead: Session;
  readonly child: Session;
  readonly grandchild: Session;
}> {
  const referee = await TestReferee.open();
  referee.registry.publish('lead', { spawnAllow: ['lead'] });
  const lead = await referee.session('lead');
  const child = await referee.child(lead.credential, 'lead');
  const grandchild = await referee.child(child.credential, 'lead');
  return { referee, lead, child, grandchild };
}

type Session = Awaited<ReturnType<TestReferee['session']>>;

describe('POST /deregister', () => {
  it.each(['complete', 'failed'] as const)(
    'ends the session as %s, with an empty object [D2-DEREG-02] [D2-DEREG-03] [D2-SESS-06] [D2-SESS-07] [D2-SESS-01] [D2-STATUS-01]',
    async (outcome) => {
      const { referee, grandchild } = await family();
      const { status, head, body } = await referee.end(grandchild.credential, outcome);
      expect([status, head, body]).toEqual([
        200,
        'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nConnection: close',
        '{}',
      ]);
      expect(await referee.status(grandchild.id)).toEqual({
        status: outcome,
        depth_remaining: 1,
        live_children: 0,
        live_capsules: 2,
      });
    },
  );

  it('takes every right from the credential [D2-SESS-08] [D2-AUTH-09] [D2-ERR-02] [D2-ERR-16]', async () => {
    const { referee, lead } = await family();
    await referee.end(lead.credential);
    expect(refusal(await referee.spawn(lead.credential, 'lead'))).toEqual(identity);
    expect(refusal(await referee.end(lead.credential, 'failed'))).toEqual(identity);
    expect(await referee.status(lead.id)).toMatchObject({ status: 'complete' });
  });

  it('releases the slot of a child [D2-SLOT-03]', async () => {
    const { referee, lead, child, grandchild } = await family();
    expect(await referee.status(child.id)).toMatchObject({ live_children: 1, live_capsules: 3 });
    await referee.end(grandchild.credential);
    expect(await referee.status(child.id)).toMatchObject({ live_children: 0, live_capsules: 2 });
    await referee.end(child.credential);
    expect(await referee.status(lead.id)).toMatchObject({ live_children: 0, live_capsules: 1 });
  });

  it('releases all slots that are reserved, and leaves the children that run [D2-SESS-09] [D2-SLOT-06]', async () => {
    const { referee, lead, child } = await family();
    await referee.approval(lead.credential, 'lead');
    await referee.approval(lead.credential, 'lead');
    expect(await referee.status(lead.id)).toMatchObject({ live_children: 3, live_capsules: 5 });
    await referee.end(lead.credential);
    expect(await referee.status(lead.id)).toMatchObject({ status: 'complete', live_children: 1, live_capsules: 2 });
    referee.clock.advance(60_000);
    expect(await referee.status(lead.id)).toMatchObject({ live_children: 1, live_capsules: 2 });
    await referee.end(child.credential);
    expect(await referee.status(lead.id)).toMatchObject({ live_children: 0, live_capsules: 1 });
  });

  it.each<[unknown]>([
    [[]],
    [{}],
    [{ outcome: 'ok' }],
    [{ outcome: 'running' }],
    [{ outcome: 'Complete' }],
    [{ outcome: true }],
    [{ child: 'ses_1' }],
    [{ outcome: 'failed', child: 7 }],
    [{ outcome: 'failed', child: null }],
  ])('refuses %j, which is no outcome [D2-ERR-15] [D2-DEREG-02]', async (body) => {
    const { referee, lead } = await family();
    const answer = await referee.post('/deregister', { credential: lead.credential, body });
    expect(refusal(answer)).toEqual([400, sentence(malformed)]);
    expect(await referee.status(lead.id)).toMatchObject({ status: 'running', live_capsules: 3 });
  });

  it('refuses what is no JSON, before it looks at the credential [D2-ERR-15]', async () => {
    const { referee } = await family();
    const answer = await referee.post('/deregister', { body: 'complete' });
    expect(refusal(answer)).toEqual([400, sentence(`the body is not valid JSON: ${malformed}`)]);
  });

  it('needs the credential, and no id instead of it [D2-DEREG-01] [D2-AUTH-01] [D2-ERR-16] [D2-AUTH-07]', async () => {
    const { referee, lead } = await family();
    for (const body of [{ outcome: 'complete' }, { outcome: 'complete', session_id: lead.id }]) {
      expect(refusal(await referee.post('/deregister', { body }))).toEqual(identity);
    }
    expect(await referee.status(lead.id)).toMatchObject({ status: 'running' });
    const headers = [`x-svc-spawn-credential: ${lead.credential}`];
    expect((await referee.post('/deregister', { body: { outcome: 'complete' }, headers })).status).toBe(200);
  });
});

describe('POST /deregister with a child, whose credential died with its process', () => {
  const endChild = async (
    referee: TestReferee,
    credential: string,
    child: string,
    outcome = 'failed',
  ): Promise<readonly [number, string]> =>
    refusal(await referee.post('/deregister', { credential, body: { outcome, child } }));

  it.each(['failed', 'complete'])(
    'ends the child as failed and frees its slot, whatever the outcome: %s',
    async (outcome) => {
      const { referee, lead, child } = await family();
      expect(await endChild(referee, lead.credential, child.id, outcome)).toEqual([200, '{}']);
      expect(await referee.status(child.id)).toMatchObject({ status: 'failed' });
      expect(await referee.status(lead.id)).toEqual({
        status: 'running',
        depth_remaining: 3,
        live_children: 0,
        live_capsules: 2,
      });
      expect(refusal(await referee.spawn(child.credential, 'lead'))).toEqual(identity);
    },
  );

  it('releases what the child had reserved', async () => {
    const { referee, lead, child } = await family();
    const approval = await referee.approval(child.credential, 'lead');
    expect(await referee.liveCapsules(lead.id)).toBe(4);
    await endChild(referee, lead.credential, child.id);
    expect(await referee.liveCapsules(lead.id)).toBe(2);
    expect(refusal(await referee.register('ses_x', 'lead', approval))).toEqual(identity);
  });

  it('fails for all but the session whose approval the child was registered under', async () => {
    const { referee, lead, child, grandchild } = await family();
    const stranger = await referee.session('lead');
    expect(await endChild(referee, stranger.credential, child.id)).toEqual(identity);
    expect(await endChild(referee, stranger.credential, lead.id)).toEqual(identity);
    expect(await endChild(referee, lead.credential, grandchild.id)).toEqual(identity);
    expect(await endChild(referee, lead.credential, lead.id)).toEqual(identity);
    expect(await endChild(referee, child.credential, lead.id)).toEqual(identity);
    expect(await endChild(referee, lead.credential, stranger.id)).toEqual(identity);
    expect(await endChild(referee, lead.credential, 'ses_unknown')).toEqual(identity);
    expect(await endChild(referee, lead.credential, '')).toEqual(identity);
    expect(await endChild(referee, 'msc1.x', child.id)).toEqual(identity);
    expect(await referee.liveCapsules(lead.id)).toBe(4);
  });

  it('fails once parent or child has ended, and changes no status', async () => {
    const { referee, lead, child, grandchild } = await family();
    await referee.end(grandchild.credential, 'complete');
    expect(await endChild(referee, child.credential, grandchild.id)).toEqual(identity);
    expect(await referee.status(grandchild.id)).toMatchObject({ status: 'complete' });
    await referee.end(lead.credential);
    expect(await endChild(referee, lead.credential, child.id)).toEqual(identity);
    expect(await referee.status(child.id)).toMatchObject({ status: 'running' });
  });
});
