import { describe, expect, it } from 'vitest';

import { refusal, sentence, TestReferee } from './referee-kit.ts';

async function withLead(options: Parameters<typeof TestReferee.open>[0] = {}): Promise<{
  readonly referee: TestReferee;
  readonly id: string;
  readonly credential: string;
}> {
  const referee = await TestReferee.open(options);
  referee.registry.publish('lead', { spawnAllow: ['scout'] });
  referee.registry.publish('scout');
  referee.registry.publish('medic');
  return { referee, ...(await referee.session('lead')) };
}

describe('a reserved slot', () => {
  it('counts for its parent and for the machine from the grant on [D2-SLOT-01] [D2-SESS-03] [D2-STATUS-03]', async () => {
    const { referee, id, credential } = await withLead();
    await referee.approval(credential, 'scout');
    await referee.approval(credential, 'scout');
    expect(await referee.status(id)).toMatchObject({ live_children: 2, live_capsules: 3 });
  });

  it('opens when the approval expires unpresented, to the millisecond [D2-SLOT-04] [D2-SLOT-05]', async () => {
    const { referee, id, credential } = await withLead({ maxConcurrent: 1 });
    await referee.approval(credential, 'scout');
    referee.clock.advance(59_999);
    expect(await referee.status(id)).toMatchObject({ live_children: 1, live_capsules: 2 });
    expect((await referee.spawn(credential, 'scout')).status).toBe(403);
    referee.clock.advance(1);
    expect(await referee.status(id)).toMatchObject({ live_children: 0, live_capsules: 1 });
    expect((await referee.spawn(credential, 'scout')).status).toBe(200);
  });

  it('lasts to the expiry of an approval that was presented and refused, and opens then [D2-SLOT-04]', async () => {
    const { referee, id, credential } = await withLead();
    const approval = await referee.approval(credential, 'scout');
    expect((await referee.register('ses_b', 'medic', approval)).status).toBe(403);
    expect(await referee.status(id)).toMatchObject({ live_children: 1, live_capsules: 2 });
    referee.clock.advance(60_000);
    expect(await referee.status(id)).toMatchObject({ live_children: 0, live_capsules: 1 });
  });

  it('opens in the order of the grants, each at its own time [D2-SLOT-05]', async () => {
    const { referee, id, credential } = await withLead();
    await referee.approval(credential, 'scout');
    referee.clock.advance(20_000);
    const second = await referee.approval(credential, 'scout');
    referee.clock.advance(20_000);
    await referee.approval(credential, 'scout');
    await referee.session('scout', second);
    const held: unknown[] = [];
    for (let step = 0; step < 4; step += 1) {
      held.push(await referee.liveChildren(id));
      referee.clock.advance(20_000);
    }
    expect(held).toEqual([3, 2, 2, 1]);
  });

  it('outlives the expiry of its approval once the child is registered [D2-SLOT-02]', async () => {
    const { referee, id, credential } = await withLead();
    await referee.child(credential, 'scout');
    referee.clock.advance(600_000);
    expect(await referee.status(id)).toMatchObject({ live_children: 1, live_capsules: 2 });
  });

  it('belongs to one referee: each has a ceiling of its own [D2-OPT-18]', async () => {
    const first = await withLead({ maxLiveCapsules: 2 });
    const second = await withLead({ maxLiveCapsules: 2 });
    expect((await first.referee.spawn(first.credential, 'scout')).status).toBe(200);
    expect((await second.referee.spawn(second.credential, 'scout')).status).toBe(200);
  });
});

describe('GET /status/{session_id}', () => {
  it('reports four things and nothing else, without any header [D2-STATUS-01] [D2-STATUS-02] [D2-STATUS-03] [D2-STATUS-04] [D2-AUTH-03]', async () => {
    const { referee, id } = await withLead();
    const { status, head, body } = await referee.get(`/status/${id}`);
    expect([status, body]).toEqual([
      200,
      '{"status":"running","depth_remaining":3,"live_children":0,"live_capsules":1}',
    ]);
    expect(head).toBe(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nConnection: close`,
    );
  });

  it('has the same census for every session that is polled, ended ones included [D2-STATUS-04]', async () => {
    const { referee, id, credential } = await withLead();
    const child = await referee.child(credential, 'scout');
    const other = await referee.session('lead');
    await referee.approval(other.credential, 'scout');
    await referee.end(child.credential);
    for (const polled of [id, child.id, other.id]) expect(await referee.liveCapsules(polled)).toBe(3);
  });

  it.each(['ses_unknown', '', '%', '%ff', 'ses_1/', 'ses_1/x', 'SES_1', 'constructor'])(
    'gives 404 for %j, which no session has [D2-STATUS-05] [D2-ERR-17]',
    async (id) => {
      const { referee } = await withLead();
      expect(refusal(await referee.get(`/status/${id}`))).toEqual([404, sentence('session not found')]);
    },
  );

  it('ignores a query', async () => {
    const { referee, id } = await withLead();
    expect((await referee.get(`/status/${id}?at=1`)).status).toBe(200);
  });
});

it('GET /health answers an empty object [D2-HEALTH-01] [D2-HTTP-01]', async () => {
  const referee = await TestReferee.open();
  const { status, head, body } = await referee.get('/health');
  expect([status, head, body]).toEqual([
    200,
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nConnection: close',
    '{}',
  ]);
});

it('every answer is JSON, also to what is not served [D2-HTTP-01]', async () => {
  const { referee, id } = await withLead();
  const answers = await Promise.all([
    referee.get('/health'),
    referee.get(`/status/${id}`),
    referee.get('/status/ses_none'),
    referee.get('/elsewhere'),
    referee.get('/spawn'),
    referee.post('/spawn', { body: 'no JSON' }),
    referee.post('/elsewhere', { body: {} }),
  ]);
  for (const { head, body } of answers) {
    expect(head).toMatch(/^content-type: application\/json\r?$/m);
    expect(JSON.parse(body)).toBeTypeOf('object');
  }
});
