import { createHash } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { RegistryKit, archiveWith, bareArchive, key, refusal, toolArchive } from './registry-kit.ts';

describe('publishing', () => {
  it('creates a version that is served from then on [D3-REG-01] [D3-REG-02] [D3-REG-03] [D3-REG-07] [D3-VER-01]', async () => {
    const kit = await RegistryKit.open();
    const archive = await toolArchive('echo');
    expect((await kit.ask('GET /v1/artifacts/echo/1.0.0')).status).toBe(404);
    expect((await kit.publish('name=echo&version=1.0.0&runtime=wasm', archive)).status).toBe(201);
    const { status, body } = await kit.ask('GET /v1/artifacts/echo/1.0.0');
    expect(status).toBe(200);
    expect(Buffer.from(body, 'latin1').equals(archive)).toBe(true);
    expect((await kit.ask('GET /artifacts/echo/1.0.0')).status).toBe(404);
  });

  it('answers 201 with the id and the hash of the bytes [D3-REG-08]', async () => {
    const kit = await RegistryKit.open();
    const archive = await toolArchive('echo');
    const response = await kit.publish('name=echo&version=1.0.0&runtime=wasm', archive);
    const sha256 = createHash('sha256').update(archive).digest('hex');
    expect(response.status).toBe(201);
    expect(response.headers['content-type']).toBe('application/json');
    expect(JSON.parse(response.body)).toEqual({ artifact_id: 'echo@1.0.0', sha256 });
    expect(kit.stored).toEqual(['echo@1.0.0@1', 'echo@1.0.0@1/archive.zip', 'echo@1.0.0@1/record.json']);
    expect(kit.staged).toEqual([]);
  });

  it.each(['latest', 'stable', 'edge'])(
    'refuses the reserved version %s with 422 and words that a client recognises [D3-REG-04] [D3-REG-11] [D3-REG-12] [D3-VER-02]',
    async (version) => {
      const kit = await RegistryKit.open();
      const response = await kit.publish(
        `name=echo&version=${version}&runtime=wasm`,
        await toolArchive('echo', version),
      );
      expect(refusal(response)).toBe('422 reserved artifact version is not allowed');
      expect(kit.stored).toEqual([]);
    },
  );

  it.each([
    ['version=1.0.0&runtime=wasm', '400 missing name'],
    ['name=echo&runtime=wasm', '400 missing version'],
    ['name=echo&version=1.0.0', '400 missing runtime'],
    ['name=&version=1.0.0&runtime=wasm', '400 invalid name'],
    ['name=Echo&version=1.0.0&runtime=wasm', '400 invalid name'],
    ['name=-echo&version=1.0.0&runtime=wasm', '400 invalid name'],
    ['name=../echo&version=1.0.0&runtime=wasm', '400 invalid name'],
    ['name=..%2Fecho&version=1.0.0&runtime=wasm', '400 invalid name'],
    ['name=e%00o&version=1.0.0&runtime=wasm', '400 invalid name'],
    [`name=${'e'.repeat(101)}&version=1.0.0&runtime=wasm`, '400 invalid name'],
    ['name=echo&name=echo&version=1.0.0&runtime=wasm', '400 invalid name'],
    ['name=echo&version=&runtime=wasm', '400 invalid version'],
    ['name=echo&version=1..0&runtime=wasm', '400 invalid version'],
    ['name=echo&version=../1&runtime=wasm', '400 invalid version'],
    ['name=echo&version=1/0&runtime=wasm', '400 invalid version'],
    ['name=echo&version=1%200&runtime=wasm', '400 invalid version'],
    ['name=echo&version=-1&runtime=wasm', '400 invalid version'],
    [`name=echo&version=${'1'.repeat(101)}&runtime=wasm`, '400 invalid version'],
    ['name=echo&version=1.0.0&version=1.0.0&runtime=wasm', '400 invalid version'],
    ['name=echo&version=1.0.0&runtime=tool', '400 invalid runtime'],
    ['name=echo&version=1.0.0&runtime=WASM', '400 invalid runtime'],
    ['name=echo&version=1.0.0&runtime=wasm&platform=linux', '400 invalid platform'],
    ['name=echo&version=1.0.0&runtime=wasm&platform=', '400 invalid platform'],
    ['name=echo&version=1.0.0&runtime=wasm&platform=linux-x86-64', '400 invalid platform'],
    ['name=echo&version=1.0.0&runtime=wasm&platform=linux-x86_64&platform=../a-b', '400 invalid platform'],
    [`name=echo&version=1.0.0&runtime=wasm&platform=linux-${'x'.repeat(59)}`, '400 invalid platform'],
    ['name=echo&version=1.0.0&runtime=wasm&platfrom=linux-x86_64', '400 unknown parameter'],
    ['name=echo&version=1.0.0&runtime=wasm&__proto__=1', '400 unknown parameter'],
    ['name=%E0%A4&version=1.0.0&runtime=wasm', '400 invalid query'],
  ])(
    'answers ?%s with %s and stores nothing [D3-REG-04] [D3-REG-05] [D3-REG-06] [D3-REG-09]',
    async (query, expected) => {
      const kit = await RegistryKit.open();
      expect(refusal(await kit.publish(query, await toolArchive('echo')))).toBe(expected);
      expect([kit.stored, kit.staged]).toEqual([[], []]);
    },
  );

  it('answers a wrong query before it asks for the body', async () => {
    const kit = await RegistryKit.open();
    const headers = ['Expect: 100-continue', 'Content-Length: 1000'];
    const response = await kit.ask('POST /v1/artifacts?name=echo&version=1.0.0', { headers });
    expect([response.status, response.head.includes('100 Continue')]).toEqual([400, false]);
  });

  it.each(['1.0.0+linux.5', '1.0.0%2Blinux.5'])('takes a plus sign in version=%s as one', async (version) => {
    const kit = await RegistryKit.open();
    const archive = await toolArchive('echo', '1.0.0+linux.5');
    const { status, body } = await kit.publish(`name=echo&version=${version}&runtime=wasm`, archive);
    expect([status, (JSON.parse(body) as { artifact_id: string }).artifact_id]).toEqual([201, 'echo@1.0.0+linux.5']);
    expect((await kit.ask(`GET /v1/artifacts/echo/${version}`)).status).toBe(200);
  });

  it.each(['wasm', 'native', 'static'])('takes the runtime %s [D3-REG-05]', async (runtime) => {
    const kit = await RegistryKit.open();
    expect((await kit.publish(`name=notes&version=1&runtime=${runtime}`, await bareArchive())).status).toBe(201);
    expect(await kit.index()).toMatchObject([{ name: 'notes', version: '1', runtime }]);
  });
});

