import { describe, expect, it } from 'vitest';

import { identitySentence, refusal, sentence, TestReferee } from './referee-kit.ts';

const identity = [403, sentence(identitySentence)];

async function withLead(options: Parameters<typeof TestReferee.open>[0] = {}): Promise<{
  readonly referee: TestReferee;
  readonly lead: Awaited<ReturnType<TestReferee['session']>>;
}> {
  const referee = await TestReferee.open(options);
  referee.registry.publish('lead', { spawnAllow: ['scout', 'greedy'] });
  referee.registry.publish('scout');
  referee.registry.publish('greedy', { unixSockets: true });
  return { referee, lead: await referee.session('lead') };
}

function statuses(answers: readonly { readonly status: number }[]): readonly number[] {
  return answers.map(({ status }) => status).toSorted((one, other) => one - other);
}

/** All are past their first checks while the registry is silent, and go on together. */
describe('requests that race', () => {
  it('get no slot beyond the most children of one session [D2-OPT-06]', async () => {
    const { referee, lead } = await withLead({ maxConcurrent: 4, maxLiveCapsules: 100 });
    const release = referee.registry.hold();
    const racing = Array.from({ length: 50 }, async () => await referee.spawn(lead.credential, 'scout'));
    await referee.registry.askedTimes(51);
    expect(await referee.status(lead.id)).toMatchObject({ live_children: 0, live_capsules: 1 });
    release();
    const answers = await Promise.all(racing);
    expect(statuses(answers)).toEqual([...Array<number>(4).fill(200), ...Array<number>(46).fill(403)]);
    const refused = answers.filter(({ status }) => status === 403);
    expect(new Set(refused.map(({ body }) => body))).toEqual(
      new Set([
        sentence('concurrency bound reached: this session holds 4 live children and --max-concurrent allows 4'),
      ]),
    );
    expect(await referee.status(lead.id)).toMatchObject({ live_children: 4, live_capsules: 5 });
  });

  it('get no slot beyond the machine ceiling, whichever session asks [D2-OPT-07]', async () => {
    const { referee, lead } = await withLead({ maxLiveCapsules: 12, maxConcurrent: 5 });
    const sessions = [lead];
    while (sessions.length < 5) sessions.push(await referee.session('lead'));
    const release = referee.registry.hold();
    const racing = sessions.flatMap(({ credential }) =>
      Array.from({ length: 5 }, async () => await referee.spawn(credential, 'scout')),
    );
    await referee.registry.askedTimes(30);
    release();
    expect(statuses(await Promise.all(racing)).filter((status) => status === 200)).toHaveLength(7);
    expect(await referee.liveCapsules(lead.id)).toBe(12);
  });

  it('take no room from granted ones when they fail', async () => {
    const { referee, lead } = await withLead({ maxConcurrent: 2 });
    const release = referee.registry.hold();
    const names = ['greedy', 'greedy', 'scout', 'greedy', 'scout'];
    const racing = names.map(async (name) => await referee.spawn(lead.credential, name));
    await referee.registry.askedTimes(6);
    release();
    const answers = await Promise.all(racing);
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 200, 403, 200]);
    expect(await referee.status(lead.id)).toMatchObject({ live_children: 2 });
  });

  it('get nothing after the end of their session when they race with it [D2-SESS-08]', async () => {
    const { referee, lead } = await withLead();
    const release = referee.registry.hold();
    const racing = referee.spawn(lead.credential, 'scout');
    await referee.registry.askedTimes(2);
    await referee.end(lead.credential);
    release();
    expect(refusal(await racing)).toEqual(identity);
    expect(await referee.liveCapsules(lead.id)).toBe(0);
  });

  it('register one child with one approval [D2-TOKEN-06]', async () => {
    const { referee, lead } = await withLead();
    const approval = await referee.approval(lead.credential, 'scout');
    const release = referee.registry.hold();
    const racing = Array.from(
      { length: 20 },
      async (_, index) => await referee.register(`ses_r${index}`, 'scout', approval),
    );
    await referee.registry.askedTimes(22);
    release();
    expect(statuses(await Promise.all(racing))).toEqual([200, ...Array<number>(19).fill(403)]);
    expect(await referee.status(lead.id)).toMatchObject({ live_children: 1, live_capsules: 2 });
  });

  it('register one session for one id [D2-REG-02]', async () => {
    const { referee, lead } = await withLead();
    const release = referee.registry.hold();
    const racing = Array.from({ length: 20 }, async () => await referee.register('ses_same', 'lead'));
    await referee.registry.askedTimes(21);
    release();
    const answers = await Promise.all(racing);
    expect(statuses(answers)).toEqual([200, ...Array<number>(19).fill(403)]);
    expect(new Set(answers.filter(({ status }) => status === 403).map(({ body }) => body))).toEqual(
      new Set([sentence(identitySentence)]),
    );
    expect(await referee.liveCapsules(lead.id)).toBe(2);
  });

  it('register nobody when they race with their expiry, or the end of the granting session [D2-TOKEN-06] [D2-AUTH-10]', async () => {
    const { referee, lead } = await withLead();
    const other = await referee.session('lead');
    const expiring = await referee.approval(lead.credential, 'scout');
    const orphaned = await referee.approval(other.credential, 'scout');
    const release = referee.registry.hold();
    const late = referee.register('ses_late', 'scout', expiring);
    const orphan = referee.register('ses_orphan', 'scout', orphaned);
    await referee.registry.askedTimes(6);
    await referee.end(other.credential);
    referee.clock.advance(60_000);
    release();
    expect((await late).body).toBe(sentence('the approval has expired: it is valid for 60 seconds from its grant'));
    expect(refusal(await orphan)).toEqual(identity);
    expect(await referee.liveCapsules(lead.id)).toBe(1);
  });
});
