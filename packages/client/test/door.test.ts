import { createHash } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import { ClientError } from '@svc/client/client-error.ts';
import type { DoorOptions, Http } from '@svc/client/http-door.ts';
import { RefereeClient } from '@svc/client/referee-client.ts';
import { RegistryClient } from '@svc/client/registry-client.ts';
import { FakeCapsule } from './fake-capsule.ts';

const quick = { reconnectMs: 1, callMs: 2000, idleMs: 2000, maxReconnects: 3 };

describe('a header', () => {
  const secret = 'TOP\nSECRET';
  const worker = { name: 'worker', version: '1.0.0' };

  it.each([
    [
      'an approval',
      'x-svc-spawn-approval',
      (url: string) =>
        new RefereeClient({ url, limits: quick }).register({ sessionId: 'ses_1', ...worker }, { approval: secret }),
    ],
    [
      'a credential',
      'x-svc-spawn-credential',
      (url: string) => new RefereeClient({ url, limits: quick }).spawn(worker, { credential: secret }),
    ],
    [
      'an audience',
      'x-svc-audience',
      (url: string) => new CapsuleClient({ url, limits: quick }).sharedFile('mh1.a.b', secret),
    ],
    [
      'a tag of a message',
      'idempotency-key',
      (url: string) => new CapsuleClient({ url, limits: quick }).send('a', { idempotencyKey: secret }),
    ],
  ])('goes nowhere when it cannot hold %s, and no error repeats that', async (_what, name, ask) => {
    const asked: string[] = [];
    const capsule = await FakeCapsule.open({ other: ({ url = '' }, response) => response.end(asked.push(url)) });
    const message = `the header ${name} for http://${capsule.url} was to hold what no header can, such as a line break`;
    await expect(ask(capsule.url)).rejects.toMatchObject({ name: 'ClientError', code: 'bad-header', message });
    expect(asked).toEqual([]);
    expect(capsule.calls).toEqual([]);
  });
});

describe('an address', () => {
  it.each(['localhost:99999', 'no host:80', '', 'ftp://localhost', 'http://localhost?x=1', 'localhost:80#part'])(
    'gets no request when it is invalid, and no second try: "%s"',
    async (url) => {
      const asked: string[] = [];
      const fetch = async (target: string): Promise<never> => {
        asked.push(target);
        throw new TypeError('fetch failed');
      };
      const client = new CapsuleClient({ url, limits: quick, fetch });
      await expect(client.watch().next()).rejects.toMatchObject({ name: 'ClientError', code: 'bad-url' });
      const ungated = new CapsuleClient({ url, limits: quick, fetch, isGated: false });
      await expect(ungated.watch().next()).rejects.toMatchObject({ name: 'ClientError', code: 'bad-url' });
      expect(asked).toEqual([]);
    },
  );

  it('may have a path, which is put before all others', async () => {
    const asked: string[] = [];
    const capsule = await FakeCapsule.open({ other: ({ url = '' }, response) => response.end(`${asked.push(url)}`) });
    const client = new CapsuleClient({ url: `HTTP://${capsule.url}/at/home/`, limits: quick });
    await expect(client.card()).rejects.toMatchObject({ code: 'bad-answer' });
    expect(asked).toEqual(['/at/home/.well-known/agent-card.json']);
  });
});

it.each(['[]', '"ok"', '1', 'null'])('%s is not what a referee says of its health', async (body) => {
  const capsule = await FakeCapsule.open({ other: (_request, response) => response.end(body) });
  const referee = new RefereeClient({ url: capsule.url, limits: quick });
  const message = `what answers at http://${capsule.url} is no referee`;
  await expect(referee.health()).rejects.toMatchObject({ code: 'bad-answer', message });
});

it('an index is as long as the limits have it', async () => {
  const version = '{"name":"a","version":"1.0.0","runtime":"wasm","artifact_runtime":"tool"}';
  const capsule = await FakeCapsule.open({ other: (_request, response) => response.end(`[${version}]`) });
  const index = async (limits: object): Promise<unknown> =>
    await new RegistryClient({ url: capsule.url, limits: { ...quick, ...limits } }).index();
  expect(await index({ maxAnswerBytes: 10 })).toHaveLength(1);
  await expect(index({ maxIndexBytes: 60 })).rejects.toMatchObject({ code: 'too-large' });
});

describe('a signal that is aborted while a refusal is read', () => {
  const reasons: readonly (readonly [string, Error])[] = [
    ['any error', new Error('left')],
    ['an error of a client', new ClientError('lost', 'left')],
  ];
  type Ask = (door: DoorOptions, signal: AbortSignal) => Promise<unknown>;
  const asks: readonly (readonly [string, Ask])[] = [
    ['a file', (door, signal) => new CapsuleClient(door).file('a', { signal })],
    ['a shared file', (door, signal) => new CapsuleClient(door).sharedFile('a', 'b', { signal })],
    ['an archive', (door, signal) => new RegistryClient(door).archive('a', '1.0.0', { signal })],
    ['an index', (door, signal) => new RegistryClient(door).index({ signal })],
    [
      'a stream',
      (door, signal) => new CapsuleClient({ ...door, url: `${door.url}/x`, isGated: false }).snapshot({ signal }),
    ],
  ];

  it.each(asks.flatMap(([what, ask]) => reasons.map(([kind, reason]) => [kind, what, ask, reason] as const)))(
    'rejects with its reason, %s: %s',
    async (_kind, _what, ask, reason) => {
      const leave = new AbortController();
      const capsule = await FakeCapsule.open({
        other: (_request, response) => void response.writeHead(403).write('{"error":'),
      });
      const leavingAtRefusal: Http = async (url, request) => {
        const response = await fetch(url, request);
        if (response.status !== 403) return response;
        setImmediate(() => leave.abort(reason));
        return response;
      };
      const door = { url: capsule.url, limits: quick, fetch: leavingAtRefusal };
      await expect(ask(door, leave.signal)).rejects.toBe(reason);
    },
  );
});

describe('a publish', () => {
  const query = { name: 'a', version: '1.0.0', runtime: 'wasm', platforms: [] };

  /** A registry that takes longer than a call may. */
  async function slowRegistry(): Promise<RegistryClient> {
    const { url } = await FakeCapsule.open({
      other: (request, response) => {
        const hash = createHash('sha256');
        const answer = (): unknown => response.writeHead(201).end(`{"sha256":"${hash.digest('hex')}"}`);
        request.on('data', (piece: Buffer) => hash.update(piece)).once('end', () => setTimeout(answer, 400));
      },
    });
    return new RegistryClient({ url, limits: { ...quick, callMs: 50 } });
  }

  it('has longer than a call for a large archive', async () => {
    const publishing = (await slowRegistry()).publish(query, new Uint8Array(10 * 64 * 1024));
    expect(await publishing).toBeUndefined();
  });

  it('has as long as it is given, and of a small archive as long as a call', async () => {
    const registry = await slowRegistry();
    await registry.publish(query, new Uint8Array(1), { timeoutMs: 10_000 });
    const late = { code: 'timeout', message: 'no answer within 0.1 s' };
    await expect(registry.publish(query, new Uint8Array(2 ** 20), { timeoutMs: 100 })).rejects.toMatchObject(late);
    await expect(registry.publish(query, new Uint8Array(1))).rejects.toMatchObject({ code: 'timeout' });
  });
});
