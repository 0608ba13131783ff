import { existsSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { FileSignatures } from '../src/signature-store.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { ask } from '../../kit/test/http/raw-client.ts';
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
    for (const name of readdirSync(root)) utimesSync(join(root, name), at, at);
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

it('what lies among the signatures in files and is none is left alone', async () => {
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

  it('refuses a 17th signature', async () => {
    const kit = await RegistryKit.open();
    const archive = await toolArchive('echo');
    const line = `POST /v1/signatures/${sha256Hex(archive)}`;
    const statuses: number[] = [];
    // Each signature of a key is another one.
    for (let n = 0; n < 17; n += 1) {
      statuses.push((await kit.ask(line, { body: Buffer.from(await signedBy(acme, archive)) })).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 16 }, () => 201), 409]);
  });
});
