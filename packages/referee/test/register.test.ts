import { describe, expect, it } from 'vitest';

import { fieldOf, identitySentence, refusal, sentence, TestReferee, textOf } from './referee-kit.ts';

const identity = [403, sentence(identitySentence)];
const notListed = (name: string): readonly [number, string] => [
  403,
  sentence(`capsule ${name} may not register without an approval: no --spawn-allow names it`),
];
const expired = [403, sentence('the approval has expired: it is valid for 60 seconds from its grant')];
const redeemed = [403, sentence('the approval has already been redeemed: it is valid for one registration')];
const missing = [500, sentence('missing@1.0.0 is not in the registry')];
const malformed = 'the body must be a JSON object with the strings session_id (1 to 256 characters), name and version';

/** A referee with a lead that may spawn scouts. */
async function withLead(
  options: Parameters<typeof TestReferee.open>[0] = {},
): Promise<{ readonly referee: TestReferee; readonly credential: string; readonly id: string }> {
  const referee = await TestReferee.open(options);
  referee.registry.publish('lead', { spawnAllow: ['scout', 'medic', 'lead'] });
  referee.registry.publish('scout');
  referee.registry.publish('medic');
  return { referee, ...(await referee.session('lead')) };
}

describe('POST /register without an approval', () => {
  it('gives a credential, and the session runs with the whole depth [D2-REG-01] [D2-REG-04] [D2-REG-17] [D2-SESS-05] [D2-TOKEN-01] [D2-AUTH-02]', async () => {
    const referee = await TestReferee.open({ maxDepth: 7 });
    referee.registry.publish('lead');
    const { status, head, body } = await referee.register('ses_a', 'lead');
    const { credential } = JSON.parse(body) as { credential: string };
    expect(credential).toMatch(/^msc1\.[\w-]+$/);
    expect([status, body]).toEqual([200, `{"credential":"${credential}"}`]);
    expect(head).toBe(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nConnection: close`,
    );
    expect(await referee.status('ses_a')).toEqual({
      status: 'running',
      depth_remaining: 7,
      live_children: 0,
      live_capsules: 1,
    });
  });

  it('serves the names of --spawn-allow alone, published or not [D2-REG-08] [D2-ERR-13] [D2-AUTH-08] [D2-OPT-03]', async () => {
    const referee = await TestReferee.open({ spawnAllow: ['lead', 'second'] });
    referee.registry.publish('lead');
    referee.registry.publish('second');
    referee.registry.publish('scout');
    expect(refusal(await referee.register('ses_a', 'scout'))).toEqual(notListed('scout'));
    expect(refusal(await referee.register('ses_a', 'missing'))).toEqual(notListed('missing'));
    expect(referee.registry.asked).toEqual([]);
    expect((await referee.register('ses_a', 'lead')).status).toBe(200);
    expect((await referee.register('ses_b', 'second')).status).toBe(200);
  });

  it('serves nobody where --spawn-allow names nobody [D2-OPT-13] [D2-OPT-03]', async () => {
    const referee = await TestReferee.open({ spawnAllow: [] });
    referee.registry.publish('lead');
    expect(refusal(await referee.register('ses_a', 'lead'))).toEqual(notListed('lead'));
    expect(await referee.status('ses_a')).toBe(404);
  });

  it('takes a name with a comma for a name [D2-OPT-04]', async () => {
    const referee = await TestReferee.open({ spawnAllow: ['lead,scout'] });
    referee.registry.publish('lead');
    expect(refusal(await referee.register('ses_a', 'lead'))).toEqual(notListed('lead'));
  });

  it('gives 500 for a listed capsule that is not in the registry [D2-REG-09] [D2-ERR-14]', async () => {
    const referee = await TestReferee.open({ spawnAllow: ['missing'] });
    expect(refusal(await referee.register('ses_a', 'missing'))).toEqual(missing);
    expect(await referee.status('ses_a')).toBe(404);
  });

  it('ignores the ceiling, but counts [D2-REG-14] [D2-REG-15]', async () => {
    const { referee, credential, id } = await withLead({ maxLiveCapsules: 2 });
    for (let count = 0; count < 5; count += 1) await referee.session('lead');
    expect(await referee.liveCapsules(id)).toBe(6);
    const { body } = await referee.spawn(credential, 'scout');
    expect(body).toContain('machine ceiling reached: 6 capsules are live and --max-live-capsules allows 2;');
  });

  it('compares its grants with nothing [D2-REG-16]', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead', {
      networkAllow: [{ scheme: null, host: 'example.com', port: null }],
      unixSockets: true,
      shellAllow: ['bash'],
      spawnAllow: ['lead'],
      envAllow: ['TOKEN'],
      workdirExec: true,
    });
    expect((await referee.register('ses_a', 'lead')).status).toBe(200);
  });

  it('reads nothing of what the body says of capabilities [D2-REG-06] [D2-REG-05] [D2-HTTP-02] [D2-CORE-15] [D2-SESS-04]', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead', { spawnAllow: ['scout'], envAllow: ['HOME'] });
    referee.registry.publish('scout', { shellAllow: ['sh'] });
    referee.registry.publish('medic', { envAllow: ['HOME'] });
    const claimed = { spawn: { allow: ['medic'] }, shell: { allow: ['sh'] } };
    const answer = await referee.post('/register', {
      body: {
        session_id: 'ses_a',
        name: 'lead',
        version: '1.0.0',
        capabilities: claimed,
        envelope: { spawnAllow: ['medic'], shellAllow: ['sh'] },
        depth_remaining: 99,
        parent: 'ses_b',
      },
    });
    const credential = textOf(answer, 'credential');
    expect((await referee.spawn(credential, 'medic')).body).toContain("not in parent's spawn_allow");
    expect((await referee.spawn(credential, 'scout')).body).toContain('capabilities.shell.allow');
    expect(await referee.status('ses_a')).toMatchObject({ depth_remaining: 3 });
  });

  it('refuses an id that is taken, also by a session that has ended [D2-REG-02] [D2-AUTH-10] [D2-ERR-11]', async () => {
    const { referee, id, credential } = await withLead();
    expect(refusal(await referee.register(id, 'lead'))).toEqual(identity);
    await referee.end(credential);
    expect(refusal(await referee.register(id, 'lead'))).toEqual(identity);
    expect(await referee.status(id)).toMatchObject({ status: 'complete', live_capsules: 0 });
  });
});

describe('the body of POST /register', () => {
  it.each<[string, unknown]>([
    ['nothing', ''],
    ['text', 'session_id=a'],
    ['half of it', '{"session_id":"a","name":"lead"'],
  ])('must be JSON, not %s [D2-ERR-10]', async (_what, body) => {
    const referee = await TestReferee.open();
    const answer = await referee.post('/register', { body });
    expect(refusal(answer)).toEqual([400, sentence(`the body is not valid JSON: ${malformed}`)]);
  });

  it.each<[unknown]>([
    [[]],
    [{}],
    [{ name: 'lead', version: '1.0.0' }],
    [{ session_id: '', name: 'lead', version: '1.0.0' }],
    [{ session_id: 7, name: 'lead', version: '1.0.0' }],
    [{ session_id: null, name: 'lead', version: '1.0.0' }],
    [{ session_id: 'a'.repeat(257), name: 'lead', version: '1.0.0' }],
    [{ session_id: 'ses_a', version: '1.0.0' }],
    [{ session_id: 'ses_a', name: 'lead' }],
    [{ session_id: 'ses_a', name: ['lead'], version: '1.0.0' }],
    [{ session_id: 'ses_a', name: 'lead', version: 1 }],
  ])('has a session id and two strings, not %j [D2-ERR-10] [D2-REG-02] [D2-REG-03]', async (body) => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead');
    expect(refusal(await referee.post('/register', { body }))).toEqual([400, sentence(malformed)]);
  });

  it('may have an id of any characters, which is polled in its escaped spelling', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead');
    const ids = ['a/b', 'ä ?#%', '..', '__proto__', ' ', 'a'.repeat(256)];
    for (const id of ids) {
      expect((await referee.register(id, 'lead')).status).toBe(200);
      expect(await referee.status(encodeURIComponent(id))).toMatchObject({ status: 'running' });
    }
  });
});

describe('POST /register with an approval', () => {
  it('registers the child with one level less than its parent, in the slot that was reserved [D2-REG-18] [D2-TOKEN-04] [D2-TOKEN-05] [D2-SLOT-01] [D2-SLOT-02] [D2-STATUS-02] [D2-SESS-02]', async () => {
    const { referee, id, credential } = await withLead({ maxDepth: 2 });
    const approval = await referee.approval(credential, 'lead');
    const reserved = { status: 'running', depth_remaining: 2, live_children: 1, live_capsules: 2 };
    expect(await referee.status(id)).toEqual(reserved);
    const child = await referee.session('lead', approval);
    expect(await referee.status(id)).toEqual(reserved);
    expect(await referee.status(child.id)).toEqual({
      status: 'running',
      depth_remaining: 1,
      live_children: 0,
      live_capsules: 2,
    });
  });

  it('has the depth of the grant, not that of a later moment or of the flag', async () => {
    const { referee, credential } = await withLead({ maxDepth: 3 });
    const second = await referee.child(credential, 'lead');
    const third = await referee.child(second.credential, 'lead');
    expect(await referee.status(third.id)).toMatchObject({ depth_remaining: 1 });
  });

  it('needs no entry in --spawn-allow, and an entry there widens nothing [D2-OPT-12]', async () => {
    const narrow = await withLead({ spawnAllow: ['lead'] });
    expect((await narrow.referee.child(narrow.credential, 'scout')).id).toMatch(/^ses_/);
    const { referee, credential } = await withLead({ spawnAllow: ['lead', 'scout', 'medic'] });
    const child = await referee.child(credential, 'scout');
    expect((await referee.spawn(child.credential, 'medic')).body).toContain(
      "capsule medic not in parent's spawn_allow",
    );
  });

  it('asks the registry first: an unresolvable capsule is 500 whatever the approval is worth [D2-REG-10] [D2-ERR-14]', async () => {
    const { referee, credential } = await withLead();
    expect(refusal(await referee.register('ses_b', 'missing', 'msa1.forged'))).toEqual(missing);
    const approval = await referee.approval(credential, 'scout');
    expect(refusal(await referee.register('ses_b', 'missing', approval))).toEqual(missing);
    expect((await referee.register('ses_b', 'scout', approval)).status).toBe(200);
  });

  it.each(['', 'x', 'msa1.', 'msa1.AAAA', 'msc1.AAAA'])(
    'refuses the approval %j, though the name is in --spawn-allow [D2-REG-12] [D2-REG-01]',
    async (approval) => {
      const { referee } = await withLead();
      expect(refusal(await referee.register('ses_b', 'lead', approval))).toEqual(identity);
      expect(await referee.status('ses_b')).toBe(404);
    },
  );

  it('refuses one that has expired, from 60 seconds after the grant on [D2-TOKEN-06] [D2-LIMIT-01] [D2-ERR-12] [D2-AUTH-14]', async () => {
    const { referee, credential } = await withLead();
    const early = await referee.approval(credential, 'scout');
    const late = await referee.approval(credential, 'scout');
    referee.clock.advance(59_999);
    expect((await referee.register('ses_b', 'scout', early)).status).toBe(200);
    referee.clock.advance(1);
    expect(refusal(await referee.register('ses_c', 'scout', late))).toEqual(expired);
    referee.clock.advance(86_400_000);
    expect(refusal(await referee.register('ses_c', 'scout', late))).toEqual(expired);
    expect(refusal(await referee.register('ses_c', 'scout', early))).toEqual(expired);
  });

  it('lets none live longer when the clock of the machine is set back', async () => {
    const { referee, credential } = await withLead();
    const approval = await referee.approval(credential, 'scout');
    referee.clock.advance(60_000);
    referee.clock.unixMs -= 3_600_000;
    expect(refusal(await referee.register('ses_b', 'scout', approval))).toEqual(expired);
  });

  it('refuses one that has been redeemed [D2-TOKEN-06] [D2-LIMIT-01] [D2-ERR-12] [D2-AUTH-14]', async () => {
    const { referee, credential } = await withLead();
    const approval = await referee.approval(credential, 'scout');
    const child = await referee.session('scout', approval);
    expect(refusal(await referee.register('ses_b', 'scout', approval))).toEqual(redeemed);
    await referee.end(child.credential);
    expect(refusal(await referee.register('ses_b', 'scout', approval))).toEqual(redeemed);
  });

  it('refuses one that was granted for another capsule, and it is spent [D2-REG-11] [D2-REG-13] [D2-ERR-12] [D2-AUTH-14]', async () => {
    const { referee, credential } = await withLead();
    const approval = await referee.approval(credential, 'scout');
    expect(refusal(await referee.register('ses_b', 'medic', approval))).toEqual([
      403,
      sentence('the approval was granted for scout@1.0.0, not for medic@1.0.0'),
    ]);
    expect(refusal(await referee.register('ses_b', 'scout', approval))).toEqual(redeemed);
  });

  it('refuses one that was granted for another version [D2-REG-11] [D2-AUTH-14]', async () => {
    const { referee, credential } = await withLead();
    referee.registry.publish('scout', {}, '1.0.1');
    const approval = await referee.approval(credential, 'scout');
    const body = { session_id: 'ses_b', name: 'scout', version: '1.0.1' };
    expect(refusal(await referee.post('/register', { approval, body }))).toEqual([
      403,
      sentence('the approval was granted for scout@1.0.0, not for scout@1.0.1'),
    ]);
  });

  it('refuses one whose capsule has other bytes by now, and it is spent [D2-REG-11] [D2-REG-13] [D2-TOKEN-04] [D2-AUTH-14]', async () => {
    const { referee, credential } = await withLead();
    const granted = await referee.spawn(credential, 'scout');
    const approval = textOf(granted, 'approval');
    const { sha256 } = referee.registry.publish('scout', { shellAllow: ['sh'] });
    expect(refusal(await referee.register('ses_b', 'scout', approval))).toEqual([
      403,
      sentence(
        `the approval was granted for scout@1.0.0 with content hash ${String(fieldOf(granted, 'sha256'))}, which now resolves to ${sha256}`,
      ),
    ]);
    expect(refusal(await referee.register('ses_b', 'scout', approval))).toEqual(redeemed);
  });

  it('refuses one whose granting session has ended [D2-AUTH-10] [D2-ERR-11]', async () => {
    const { referee, credential } = await withLead();
    const approval = await referee.approval(credential, 'scout');
    const wrong = await referee.approval(credential, 'scout');
    await referee.end(credential);
    expect(refusal(await referee.register('ses_b', 'scout', approval))).toEqual(identity);
    expect(refusal(await referee.register('ses_b', 'medic', wrong))).toEqual(identity);
    referee.clock.advance(60_000);
    expect(refusal(await referee.register('ses_b', 'scout', approval))).toEqual(identity);
  });

  it('refuses an id that is taken, and the approval is spent [D2-AUTH-10] [D2-REG-13]', async () => {
    const { referee, id, credential } = await withLead();
    const approval = await referee.approval(credential, 'scout');
    expect(refusal(await referee.register(id, 'scout', approval))).toEqual(identity);
    expect(refusal(await referee.register('ses_b', 'scout', approval))).toEqual(redeemed);
  });

  it('reads an approval that is sent twice as none of its own', async () => {
    const { referee, credential } = await withLead();
    const approval = await referee.approval(credential, 'lead');
    const headers = [`x-svc-spawn-approval: ${approval}`];
    const body = { session_id: 'ses_b', name: 'lead', version: '1.0.0' };
    expect(refusal(await referee.post('/register', { approval, headers, body }))).toEqual(identity);
  });
});
