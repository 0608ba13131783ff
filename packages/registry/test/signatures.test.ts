import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { FileSignatures } from '../src/signature-store.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { ask, type RawResponse } from '../../kit/test/http/raw-client.ts';
import { acme, signedBy, stranger } from '../../artifacts/test/trust/trust-kit.ts';
import { refusal, RegistryKit, toolArchive } from './registry-kit.ts';
import { openOn } from './s3-kit.ts';
import { S3StandIn } from './s3-stand-in.ts';
import { signatureStoreContract } from './signature-store-contract.ts';

signatureStoreContract('files', async () => {
  const data = temporaryDirectory();
  const age = (ms: number): void => {
    const root = join(data, 'signatures');
    const at = new Date(Date.now() - ms);
    for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' })) utimesSync(join(root, path), at, at);
  };
  return Promise.resolve({ store: () => Promise.resolve(new FileSignatures(data)), age });
});

signatureStoreContract('S3, on a stand-in', async () => {
  const standIn = await S3StandIn.start();
  const age = (ms: number): void => {
    for (const kept of standIn.objects.values()) kept.changed = new Date(Date.now() - ms);
  };
  return { store: async () => (await openOn(standIn)).store.signatures, age };
});

it('the store of signatures in files leaves a file alone that is no signature', async () => {
  const data = temporaryDirectory();
  const store = new FileSignatures(data);
  const sha256 = sha256Hex('x');
  await store.put(sha256, '{}');
  writeFileSync(join(data, 'signatures', sha256, '.svc-tmp-left'), 'half');
  writeFileSync(join(data, 'signatures', 'README'), 'x');
  expect(await store.read(sha256)).toEqual(['{}']);
  await store.sweep(() => false);
  expect(existsSync(join(data, 'signatures', 'README'))).toBe(true);
});

/** How many the list of versions says that there are, for each archive. */
async function signaturesOf(kit: RegistryKit, name: string): Promise<number[]> {
  const { versions } = JSON.parse((await kit.ask(`GET /v1/artifacts/${name}`)).body) as {
    versions: { archives: { signatures: number }[] }[];
  };
  return versions.flatMap(({ archives }) => archives.map(({ signatures }) => signatures));
}

