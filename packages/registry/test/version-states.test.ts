import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { refusal, RegistryKit, toolArchive } from './registry-kit.ts';

let kit: RegistryKit;
beforeEach(async () => {
  kit = await RegistryKit.open();
  const archive = await toolArchive('echo');
  await kit.publish('name=echo&version=1.0.0&runtime=wasm', archive);
});

async function put(state: unknown, version = '1.0.0', on: RegistryKit = kit): Promise<string> {
  const body = Buffer.from(typeof state === 'string' ? state : JSON.stringify(state));
  const answer = await on.ask(`PUT /v1/artifacts/echo/${version}/state`, { body });
  return answer.status === 200 ? '200' : refusal(answer);
}

async function download(on: RegistryKit = kit): Promise<[number, unknown]> {
  const { status, headers } = await on.ask('GET /v1/artifacts/echo/1.0.0');
  return [status, headers['x-svc-state']];
}

interface Listed {
  readonly versions: readonly Record<string, unknown>[];
}

async function listed(name = 'echo'): Promise<Listed> {
  const { body } = await kit.ask(`GET /v1/artifacts/${name}`);
  return JSON.parse(Buffer.from(body, 'latin1').toString('utf8')) as Listed;
}

describe('the state of a version', () => {
  it('starts as active, and comes with the download', async () => {
    expect(await download()).toEqual([200, undefined]);
    expect(await put({ state: 'deprecated', reason: 'use echo 2' })).toBe('200');
    expect(await download()).toEqual([200, 'deprecated']);
    expect(await put({ state: 'yanked', reason: 'loses data' })).toBe('200');
    expect(await download()).toEqual([200, 'yanked']);
    expect(await put({ state: 'active' })).toBe('200');
    expect(await download()).toEqual([200, undefined]);
  });

  it('has a blocked version given to nobody, whole, in part or by its head', async () => {
    expect(await put({ state: 'blocked', reason: 'sends files away' })).toBe('200');
    const answer = await kit.ask('GET /v1/artifacts/echo/1.0.0');
    expect(answer.status).toBe(410);
    expect(JSON.parse(answer.body)).toEqual({ error: 'artifact is blocked: echo@1.0.0', message: 'sends files away' });
    const others = ['HEAD /v1/artifacts/echo/1.0.0', 'GET /v1/artifacts/echo/1.0.0?platform=linux-x86_64'];
    for (const line of others) expect((await kit.ask(line)).status).toBe(410);
    expect((await kit.ask('GET /v1/artifacts/echo/1.0.0', { headers: ['Range: bytes=0-1'] })).status).toBe(410);
    const archive = await toolArchive('echo', '1.0.0', 'other');
    expect((await kit.publish('name=echo&version=1.0.0&runtime=wasm', archive)).status).toBe(409);
  });

  it('stands in the index where it is not active, and in the list of versions with its reason', async () => {
    await put({ state: 'yanked', reason: 'verliert Ümlaute 🙈' });
    expect(await kit.index()).toMatchObject([{ name: 'echo', version: '1.0.0', state: 'yanked' }]);
    const { versions } = await listed();
    expect(versions).toMatchObject([
      {
        version: '1.0.0',
        state: 'yanked',
        reason: 'verliert Ümlaute 🙈',
        runtime: 'wasm',
        artifact_runtime: 'tool',
        archives: [{ platforms: [], size: expect.any(Number) as number, published_by: 'REGISTRY_API_KEY' }],
      },
    ]);
    expect(JSON.stringify(versions)).toMatch(/"published_at":"20\d\d-\d\d-\d\dT/);
    await put({ state: 'active' });
    expect(Object.keys(((await kit.index()) as object[])[0] ?? {})).not.toContain('state');
  });

  it('lists all versions and variants of one artifact, with a weak tag that follows its state', async () => {
    const variant = await toolArchive('echo', '1.0.0', 'for linux');
    await kit.publish('name=echo&version=1.0.0&runtime=wasm&platform=linux-x86_64', variant);
    await kit.publish('name=echo&version=1.1.0&runtime=wasm', await toolArchive('echo', '1.1.0'));
    await kit.publish('name=grep&version=1.0.0&runtime=wasm', await toolArchive('grep'));
    const { versions } = await listed();
    expect(versions.map(({ version }) => version)).toEqual(['1.0.0', '1.1.0']);
    expect(versions[0]).toMatchObject({ archives: [{ platforms: [] }, { platforms: [['linux', 'x86_64']] }] });
    const { headers } = await kit.ask('GET /v1/artifacts/echo');
    const tag = String(headers['etag']);
    expect(tag).toMatch(/^W\/"sha256:[0-9a-f]{64}"$/);
    const again = { headers: [`If-None-Match: ${tag}`] };
    expect((await kit.ask('GET /v1/artifacts/echo', again)).status).toBe(304);
    await put({ state: 'yanked', reason: 'x' });
    expect((await kit.ask('GET /v1/artifacts/echo', again)).status).toBe(200);
    expect(refusal(await kit.ask('GET /v1/artifacts/nothing'))).toBe('404 artifact not found: nothing');
    expect(refusal(await kit.ask('GET /v1/artifacts/echo?platform=linux-x86_64'))).toBe('400 unknown parameter');
  });

  it('fails where it is invalid, and where there is no such version', async () => {
    const invalid = [
      '',
      '[]',
      '{"state":"gone","reason":"x"}',
      '{"state":"yanked"}',
      '{"state":"yanked","reason":"a\\u0007b"}',
    ];
    for (const body of [...invalid, `{"state":"yanked","reason":"${'x'.repeat(501)}"}`]) {
      expect(await put(body), body).toBe('400 invalid state');
    }
    expect(await put({ state: 'yanked', reason: 'x' }, '1.0.1')).toBe('404 artifact not found: echo@1.0.1');
    expect(await put({ state: 'yanked', reason: 'x' }, '1.0.0%2F..')).toMatch(/^405 /);
    expect(await put(`{"state":"yanked","reason":"${'x'.repeat(20_000)}"}`)).toMatch(/^413 /);
    expect(await download()).toEqual([200, undefined]);
    expect(readdirSync(join(kit.data, 'states'))).toEqual([]);
  });

  it('goes to the store once for each change, and not again for the same', async () => {
    for (let round = 0; round < 3; round += 1) await put({ state: 'yanked', reason: 'x' });
    expect(readdirSync(join(kit.data, 'states'))).toEqual(['echo@1.0.0@1']);
    await put({ state: 'yanked', reason: 'y' });
    expect(readdirSync(join(kit.data, 'states')).sort()).toEqual(['echo@1.0.0@1', 'echo@1.0.0@2']);
  });

  it('reaches another server on the same store, and lasts over a restart', async () => {
    const other = await RegistryKit.open({ data: kit.data });
    expect(await download(other)).toEqual([200, undefined]);
    await put({ state: 'blocked', reason: 'x' });
    const later = await RegistryKit.open({ data: kit.data });
    expect((await download(later))[0]).toBe(410);
    await expect.poll(async () => (await download(other))[0], { timeout: 10_000 }).toBe(410);
    expect(await put({ state: 'active' }, '1.0.0', other)).toBe('200');
    expect(await download(other)).toEqual([200, undefined]);
  });

  it('keeps each change of two servers at once, and both agree on the last', async () => {
    const other = await RegistryKit.open({ data: kit.data });
    const changes = Array.from({ length: 12 }, async (_, index) => {
      return await put({ state: 'deprecated', reason: `reason ${index}` }, '1.0.0', index % 2 === 0 ? kit : other);
    });
    expect(new Set(await Promise.all(changes))).toEqual(new Set(['200']));
    expect(readdirSync(join(kit.data, 'states'))).toHaveLength(12);
    const last = readFileSync(join(kit.data, 'states', 'echo@1.0.0@12'), 'utf8');
    const { reason } = JSON.parse(last) as { reason: string };
    for (const each of [kit, other]) {
      const told = async (): Promise<unknown> => {
        const { body } = await each.ask('GET /v1/artifacts/echo');
        return (JSON.parse(body) as Listed).versions[0]?.['reason'];
      };
      await expect.poll(told, { timeout: 10_000 }).toBe(reason);
    }
  });

  it('hides its version when it is damaged, and svc-registry reports it', async () => {
    await put({ state: 'blocked', reason: 'x' });
    writeFileSync(join(kit.data, 'states', 'echo@1.0.0@1'), '{"state_version":1,"name":"echo","state":"active"}');
    const later = await RegistryKit.open({ data: kit.data });
    expect((await download(later))[0]).toBe(500);
    expect(later.faults.map(({ code }) => code)).toContain('E-REG-023');
  });
});
