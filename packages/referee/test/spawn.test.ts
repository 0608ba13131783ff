import { connect } from 'node:net';

import { describe, expect, it } from 'vitest';

import { exchange, received } from '../../kit/test/http/raw-client.ts';
import { fieldOf, identitySentence, refusal, sentence, TestReferee, textOf } from './referee-kit.ts';

const notAllowed = (name: string): string =>
  sentence(
    `capsule ${name} not in parent's spawn_allow: capabilities.spawn.allow of the asking capsule does not name it`,
  );
const noDepth = (left: number, most: number): string =>
  sentence(
    `depth bound reached: ${left} of the ${most} levels of delegation that --max-depth allows are left below this session, ` +
      'for as long as it lives; a capsule that names itself in capabilities.spawn.allow terminates here',
  );
const ceiling = (live: number, most: number): string =>
  sentence(
    `machine ceiling reached: ${live} capsules are live and --max-live-capsules allows ${most}; ` +
      "it is the ceiling of this host rather than the capsule's own concurrency limit, and waiting may help",
  );
const concurrency = (held: number, most: number): string =>
  sentence(`concurrency bound reached: this session holds ${held} live children and --max-concurrent allows ${most}`);
const malformed = 'the body must be a JSON object with the strings name and version';

describe('POST /spawn', () => {
  it('grants an approval of the resolved artifact and returns nothing else [D2-SPAWN-03] [D2-SPAWN-05] [D2-TOKEN-03]', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    const { sha256 } = referee.registry.publish('scout');
    const { credential } = await referee.session('lead');
    const { status, head, body } = await referee.spawn(credential, 'scout');
    const approval = textOf({ status, head, body, headers: {} }, 'approval');
    expect(approval).toMatch(/^msa1\.[\w-]+$/);
    expect(body).toBe(
      `{"approval":"${approval}","name":"scout","version":"1.0.0","sha256":"${sha256}","expires_at_ms":1760000060000}`,
    );
    expect(head).toBe(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nConnection: close`,
    );
  });

  it('says when the approval expires, 60 seconds after the grant and not after the question [D2-SPAWN-04]', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    referee.registry.publish('scout');
    const { credential } = await referee.session('lead');
    const release = referee.registry.hold();
    const answer = referee.spawn(credential, 'scout');
    await referee.registry.askedTimes(2);
    referee.clock.advance(7_000);
    release();
    expect(fieldOf(await answer, 'expires_at_ms')).toBe(1_760_000_067_000);
  });

  it('decides for each capsule by its own list: one may spawn what another may not [D2-CORE-01] [D2-ERR-03]', async () => {
    const referee = await TestReferee.open({ spawnAllow: ['lead', 'other'] });
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    referee.registry.publish('other', { spawnAllow: ['medic'] });
    for (const name of ['scout', 'medic']) referee.registry.publish(name);
    const answers: number[] = [];
    for (const asker of ['lead', 'other']) {
      const { credential } = await referee.session(asker);
      for (const name of ['scout', 'medic']) answers.push((await referee.spawn(credential, name)).status);
    }
    expect(answers).toEqual([200, 403, 403, 200]);
  });

  it('serves every bearer of the credential, on any connection of this machine [D2-AUTH-15]', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    referee.registry.publish('scout');
    const { credential } = await referee.session('lead');
    const socket = connect(referee.port, '127.0.0.1');
    const body = '{"name":"scout","version":"1.0.0"}';
    socket.write(
      `POST /spawn HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nx-svc-spawn-credential: ${credential}\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(await received(socket, '"expires_at_ms"')).toContain('HTTP/1.1 200 OK');
    expect((await referee.spawn(credential, 'scout')).status).toBe(200);
  });

  it('judges the session that the credential names, whatever else is sent [D2-AUTH-07] [D2-HTTP-02] [D2-SPAWN-02] [D2-CORE-07]', async () => {
    const referee = await TestReferee.open({ spawnAllow: ['lead', 'other'] });
    referee.registry.publish('lead', { spawnAllow: [] });
    referee.registry.publish('other', { spawnAllow: ['scout'] });
    referee.registry.publish('scout', { shellAllow: ['sh'] });
    const lead = await referee.session('lead');
    const other = await referee.session('other');
    const extra = {
      name: 'scout',
      version: '1.0.0',
      session_id: other.id,
      capabilities: { shell: { allow: [] }, spawn: { allow: ['scout'] } },
      envelope: {},
      approval: 'x',
    };
    const asLead = await referee.post('/spawn', { credential: lead.credential, body: extra });
    expect(refusal(asLead)).toEqual([403, notAllowed('scout')]);
    const asOther = await referee.post('/spawn', { credential: other.credential, body: extra });
    expect(refusal(asOther)).toEqual([
      403,
      sentence(
        'capsule scout declares more than its parent holds: capabilities.shell.allow: the child declares "sh", which the parent does not',
      ),
    ]);
  });

  it.each<[string, unknown]>([
    ['no body', ''],
    ['text', 'name=scout'],
    ['half a body', '{"name":"scout","version":"1.0'],
    ['two objects', '{"name":"scout","version":"1.0.0"}{}'],
    ['a byte order mark', '\uFEFF{"name":"scout","version":"1.0.0"}'],
  ])('refuses %s as no JSON [D2-ERR-01]', async (_what, body) => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    const { credential } = await referee.session('lead');
    const answer = await referee.post('/spawn', { credential, body });
    expect(refusal(answer)).toEqual([400, sentence(`the body is not valid JSON: ${malformed}`)]);
  });

  it.each<[unknown]>([
    ['null'],
    ['[]'],
    ['"scout"'],
    [{}],
    [{ name: 'scout' }],
    [{ version: '1.0.0' }],
    [{ name: 'scout', version: 1 }],
    [{ name: null, version: '1.0.0' }],
    [{ name: ['scout'], version: '1.0.0' }],
    [{ Name: 'scout', version: '1.0.0' }],
  ])('refuses %j, which lacks a string [D2-ERR-01] [D2-SPAWN-02]', async (body) => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    const { credential } = await referee.session('lead');
    expect(refusal(await referee.post('/spawn', { credential, body }))).toEqual([400, sentence(malformed)]);
  });

  it('refuses bytes that are no UTF-8', async () => {
    const referee = await TestReferee.open();
    const bytes = Buffer.from('7b226e616d65223a22ff222c2276657273696f6e223a2231227d', 'hex').toString('latin1');
    const head = ['POST /spawn HTTP/1.1', 'Host: localhost', 'Connection: close', `Content-Length: ${bytes.length}`];
    const answer = await exchange({ port: referee.port, bytes: [`${[...head, '', ''].join('\r\n')}${bytes}`] });
    expect(answer).toContain('HTTP/1.1 400 Bad Request');
  });

  it('asks for a credential [D2-SPAWN-01] [D2-AUTH-01] [D2-ERR-02]', async () => {
    const referee = await TestReferee.open();
    const body = { name: 'scout', version: '1.0.0' };
    const answer = await referee.post('/spawn', { body });
    expect(refusal(answer)).toEqual([403, sentence(identitySentence)]);
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    referee.registry.publish('scout');
    const { credential } = await referee.session('lead');
    const elsewhere = [`authorization: Bearer ${credential}`, `x-svc-credential: ${credential}`];
    expect((await referee.post('/spawn', { body, headers: elsewhere })).status).toBe(403);
    const headers = [`x-svc-spawn-credential: ${credential}`];
    expect((await referee.post('/spawn', { body, headers })).status).toBe(200);
  });

  it('refuses a name that the parent does not list, also its own and an empty one [D2-ERR-03] [D2-ERR-04]', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    const { credential } = await referee.session('lead');
    for (const name of ['lead', '', 'Scout', 'scout ']) {
      expect(refusal(await referee.spawn(credential, name))).toEqual([403, notAllowed(name)]);
    }
  });

  it('does not send back a name longer than any capsule has', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead');
    const { credential } = await referee.session('lead');
    const answer = await referee.spawn(credential, 'x'.repeat(100_000));
    expect(refusal(answer)).toEqual([403, notAllowed(`${'x'.repeat(100)}…`)]);
  });

  it('refuses a session with no depth left, and a capsule that spawns itself terminates there [D2-ERR-05] [D2-ERR-19] [D2-ERR-20] [D2-OPT-05]', async () => {
    const referee = await TestReferee.open({ maxDepth: 2 });
    referee.registry.publish('lead', { spawnAllow: ['lead'] });
    const first = await referee.session('lead');
    const second = await referee.child(first.credential, 'lead');
    const third = await referee.child(second.credential, 'lead');
    expect(refusal(await referee.spawn(third.credential, 'lead'))).toEqual([403, noDepth(0, 2)]);
    referee.clock.advance(3_600_000);
    expect(refusal(await referee.spawn(third.credential, 'lead'))).toEqual([403, noDepth(0, 2)]);
  });

  it('refuses at the machine ceiling, which all formations share, until a capsule ends [D2-ERR-06] [D2-ERR-21] [D2-ERR-19] [D2-OPT-07] [D2-BOUND-02]', async () => {
    const referee = await TestReferee.open({ maxLiveCapsules: 3 });
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    referee.registry.publish('scout');
    const first = await referee.session('lead');
    const second = await referee.session('lead');
    await referee.approval(first.credential, 'scout');
    expect(refusal(await referee.spawn(second.credential, 'scout'))).toEqual([403, ceiling(3, 3)]);
    await referee.end(first.credential);
    expect((await referee.spawn(second.credential, 'scout')).status).toBe(200);
  });

  it('refuses a session that holds its most children, and no other [D2-ERR-07] [D2-ERR-19] [D2-OPT-06] [D2-BOUND-03]', async () => {
    const referee = await TestReferee.open({ maxConcurrent: 2 });
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    referee.registry.publish('scout');
    const first = await referee.session('lead');
    await referee.approval(first.credential, 'scout');
    const child = await referee.child(first.credential, 'scout');
    expect(refusal(await referee.spawn(first.credential, 'scout'))).toEqual([403, concurrency(2, 2)]);
    const second = await referee.session('lead');
    expect((await referee.spawn(second.credential, 'scout')).status).toBe(200);
    await referee.end(child.credential, 'failed');
    expect((await referee.spawn(first.credential, 'scout')).status).toBe(200);
  });

  it('gets nothing with a bound of 0 [D2-OPT-11]', async () => {
    for (const [bounds, said] of [
      [{ maxDepth: 0 }, noDepth(0, 0)],
      [{ maxLiveCapsules: 0 }, ceiling(1, 0)],
      [{ maxConcurrent: 0 }, concurrency(0, 0)],
    ] as const) {
      const referee = await TestReferee.open(bounds);
      referee.registry.publish('lead', { spawnAllow: ['scout'] });
      referee.registry.publish('scout');
      const { credential } = await referee.session('lead');
      expect(refusal(await referee.spawn(credential, 'scout'))).toEqual([403, said]);
    }
  });

  it('knows no bound on how often: a thousand delegations, one after another [D2-LIMIT-11]', async () => {
    const referee = await TestReferee.open({ maxConcurrent: 1, maxLiveCapsules: 2 });
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    referee.registry.publish('scout');
    const { credential } = await referee.session('lead');
    for (let count = 0; count < 1_000; count += 1) {
      const child = await referee.child(credential, 'scout');
      await referee.end(child.credential);
    }
    expect(referee.bugs).toEqual([]);
  });

  it('refuses a capsule that the registry does not resolve, with its reason [D2-ERR-09] [D2-ERR-18]', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    const { credential } = await referee.session('lead');
    for (const version of ['1.0.0', 'latest']) {
      const answer = await referee.spawn(credential, 'scout', version);
      expect(refusal(answer)).toEqual([500, sentence(`scout@${version} is not in the registry`)]);
    }
  });

  it('refuses a child that declares more than its parent holds, naming the key and the entry [D2-ERR-08] [D2-ERR-22] [D2-SPAWN-07] [D2-CORE-11]', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead', { spawnAllow: ['scout'], envAllow: ['HOME'] });
    referee.registry.publish('scout', { envAllow: ['HOME', 'TOKEN'] });
    const { credential } = await referee.session('lead');
    expect(refusal(await referee.spawn(credential, 'scout'))).toEqual([
      403,
      sentence(
        'capsule scout declares more than its parent holds: capabilities.env.allow: the child declares "TOKEN", which the parent does not',
      ),
    ]);
  });

  it('asks the registry for the exact version that was named', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    const newer = referee.registry.publish('scout', {}, '2.0.0');
    const { credential } = await referee.session('lead');
    const answer = await referee.spawn(credential, 'scout', '2.0.0');
    expect([fieldOf(answer, 'version'), fieldOf(answer, 'sha256')]).toEqual(['2.0.0', newer.sha256]);
    expect(referee.registry.asked).toEqual(['lead@1.0.0', 'scout@2.0.0']);
  });

  it.each<[string, string, number]>([
    ['not allowed', 'stranger', 403],
    ['unresolvable', 'missing', 500],
    ['too much', 'greedy', 403],
  ])('leaves no record of a capsule that is %s [D2-SPAWN-08]', async (_what, name, status) => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead', { spawnAllow: ['missing', 'greedy'] });
    referee.registry.publish('greedy', { workdirExec: true });
    const { id, credential } = await referee.session('lead');
    for (let count = 0; count < 20; count += 1) {
      expect((await referee.spawn(credential, name)).status).toBe(status);
    }
    expect(await referee.status(id)).toEqual({
      status: 'running',
      depth_remaining: 3,
      live_children: 0,
      live_capsules: 1,
    });
  });
});