describe('publishing an existing version', () => {
  it('gives 409, with other bytes too, and changes nothing [D3-REG-10] [D3-VER-05]', async () => {
    const kit = await RegistryKit.open();
    const [first, second] = [await toolArchive('echo'), await toolArchive('echo', '1.0.0', 'other')];
    const query = 'name=echo&version=1.0.0&runtime=wasm';
    await kit.publish(query, first);
    expect(refusal(await kit.publish(query, first))).toBe('409 artifact already exists: echo@1.0.0');
    expect(refusal(await kit.publish(query, second))).toBe('409 artifact already exists: echo@1.0.0');
    const { body } = await kit.ask('GET /v1/artifacts/echo/1.0.0');
    expect(Buffer.from(body, 'latin1').equals(first)).toBe(true);
    expect(kit.stored).toHaveLength(3);
  });

  it('fails before the body is asked for', async () => {
    const kit = await RegistryKit.open();
    const query = 'name=echo&version=1.0.0&runtime=wasm';
    await kit.publish(query, await toolArchive('echo'));
    const headers = ['Expect: 100-continue', 'Content-Length: 1000'];
    const response = await kit.ask(`POST /v1/artifacts?${query}`, { headers });
    expect([response.status, response.head.includes('100 Continue')]).toEqual([409, false]);
  });

  it('reaches a client that sends a large body without asking', async () => {
    const kit = await RegistryKit.open({ maxBytes: 100 * 1024 * 1024 });
    const query = 'name=echo&version=1.0.0&runtime=wasm';
    await kit.publish(query, await toolArchive('echo'));
    const response = await fetch(`http://127.0.0.1:${kit.port}/v1/artifacts?${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: Buffer.alloc(80 * 1024 * 1024),
    });
    expect([response.status, await response.json()]).toEqual([
      409,
      { error: 'artifact already exists: echo@1.0.0', message: expect.any(String) as string },
    ]);
  });

  it('another version or name of the same bytes is something else', async () => {
    const kit = await RegistryKit.open();
    const bare = await bareArchive();
    const queries = [
      'name=a&version=1.0&runtime=static',
      'name=a&version=1&runtime=static',
      'name=b&version=1&runtime=static',
    ];
    for (const query of queries) expect((await kit.publish(query, bare)).status).toBe(201);
    expect(refusal(await kit.publish('name=a&version=1.0&runtime=static', bare))).toBe(
      '409 artifact already exists: a@1.0',
    );
  });

  it('versions that differ in case alone are two', async () => {
    const kit = await RegistryKit.open();
    const [upper, lower] = [await toolArchive('echo', '1.0.0-RC1'), await toolArchive('echo', '1.0.0-rc1', 'other')];
    expect((await kit.publish('name=echo&version=1.0.0-RC1&runtime=wasm', upper)).status).toBe(201);
    expect((await kit.publish('name=echo&version=1.0.0-rc1&runtime=wasm', lower)).status).toBe(201);
    expect(refusal(await kit.publish('name=echo&version=1.0.0-RC1&runtime=wasm', upper))).toBe(
      '409 artifact already exists: echo@1.0.0-RC1',
    );
    const download = await kit.ask('GET /v1/artifacts/echo/1.0.0-RC1');
    expect(Buffer.from(download.body, 'latin1').equals(upper)).toBe(true);
    expect(refusal(await kit.ask('GET /v1/artifacts/echo/1.0.0-Rc1'))).toBe('404 artifact not found: echo@1.0.0-Rc1');
  });
});

describe('platform variants', () => {
  const query = 'name=echo&version=1.0.0&runtime=native';

  it('can be published one by one or several at once, each once [D3-REG-06]', async () => {
    const kit = await RegistryKit.open();
    const variant = async (content: string): Promise<Buffer> => await toolArchive('echo', '1.0.0', content);
    const two = `${query}&platform=linux-x86_64&platform=linux-aarch64&platform=linux-x86_64`;
    expect((await kit.publish(two, await variant('linux'))).status).toBe(201);
    expect((await kit.publish(`${query}&platform=darwin-aarch64`, await variant('darwin'))).status).toBe(201);
    expect((await kit.publish(query, await variant('generic'))).status).toBe(201);
    const overlapping = `${query}&platform=freebsd-x86_64&platform=linux-aarch64`;
    expect(refusal(await kit.publish(overlapping, await variant('late')))).toBe(
      '409 artifact already exists: echo@1.0.0 for linux-aarch64',
    );
    expect(refusal(await kit.publish(query, await variant('late')))).toBe('409 artifact already exists: echo@1.0.0');
    expect(await kit.index()).toMatchObject([
      {
        platforms: [
          ['darwin', 'aarch64'],
          ['linux', 'aarch64'],
          ['linux', 'x86_64'],
        ],
      },
    ]);
  });

  it('agree in runtime and role, or are 400', async () => {
    const kit = await RegistryKit.open();
    await kit.publish(`${query}&platform=linux-x86_64`, await toolArchive('echo'));
    const other = `name=echo&version=1.0.0&runtime=wasm&platform=linux-aarch64`;
    expect(refusal(await kit.publish(other, await toolArchive('echo')))).toBe(
      '400 runtime differs from the other variants of echo@1.0.0',
    );
    const skill = await archiveWith({ name: 'echo', version: '1.0.0', runtime: 'skill' });
    expect(refusal(await kit.publish(`${query}&platform=linux-aarch64`, skill))).toBe(
      '400 artifact_runtime differs from the other variants of echo@1.0.0',
    );
    expect(kit.stored).toHaveLength(3);
    expect(kit.staged).toEqual([]);
  });

  it('number at most 64 at once', async () => {
    const kit = await RegistryKit.open();
    const platforms = (count: number): string =>
      Array.from({ length: count }, (_, index) => `&platform=os${index}-x86_64`).join('');
    const archive = await toolArchive('echo');
    expect(refusal(await kit.publish(query + platforms(65), archive))).toBe('400 invalid platform');
    expect((await kit.publish(query + platforms(64), archive)).status).toBe(201);
  });
});

describe('the manifest in an archive', () => {
  const query = 'name=echo&version=1.0.0&runtime=wasm';

  it.each([
    [{ name: 'other', version: '1.0.0', runtime: 'tool' }, '400 the archive is of another artifact'],
    [{ name: 'echo', version: '1.0.1', runtime: 'tool' }, '400 the archive is of another artifact'],
    [{ name: 'echo', version: '1.0', runtime: 'tool' }, '400 invalid manifest'],
    [{ name: 'echo', version: '1.0.0', runtime: 'capsule' }, '400 invalid manifest'],
    [{ name: 'echo', version: '1.0.0', runtime: 'tool', tags: 'a' }, '400 invalid manifest'],
    [{ name: 'echo', version: '1.0.0\nname: echo', runtime: 'tool' }, '400 invalid manifest'],
    [{ name: '"', version: '1.0.0', runtime: 'tool' }, '400 invalid manifest'],
    [{ version: '1.0.0', runtime: 'tool' }, '400 invalid manifest'],
  ])('%j is answered %s [D3-REG-09]', async (keys, expected) => {
    const kit = await RegistryKit.open();
    expect(refusal(await kit.publish(query, await archiveWith(keys)))).toBe(expected);
    expect([kit.stored, kit.staged]).toEqual([[], []]);
  });

  it('may have keys that are not the registry’s business, as that of a capsule', async () => {
    const kit = await RegistryKit.open();
    const archive = await archiveWith({ name: 'echo', version: '1.0.0', inference: '{ model: m }', future: '1' });
    expect((await kit.publish(query, archive)).status).toBe(201);
  });
});
