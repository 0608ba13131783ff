import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { RegistryKit, refusal, toolArchive } from './registry-kit.ts';

let kit: RegistryKit;
let archive: Buffer;
let sha256 = '';

beforeEach(async () => {
  kit = await RegistryKit.open();
  archive = await toolArchive('echo', '1.0.0', 'x'.repeat(100_000));
  sha256 = createHash('sha256').update(archive).digest('hex');
  await kit.publish('name=echo&version=1.0.0&runtime=wasm', archive);
});

describe('a download', () => {
  it('gives the bytes with their hash and length [D3-REG-13] [D3-REG-16]', async () => {
    const response = await kit.ask('GET /v1/artifacts/echo/1.0.0');
    expect(response.status).toBe(200);
    expect(response.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'x-svc-sha256': sha256,
      'content-length': String(archive.length),
      etag: `"sha256:${sha256}"`,
      'accept-ranges': 'bytes',
    });
    expect(Buffer.from(response.body, 'latin1').equals(archive)).toBe(true);
  });

  it('with HEAD has no ranges', async () => {
    for (const range of ['bytes=0-3', 'bytes=999999999-']) {
      const { status, headers } = await kit.ask('HEAD /v1/artifacts/echo/1.0.0', { headers: [`Range: ${range}`] });
      expect([status, headers['content-length'], headers['content-range']]).toEqual([
        200,
        String(archive.length),
        undefined,
      ]);
    }
  });

  it('gives the variant for the platform, else the generic file, without a platform always that [D3-REG-14] [D3-REG-15]', async () => {
    const linux = await toolArchive('echo', '1.0.0', 'linux');
    await kit.publish('name=echo&version=1.0.0&runtime=wasm&platform=linux-x86_64&platform=linux-aarch64', linux);
    const length = async (query: string): Promise<string | undefined> =>
      (await kit.ask(`GET /v1/artifacts/echo/1.0.0${query}`)).headers['content-length'];
    expect(await length('?platform=linux-x86_64')).toBe(String(linux.length));
    expect(await length('?platform=linux-aarch64')).toBe(String(linux.length));
    expect(await length('?platform=darwin-aarch64')).toBe(String(archive.length));
    expect(await length('')).toBe(String(archive.length));
    expect(linux.length).not.toBe(archive.length);
  });

  it('gives 404 for a missing file, naming the platform of the request [D3-REG-18] [D3-REG-19]', async () => {
    const native = await toolArchive('native');
    await kit.publish('name=native&version=1.0.0&runtime=native&platform=linux-x86_64', native);
    expect(refusal(await kit.ask('GET /v1/artifacts/native/1.0.0?platform=darwin-aarch64'))).toBe(
      '404 artifact not found: native@1.0.0 for platform darwin-aarch64',
    );
    expect(refusal(await kit.ask('GET /v1/artifacts/native/1.0.0'))).toBe('404 artifact not found: native@1.0.0');
    expect(refusal(await kit.ask('GET /v1/artifacts/echo/1.0.1'))).toBe('404 artifact not found: echo@1.0.1');
    expect(refusal(await kit.ask('GET /v1/artifacts/other/1.0.0'))).toBe('404 artifact not found: other@1.0.0');
  });

  it.each([
    '/v1/artifacts/../echo/1.0.0',
    '/v1/artifacts/./echo/1.0.0',
    '/v1/artifacts//echo/1.0.0',
    '/v1/artifacts/echo//1.0.0',
    '/v1/artifacts/echo/1.0.0/',
    '/v1/artifacts/echo%2F1.0.0',
    '/v1/artifacts/echo%2f1.0.0/x',
    '/v1/artifacts/echo/..%2F..%2Fecho@1.0.0@1%2Farchive.zip',
    '/v1/artifacts/%2e%2e/1.0.0',
    '/v1/artifacts/..%2Fecho/1.0.0',
    '/v1/artifacts/echo/1.0.0%00',
    '/v1/artifacts/echo/%2e%2e',
    '/v1/artifacts/echo/1.0.0%',
    '/v1/artifacts/echo/1.0.0%C3',
    '/v1/artifacts/echo/%2531.0.0',
    '/v1/artifacts/echo/latest',
    '/v1/artifacts/echo/1.0.0@1',
    '/v1/artifacts/ECHO/1.0.0',
    '/v1/artifacts/',
    `/v1/artifacts/${'e'.repeat(5_000)}/1.0.0`,
  ])('gives 404 for %s: svc-registry checks the shape of a path and never normalises it', async (path) => {
    expect(refusal(await kit.ask(`GET ${path}`))).toBe('404 artifact not found: no artifact has this path');
    expect(kit.faults).toEqual([]);
  });

  it.each([
    'platform=',
    'platform=linux',
    'platform=..%2F',
    'platform=a-b&platform=a-b',
    'plattform=a-b',
    'platform=%FF',
  ])('gives 400 with ?%s', async (query) => {
    expect((await kit.ask(`GET /v1/artifacts/echo/1.0.0?${query}`)).status).toBe(400);
  });

  it('works with the escapes a client may use', async () => {
    expect((await kit.ask('GET /v1/artifacts/%65cho/1%2E0%2e0')).status).toBe(200);
  });

  it('takes GET and HEAD alone, and HEAD gets the length without the bytes', async () => {
    const head = await kit.ask('HEAD /v1/artifacts/echo/1.0.0');
    expect(head).toMatchObject({ status: 200, body: '' });
    expect(head.headers).toMatchObject({ 'content-length': String(archive.length), 'x-svc-sha256': sha256 });
    for (const method of ['PUT', 'DELETE', 'POST', 'PATCH']) {
      const response = await kit.ask(`${method} /v1/artifacts/echo/1.0.0`);
      expect([response.status, response.headers['allow']]).toEqual([405, 'GET, HEAD']);
    }
    for (const method of ['DELETE', 'POST', 'PATCH']) {
      const response = await kit.ask(`${method} /v1/artifacts/echo/1.0.0/state`);
      expect([response.status, response.headers['allow']]).toEqual([405, 'PUT']);
    }
  });

  it('gives 500 and no bug for an archive that somebody removed from the store', async () => {
    rmSync(join(kit.data, 'objects', 'echo@1.0.0@1', 'archive.zip'));
    expect(refusal(await kit.ask('GET /v1/artifacts/echo/1.0.0'))).toBe('500 archive_missing');
    expect(kit.bugs).toEqual([]);
  });
});