/** Each asks for something that two rules forbid; the first in the documented order answers. */
describe('POST /spawn, in its order of checks, [D2-SPAWN-06]', () => {
  const child = { name: 'stranger', version: '1.0.0' };

  it('checks the body before the credential', async () => {
    const referee = await TestReferee.open();
    expect((await referee.post('/spawn', { body: '{' })).status).toBe(400);
    expect((await referee.post('/spawn', { credential: 'msc1.x', body: {} })).status).toBe(400);
  });

  it('checks the credential before the name', async () => {
    const referee = await TestReferee.open();
    const answer = await referee.post('/spawn', { credential: 'msc1.x', body: child });
    expect(refusal(answer)).toEqual([403, sentence(identitySentence)]);
  });

  it.each([Number.NaN, -1, 0.5])(
    'the identity refusal for a record whose depth is %s and cannot be read [D2-BOUND-04]',
    async (maxDepth) => {
      const referee = await TestReferee.open({ maxDepth });
      referee.registry.publish('lead', { spawnAllow: ['scout'] });
      referee.registry.publish('scout');
      const { credential } = await referee.session('lead');
      expect(refusal(await referee.spawn(credential, 'scout'))).toEqual([403, sentence(identitySentence)]);
      expect(referee.registry.asked).toEqual(['lead@1.0.0']);
    },
  );

  it('checks the name before the depth [D2-BOUND-01]', async () => {
    const referee = await TestReferee.open({ maxDepth: 0 });
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    const { credential } = await referee.session('lead');
    expect(refusal(await referee.spawn(credential, 'stranger'))).toEqual([403, notAllowed('stranger')]);
  });

  it('checks the depth before the machine ceiling [D2-BOUND-01]', async () => {
    const referee = await TestReferee.open({ maxDepth: 0, maxLiveCapsules: 0, maxConcurrent: 0 });
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    const { credential } = await referee.session('lead');
    expect(refusal(await referee.spawn(credential, 'scout'))).toEqual([403, noDepth(0, 0)]);
  });

  it('checks the machine ceiling before the concurrency limit [D2-BOUND-02] [D2-BOUND-03]', async () => {
    const referee = await TestReferee.open({ maxLiveCapsules: 0, maxConcurrent: 0 });
    referee.registry.publish('lead', { spawnAllow: ['scout'] });
    const { credential } = await referee.session('lead');
    expect(refusal(await referee.spawn(credential, 'scout'))).toEqual([403, ceiling(1, 0)]);
  });

  it('checks the concurrency limit before it reads the registry', async () => {
    const referee = await TestReferee.open({ maxConcurrent: 0 });
    referee.registry.publish('lead', { spawnAllow: ['missing'] });
    const { credential } = await referee.session('lead');
    expect(refusal(await referee.spawn(credential, 'missing'))).toEqual([403, concurrency(0, 0)]);
    expect(referee.registry.asked).toEqual(['lead@1.0.0']);
  });
});