describe('a registry', () => {
  it('keeps a signature before the archive, and gives it out after, one a line', async () => {
    const kit = await RegistryKit.open();
    const archive = await toolArchive('echo');
    const sha256 = sha256Hex(archive);
    expect(refusal(await kit.ask(`GET /v1/signatures/${sha256}`))).toBe('404 no signature for this archive');
    const bundle = await signedBy(acme, archive);
    const spread = JSON.stringify(JSON.parse(bundle), null, 2);
    const body = Buffer.from(spread);
    const post = `POST /v1/signatures/${sha256}`;
    expect(await kit.ask(post, { body })).toMatchObject({ status: 201, body: `{"sha256":"${sha256}"}` });
    expect((await kit.ask(post, { body: Buffer.from(bundle) })).status).toBe(200);
    expect(await kit.index()).toEqual([]);
    expect((await kit.publish('name=echo&version=1.0.0&runtime=wasm', archive)).status).toBe(201);
    const given = await kit.ask(`GET /v1/signatures/${sha256}`);
    expect(given).toMatchObject({ status: 200, body: `${bundle}\n` });
    expect(given.headers['content-type']).toBe('application/jsonl');
    expect(await signaturesOf(kit, 'echo')).toEqual([1]);
    expect((await kit.ask(post, { body: Buffer.from(await signedBy(stranger, archive)) })).status).toBe(201);
    expect(await signaturesOf(kit, 'echo')).toEqual([2]);
    expect(kit.faults).toEqual([]);
  });

  it('asks for the key', async () => {
    const kit = await RegistryKit.open();
    const sha256 = sha256Hex('x');
    for (const line of [`GET /v1/signatures/${sha256}`, `POST /v1/signatures/${sha256}`]) {
      expect((await ask(kit.port, `${line} HTTP/1.1`, {})).status).toBe(401);
    }
  });

  it.each([
    ['no text', () => Buffer.from([0xff, 0xfe]), '400 invalid signature'],
    ['no JSON', () => Buffer.from('{'), '400 invalid signature'],
    ['no bundle', () => Buffer.from('{"a":1}'), '400 invalid signature'],
    ['nothing', () => Buffer.alloc(0), '400 invalid signature'],
    [
      'two bundles',
      async () => Buffer.from(`${await signedBy(acme, Buffer.from('x'))}\n`.repeat(2)),
      '400 invalid signature',
    ],
    [
      'a bundle of other bytes',
      async () => Buffer.from(await signedBy(acme, Buffer.from('y'))),
      '400 the signature is of another archive',
    ],
    ['more than 64 KiB', () => Buffer.alloc(64 * 1024 + 1, ' '), '413 body_too_large'],
  ])('refuses %s', async (_, body, expected) => {
    const kit = await RegistryKit.open();
    const response = await kit.ask(`POST /v1/signatures/${sha256Hex('x')}`, { body: await body() });
    expect(refusal(response)).toBe(expected);
    expect(existsSync(join(kit.data, 'signatures'))).toBe(false);
  });

  it.each(['x', 'A'.repeat(64), `${'a'.repeat(64)}/x`, `..%2f${'a'.repeat(64)}`, `${'a'.repeat(64)}?a=1`])(
    'has no signatures at %s',
    async (path) => {
      const kit = await RegistryKit.open();
      expect((await kit.ask(`GET /v1/signatures/${path}`)).status).toBe(404);
    },
  );

  it('takes a 17th signature in the place of the oldest', async () => {
    const kit = await RegistryKit.open();
    const archive = await toolArchive('echo');
    const line = `POST /v1/signatures/${sha256Hex(archive)}`;
    const statuses: number[] = [];
    // Each signature of a key is another one.
    for (let n = 0; n < 17; n += 1) {
      statuses.push((await kit.ask(line, { body: Buffer.from(await signedBy(acme, archive)) })).status);
    }
    expect(statuses).toEqual(Array.from({ length: 17 }, () => 201));
    expect((await given(kit, archive)).length).toBe(16);
  });

  it('takes signatures of what is published from those alone who may publish it, whatever was brought before', async () => {
    const hash = (text: string): string => sha256Hex(text);
    const keysFile = join(temporaryDirectory(), 'keys.json');
    const keys = [
      { id: 'owner', sha256: hash('owner-key'), publish: ['echo'] },
      { id: 'other', sha256: hash('other-key'), publish: ['other'] },
    ];
    writeFileSync(keysFile, JSON.stringify({ keys }));
    const kit = await RegistryKit.open({ keysFile });
    const archive = await toolArchive('echo');
    const post = async (as: string, body: string): Promise<RawResponse> => {
      const headers = [`Authorization: Bearer ${as}-key`];
      const line = `POST /v1/signatures/${sha256Hex(archive)} HTTP/1.1`;
      return await ask(kit.port, line, { headers, body: Buffer.from(body) });
    };
    for (let n = 0; n < 16; n += 1) expect((await post('other', await signedBy(stranger, archive))).status).toBe(201);
    const own = await signedBy(acme, archive);
    expect((await post('owner', own)).status).toBe(201);
    expect((await kit.publish('name=echo&version=1.0.0&runtime=wasm', archive)).status).toBe(201);
    const refused = await post('other', await signedBy(stranger, archive));
    expect([refusal(refused), refused.body]).toEqual([
      '403 forbidden',
      expect.stringContaining('The key other may not bring signatures of this archive.'),
    ]);
    expect((await post('owner', own)).status).toBe(200);
    const bundles = await given(kit, archive);
    expect([bundles.length, bundles.includes(own)]).toEqual([16, true]);
  });

  it.each([
    ['cannot be understood', (record: string) => writeFileSync(record, '{}')],
    ['is missing', (record: string) => rmSync(record)],
  ])('sweeps no signature while a record %s', async (_, damage) => {
    const data = temporaryDirectory();
    const before = await RegistryKit.open({ data });
    const archive = await toolArchive('echo');
    await before.ask(`POST /v1/signatures/${sha256Hex(archive)}`, { body: Buffer.from(await signedBy(acme, archive)) });
    expect((await before.publish('name=echo&version=1.0.0&runtime=wasm', archive)).status).toBe(201);
    const at = new Date(Date.now() - 25 * 60 * 60 * 1000);
    utimesSync(join(data, 'signatures', sha256Hex(archive)), at, at);
    const record = join(data, 'objects', 'echo@1.0.0@1', 'record.json');
    const text = readFileSync(record);
    damage(record);
    const damaged = await RegistryKit.open({ data });
    await damaged.sweepSignatures();
    expect(await given(damaged, archive)).toHaveLength(1);
    writeFileSync(record, text);
    await (await RegistryKit.open({ data })).sweepSignatures();
    expect(await given(damaged, archive)).toHaveLength(1);
    rmSync(join(data, 'objects', 'echo@1.0.0@1'), { recursive: true });
    await (await RegistryKit.open({ data })).sweepSignatures();
    expect(await given(damaged, archive)).toEqual([]);
  });
});

/** The bundles that a registry gives out for an archive. */
async function given(kit: RegistryKit, archive: Buffer): Promise<string[]> {
  const { status, body } = await kit.ask(`GET /v1/signatures/${sha256Hex(archive)}`);
  return status === 404 ? [] : body.trim().split('\n');
}