describe('a conditional download', () => {
  it.each(['*', '"sha256:HASH"', 'W/"sha256:HASH"', '"a", "sha256:HASH"'])(
    'with If-None-Match: %s gives 304 without the bytes',
    async (value) => {
      const headers = [`If-None-Match: ${value.replace('HASH', sha256)}`];
      const response = await kit.ask('GET /v1/artifacts/echo/1.0.0', { headers });
      expect([response.status, response.body, response.headers['etag']]).toEqual([304, '', `"sha256:${sha256}"`]);
    },
  );

  it('gives the whole with the tag of other bytes', async () => {
    const headers = [`If-None-Match: "sha256:${'0'.repeat(64)}", HASH`];
    expect((await kit.ask('GET /v1/artifacts/echo/1.0.0', { headers })).status).toBe(200);
  });
});

describe('a part of a download', () => {
  it.each([
    ['bytes=0-0', 0, 0],
    ['bytes=10-19', 10, 19],
    ['bytes=100000-', 100_000, -1],
    ['bytes=-7', -7, -1],
    ['bytes=5-999999999', 5, -1],
    ['bytes=-999999999', 0, -1],
  ])('with Range: %s gives 206 with those bytes and the hash of the whole', async (range, first, last) => {
    const from = first < 0 ? archive.length + first : first;
    const to = last < 0 ? archive.length + last : last;
    const response = await kit.ask('GET /v1/artifacts/echo/1.0.0', { headers: [`Range: ${range}`] });
    expect(response.status).toBe(206);
    expect(response.headers).toMatchObject({
      'content-range': `bytes ${from}-${to}/${archive.length}`,
      'content-length': String(to - from + 1),
      'x-svc-sha256': sha256,
    });
    expect(Buffer.from(response.body, 'latin1').equals(archive.subarray(from, to + 1))).toBe(true);
  });

  it.each(['bytes=-0', 'bytes=999999999-', 'bytes=999999999-1000000000'])('with Range: %s gives 416', async (range) => {
    const response = await kit.ask('GET /v1/artifacts/echo/1.0.0', { headers: [`Range: ${range}`] });
    expect([response.status, response.headers['content-range']]).toEqual([416, `bytes */${archive.length}`]);
  });

  it.each(['bytes=0-1,3-4', 'bytes=2-1', 'bytes=a-b', 'lines=1-2', 'bytes', 'bytes=-'])(
    'with Range: %s gives the whole',
    async (range) => {
      const response = await kit.ask('GET /v1/artifacts/echo/1.0.0', { headers: [`Range: ${range}`] });
      expect([response.status, response.headers['content-length']]).toEqual([200, String(archive.length)]);
    },
  );

  it('arrives only while the client has the same file (If-Range)', async () => {
    const part = async (tag: string): Promise<number> => {
      const headers = ['Range: bytes=0-1', `If-Range: ${tag}`];
      return (await kit.ask('GET /v1/artifacts/echo/1.0.0', { headers })).status;
    };
    expect(await part(`"sha256:${sha256}"`)).toBe(206);
    expect(await part(`"sha256:${'0'.repeat(64)}"`)).toBe(200);
  });
});
