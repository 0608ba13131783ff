import { existsSync, readdirSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { beforeEach, describe, expect, it } from 'vitest';

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';
import { locate } from '../../src/store/locate.ts';
import { storeRoot } from '../../src/store/store-layout.ts';
import { loginOfToken } from '../../src/store/sources/oci/logins.ts';
import { archiveBytes, emptyPlaces, toolFiles } from '../store/artifacts.ts';
import { zipBytes } from '../store/zip-bytes.ts';
import { acme, trustingPlaces } from '../trust/trust-kit.ts';
import { echo, refusalOf } from './hostile-kit.ts';
import { digestOf, MemoryOci } from './memory-oci.ts';
import { accessWith, type AccessOptions, acmeOf, publishTo } from './oci-kit.ts';

let registry: MemoryOci;
let mirror: MemoryOci;
let places: StorePlaces;
let bytes: Buffer;
let warnings: Diagnostic[];

beforeEach(async () => {
  [registry, mirror] = [await MemoryOci.open(), await MemoryOci.open()];
  places = emptyPlaces();
  bytes = await archiveBytes(toolFiles('echo', '1.0.0', 'x'.repeat(300_000)));
  warnings = [];
});

async function install(options: AccessOptions = {}): ReturnType<typeof refusalOf> {
  const source = acmeOf(registry, accessWith({ mirror, warnings, ...options }));
  return await refusalOf(locate(echo, { ...places, sources: () => [source] }));
}

/** Gives the mirror all that the registry has. */
function copy(): void {
  for (const [digest, blob] of registry.blobs) mirror.blobs.set(digest, blob);
  for (const [key, document] of registry.manifests) {
    if (key.includes('@') || / sha256:/.test(key)) mirror.manifests.set(key.replace(/^acme/, 'copies'), document);
  }
}

const asked = ({ server }: MemoryOci): string[] =>
  server.lines.map((line) => line.replaceAll(/sha256:[0-9a-f]{64}/g, 'DIGEST'));

const isBlob = ({ url }: IncomingMessage): boolean => /\/blobs\//.test(url ?? '');

describe('the mirror of an OCI registry', () => {
  it('gives by digest what the source has named, and says nothing of tags', async () => {
    await publishTo(registry, bytes, { platforms: ['linux-x86_64'] });
    copy();
    const before = asked(registry).length;
    expect(await install()).toBe('stored');
    expect(asked(registry).slice(before)).toEqual(['GET /v2/acme/echo/manifests/1.0.0']);
    expect(asked(mirror)).toEqual(['GET /v2/copies/echo/manifests/DIGEST', 'GET /v2/copies/echo/blobs/DIGEST']);
    expect(warnings).toEqual([]);
  });

  it.each<[string, RegExp, () => void]>([
    ['has nothing', /does not have sha256:|404/, () => mirror.manifests.clear()],
    ['has the manifest alone', /404/, () => mirror.blobs.clear()],
    [
      'has other bytes of that size',
      /sends bytes of sha256:/,
      () => mirror.blobs.set(digestOf(bytes), Buffer.alloc(bytes.length)),
    ],
    [
      'has more bytes',
      /sends more than it announced/,
      () => mirror.blobs.set(digestOf(bytes), Buffer.concat([bytes, bytes])),
    ],
    [
      'has fewer bytes',
      /ends sha256:[0-9a-f]+ at byte 200000/,
      () => mirror.blobs.set(digestOf(bytes), bytes.subarray(0, 200_000)),
    ],
    [
      'has another document',
      /gives a document of sha256:/,
      () => {
        for (const [key, { type }] of mirror.manifests) mirror.manifests.set(key, { type, bytes: Buffer.from('{}') });
      },
    ],
    [
      'wants a login',
      /401/,
      () => (mirror.fault = (_, response) => (response.writeHead(401, { 'www-authenticate': 'Basic' }).end(), true)),
    ],
    [
      'redirects to itself',
      /redirects more than 5 times/,
      () => (mirror.fault = ({ url }, response) => (response.writeHead(307, { location: url }).end(), true)),
    ],
    [
      'cuts the connection',
      /ends sha256:[0-9a-f]+ at byte \d+/,
      () =>
        (mirror.fault = (request, response) => {
          if (!isBlob(request)) return false;
          response.writeHead(200, { 'content-length': bytes.length });
          response.write(bytes.subarray(0, 100_000), () => response.destroy());
          return true;
        }),
    ],
  ])('causes one report when it %s, and the rest comes from the source', async (_, why, spoil) => {
    await publishTo(registry, bytes, { platforms: ['linux-x86_64'] });
    copy();
    spoil();
    expect(await install()).toBe('stored');
    expect(warnings).toMatchObject([{ code: 'W-REG-008', message: expect.stringMatching(why) }]);
    expect(warnings[0]?.message).toContain(`the mirror oci://${mirror.host}/copies/echo is not used for oci://`);
    expect(readdirSync(storeRoot(places.manifestDir))).toEqual(['echo']);
  });

  it.each(['at once', 'in the middle of an archive'])(
    'loses its turn after the time of a request when it hangs %s',
    async (when) => {
      await publishTo(registry, bytes);
      copy();
      mirror.fault = (request: IncomingMessage, response: ServerResponse) => {
        if (when === 'in the middle of an archive' && isBlob(request)) {
          response.writeHead(200, { 'content-length': bytes.length });
          response.write(bytes.subarray(0, 100_000));
        }
        return true;
      };
      // The registry itself answers in time.
      expect(await install({ timeoutMs: 2000 })).toBe('stored');
      expect(warnings).toMatchObject([{ code: 'W-REG-008' }]);
    },
  );

  it('gets no blame where the command is interrupted', async () => {
    await publishTo(registry, bytes);
    copy();
    const interruption = new AbortController();
    mirror.fault = (request, response) => {
      if (!isBlob(request)) return false;
      response.writeHead(200, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, 100_000), () => interruption.abort());
      return true;
    };
    const refused = await install({ signal: interruption.signal });
    expect(refused).toMatchObject({ code: 'E-IO-003', message: expect.stringContaining('interrupted') });
    expect(warnings).toEqual([]);
  });

  it('leaves nothing behind when it lies as the source does', async () => {
    await publishTo(registry, bytes);
    copy();
    for (const each of [registry, mirror]) each.blobs.set(digestOf(bytes), Buffer.alloc(bytes.length));
    expect(await install()).toMatchObject({ code: 'E-REG-002' });
    expect(warnings).toMatchObject([{ code: 'W-REG-008' }]);
    const root = storeRoot(places.manifestDir);
    expect(existsSync(root) ? readdirSync(root) : []).toEqual([]);
  });

  it.each(['text/html', 'application/vnd.oci.image.index.v1+json'])('fails to pass a document as %s', async (type) => {
    await publishTo(registry, bytes, { platforms: ['linux-x86_64'] });
    copy();
    for (const [key, document] of mirror.manifests) mirror.manifests.set(key, { ...document, type });
    expect(await install()).toBe('stored');
  });

  it('sees nothing of what the source is shown', async () => {
    const login = loginOfToken(new Secret('ann:secret-of-ann'));
    await publishTo(registry, bytes);
    copy();
    for (const each of [registry, mirror]) {
      each.fault = ({ headers }, response) => {
        if (headers.authorization !== undefined) return false;
        response.writeHead(401, { 'www-authenticate': 'Basic realm="registry"' }).end();
        return true;
      };
    }
    expect(await install({ login: ({ host }) => (host === registry.host ? login : null) })).toBe('stored');
    expect(mirror.server.asked.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    expect(warnings).toMatchObject([{ code: 'W-REG-008' }]);
  });

  it('gets no question about signatures, because it could keep some back', async () => {
    await publishTo(registry, bytes, { platforms: ['linux-x86_64'], signatures: ['{"mediaType":"one"}'] });
    copy();
    const source = acmeOf(registry, accessWith({ mirror, warnings }));
    const archive = { ...echo, platform: 'linux-x86_64', sha256: digestOf(bytes).slice(7) };
    expect(await source.signatures(archive)).toEqual(['{"mediaType":"one"}']);
    expect(asked(mirror)).toEqual([]);
  });

  it('gets no blame for what the source does not say of signatures, nor another question for its archive', async () => {
    await publishTo(registry, bytes);
    copy();
    places = trustingPlaces(['{ names: ["*"], signed_by: { key: acme } }'], { keys: { acme } });
    registry.fault = ({ url }, response) => {
      if (!/\/referrers\//.test(url ?? '')) return false;
      response.writeHead(500).end();
      return true;
    };
    expect(await install()).toMatchObject({ code: 'E-IO-003', message: expect.stringContaining('refers to') });
    expect(warnings).toEqual([]);
    expect(asked(mirror).filter((line) => line.includes('/blobs/'))).toHaveLength(1);
  });

  it('gets no blame for genuine bytes that are not taken as an archive, which come once', async () => {
    bytes = zipBytes([{ name: 'svc.yaml', data: Buffer.from('name: echo') }], { entryCount: 0xfffe });
    await publishTo(registry, bytes);
    copy();
    const before = asked(registry).length;
    expect(await install()).toMatchObject({ code: 'E-ART-003' });
    expect(warnings).toEqual([]);
    expect([asked(mirror).length, asked(registry).length - before]).toEqual([1, 1]);
  });

  it('gets no more questions of the command once it has failed, and one warning', async () => {
    await publishTo(registry, bytes);
    copy();
    mirror.fault = (_, response) => (response.destroy(), true);
    const access = accessWith({ mirror, warnings });
    for (const each of [emptyPlaces(), emptyPlaces()]) {
      const sources = [acmeOf(registry, access)];
      expect(await refusalOf(locate(echo, { ...each, sources: () => sources }))).toBe('stored');
    }
    expect(asked(mirror)).toEqual(['GET /v2/copies/echo/blobs/DIGEST']);
    expect(warnings).toMatchObject([{ code: 'W-REG-008' }]);
  });
});
