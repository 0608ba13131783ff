import { existsSync, readdirSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { beforeEach, describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { HttpClient } from '@svc/kit/net/http-client.ts';
import { locate } from '../../src/store/locate.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';
import { archiveType, configType } from '../../src/store/sources/oci/archive-manifest.ts';
import { indexType, manifestType } from '../../src/store/sources/oci/documents.ts';
import { loginOfToken, type OciLogin } from '../../src/store/sources/oci/logins.ts';
import { fetchReference, type OciAccess, OciSource } from '../../src/store/sources/oci/oci-source.ts';
import { ociAddress, parseOciReference } from '../../src/manifest/oci-reference.ts';
import { storeRoot } from '../../src/store/store-layout.ts';
import { archiveBytes, emptyPlaces, toolFiles } from '../store/artifacts.ts';
import { echo, refusalOf } from './hostile-kit.ts';
import { digestOf, MemoryOci } from './memory-oci.ts';
import { StandInServer } from './stand-in-server.ts';

let registry: MemoryOci;
let places: StorePlaces;
let bytes: Buffer;
const facts = { runtime: 'tool', packaging: 'wasm' };

beforeEach(async () => {
  registry = await MemoryOci.open();
  places = emptyPlaces();
  bytes = await archiveBytes(toolFiles('echo'));
});

function access(login: OciLogin | null = null, timeoutMs = 30_000): OciAccess {
  return { http: new HttpClient({ timeoutMs }), login: () => Promise.resolve(login) };
}

function source(login?: OciLogin): OciSource {
  return new OciSource(ociAddress(`oci://${registry.host}/acme`), access(login));
}

interface PublishOptions {
  readonly platforms?: readonly string[];
  readonly signatures?: readonly string[];
  readonly login?: OciLogin;
}

async function publish(
  archive: Buffer = bytes,
  { platforms = [], signatures = [], login }: PublishOptions = {},
): Promise<void> {
  const body = { bytes: archive.length, chunks: () => [archive] };
  const sha256 = digestOf(archive).slice('sha256:'.length);
  await source(login).publish({ ...echo, ...facts, platforms, signatures, sha256, body });
}

async function install(login?: OciLogin): ReturnType<typeof refusalOf> {
  return await refusalOf(locate(echo, { ...places, sources: () => [source(login)] }));
}

function stored(): string[] {
  return existsSync(storeRoot(places.manifestDir)) ? readdirSync(storeRoot(places.manifestDir)) : [];
}

/** One archive under a tag, as another publisher could have put it there. */
function putArchive(archive: Buffer, { size = archive.length, digest = digestOf(archive) } = {}): string {
  const config = Buffer.from('{}');
  registry.blobs.set(digest, archive);
  return registry.put(
    'acme/echo',
    manifestType,
    {
      schemaVersion: 2,
      mediaType: manifestType,
      config: { mediaType: configType, digest: digestOf(config), size: config.length },
      layers: [{ mediaType: archiveType, digest, size }],
    },
    '1.0.0',
  );
}

const isBlob = ({ url, method }: IncomingMessage): boolean => method === 'GET' && /\/blobs\/sha256:/.test(url ?? '');

describe('an OCI registry', () => {
  it('gives what was published to it, and never anything else under the same version', async () => {
    await publish();
    expect(await install()).toBe('stored');
    expect(stored()).toEqual(['echo']);
    expect(await refusalOf(publish())).toMatchObject({ code: 'E-REG-003' });
    const other = await archiveBytes(toolFiles('echo', '1.0.0', 'other'));
    expect(await refusalOf(publish(other))).toMatchObject({ code: 'E-REG-003' });
  });

  it('gives the same digest for the same archive, whenever it is published', async () => {
    await publish();
    const first = registry.manifests.get('acme/echo 1.0.0')?.bytes;
    registry = await MemoryOci.open();
    await publish();
    expect(registry.manifests.get('acme/echo 1.0.0')?.bytes).toEqual(first);
  });

  it('has variants beside the generic file, and gives the one for the platform', async () => {
    const variant = await archiveBytes(toolFiles('echo', '1.0.0', 'arm'));
    await publish();
    await publish(variant, { platforms: ['linux-aarch64'] });
    expect(await refusalOf(publish(variant, { platforms: ['linux-aarch64'] }))).toMatchObject({
      code: 'E-REG-003',
      message: expect.stringContaining('echo@1.0.0 for linux-aarch64 is published already'),
    });
    const index = JSON.parse(String(registry.manifests.get('acme/echo 1.0.0')?.bytes));
    expect(index.manifests.map((each: { platform?: object }) => each.platform ?? null)).toEqual([
      null,
      { os: 'linux', architecture: 'arm64' },
    ]);
    const given = async (platform: string): Promise<readonly [string | null, string | null]> => {
      const fetched = await source().fetch(echo, platform);
      fetched?.discard();
      return [fetched?.platform ?? null, fetched?.sha256 ?? null];
    };
    expect(await given('linux-aarch64')).toEqual(['linux-aarch64', digestOf(variant).slice(7)]);
    expect(await given('linux-x86_64')).toEqual([null, digestOf(bytes).slice(7)]);
  });

  it.each(['lists what refers to it', 'keeps no such list'])(
    '%s, and gives the signatures of an archive',
    async (how) => {
      registry.listsReferrers = how.startsWith('lists');
      const bundles = ['{"mediaType":"one"}', '{"mediaType":"two"}'];
      await publish(bytes, { signatures: bundles });
      const variant = await archiveBytes(toolFiles('echo', '1.0.0', 'arm'));
      await publish(variant, { platforms: ['linux-aarch64'], signatures: ['{"mediaType":"arm"}'] });
      const signaturesOf = async (archive: Buffer): Promise<readonly string[]> =>
        (await source().signatures({ ...echo, sha256: digestOf(archive).slice(7) })).toSorted();
      expect(await signaturesOf(bytes)).toEqual(bundles);
      expect(await signaturesOf(variant)).toEqual(['{"mediaType":"arm"}']);
      expect(await signaturesOf(Buffer.from('other'))).toEqual([]);
      expect([...registry.manifests.keys()].some((key) => /sha256-/.test(key))).toBe(!registry.listsReferrers);
    },
  );

  it('has the signatures before the version has its tag', async () => {
    registry.fault = ({ method, url }, response) => {
      if (method !== 'PUT' || url?.endsWith('/manifests/1.0.0') !== true) return false;
      response.writeHead(500).end();
      return true;
    };
    const bundle = '{"mediaType":"one"}';
    expect(await refusalOf(publish(bytes, { signatures: [bundle] }))).toMatchObject({ code: 'E-IO-003' });
    expect(registry.blobs.get(digestOf(Buffer.from(bundle)))?.toString()).toBe(bundle);
  });

  it('shows one of two publishers at the same time that the other was there', async () => {
    const other = await archiveBytes(toolFiles('echo', '1.0.0', 'other'));
    let isFirst = true;
    registry.fault = ({ method, url }, response) => {
      if (method === 'PUT' && url?.endsWith('/manifests/1.0.0') === true && isFirst) {
        isFirst = false;
        // The other one is quicker by as much as nobody can see.
        response.once('finish', () => putArchive(other));
      }
      return false;
    };
    expect(await refusalOf(publish())).toMatchObject({
      code: 'E-REG-003',
      message: expect.stringContaining('by somebody else at the same time'),
    });
  });

  it.each([
    [
      'another archive than its digest says',
      () => putArchive(Buffer.from('other'), { digest: digestOf(bytes), size: 5 }),
      'E-REG-002',
    ],
    ['more bytes than it announced', () => putArchive(bytes, { size: bytes.length - 1 }), 'E-REG-002'],
    ['an archive that is too large', () => putArchive(bytes, { size: 513 * 1024 * 1024 }), 'E-ART-003'],
    ['an archive of something else', () => putArchive(Buffer.from('no zip')), 'E-ART-001'],
    [
      'an image',
      () =>
        registry.put(
          'acme/echo',
          manifestType,
          {
            schemaVersion: 2,
            config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: digestOf(bytes), size: 1 },
            layers: [],
          },
          '1.0.0',
        ),
      'E-ART-005',
    ],
    [
      'an index of documents that it lacks',
      () =>
        registry.put(
          'acme/echo',
          indexType,
          { schemaVersion: 2, manifests: [{ mediaType: manifestType, digest: digestOf(bytes), size: 1 }] },
          '1.0.0',
        ),
      'E-REG-002',
    ],
    [
      'a document of 5 MiB',
      () => registry.put('acme/echo', manifestType, { pad: 'x'.repeat(5 * 1024 * 1024) }, '1.0.0'),
      'E-ART-003',
    ],
    [
      'no JSON',
      () => void registry.manifests.set('acme/echo 1.0.0', { type: manifestType, bytes: Buffer.from('<html>') }),
      'E-ART-005',
    ],
  ])('fails when it gives %s, and nothing is stored', async (_, put, code) => {
    put();
    expect(await install()).toMatchObject({ code });
    expect(stored()).toEqual([]);
  });

  it('fails when it gives another document for a digest', async () => {
    const digest = putArchive(bytes);
    registry.manifests.set(`acme/echo ${digest}`, { type: manifestType, bytes: Buffer.from('{}') });
    const reference = parseOciReference(`oci://${registry.host}/acme/echo@${digest}`);
    expect(await refusalOf(fetchReference(reference, 'linux-x86_64', access()))).toMatchObject({ code: 'E-REG-002' });
  });

  it('fails when its tag was moved and both tag and digest are named', async () => {
    const digest = putArchive(bytes);
    const reference = parseOciReference(`oci://${registry.host}/acme/echo:1.0.0@${digest}`);
    expect((await fetchReference(reference, 'linux-x86_64', access())).sha256).toBe(digestOf(bytes).slice(7));
    putArchive(await archiveBytes(toolFiles('echo', '1.0.0', 'moved')));
    expect(await refusalOf(fetchReference(reference, 'linux-x86_64', access()))).toMatchObject({ code: 'E-REG-002' });
  });
});

describe('a connection to an OCI registry that is cut', () => {
  it('opens again where it was, at whatever byte', async () => {
    const large = Buffer.alloc(2_000_000, 'svc');
    putArchive(large);
    let cuts = 0;
    registry.fault = (request, response) => {
      if (!isBlob(request) || cuts >= 20) return false;
      cuts += 1;
      const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
      const rest = large.subarray(from);
      response.writeHead(from === 0 ? 200 : 206, { 'content-length': rest.length });
      response.write(rest.subarray(0, 65_536 + cuts * 7), () => response.destroy());
      return true;
    };
    const fetched = await source().fetch(echo, 'linux-x86_64');
    const got: Uint8Array[] = [];
    for await (const piece of fetched?.bytes ?? []) got.push(piece);
    expect(Buffer.concat(got).equals(large)).toBe(true);
    expect(cuts).toBe(20);
  });

  it('ends after four in a row that brought nothing', async () => {
    putArchive(bytes);
    let asked = 0;
    registry.fault = (request, response) => {
      if (!isBlob(request)) return false;
      asked += 1;
      response.writeHead(200, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, 1), () => response.destroy());
      return true;
    };
    expect(await install()).toMatchObject({ code: 'E-IO-003' });
    expect(asked).toBe(4);
    expect(stored()).toEqual([]);
  });

  it('loses no piece of what is sent: the registry is asked how far it got', async () => {
    const large = Buffer.alloc(20 * 1024 * 1024, 'svc');
    let pieces = 0;
    registry.fault = (request) => {
      if (request.method !== 'PATCH') return false;
      pieces += 1;
      if (pieces !== 2) return false;
      request.once('data', () => request.destroy());
      return true;
    };
    await publish(large);
    expect(registry.blobs.get(digestOf(large))?.equals(large)).toBe(true);
    // The config, five of the archive, and the one that was lost.
    expect(pieces).toBe(7);
  });
});

describe('the login for an OCI registry', () => {
  const pair = Buffer.from('ann:secret-of-ann').toString('base64');
  const login = loginOfToken(new Secret('ann:secret-of-ann'));
  const asksBasic =
    (seen: (string | undefined)[] = []) =>
    (request: IncomingMessage, response: ServerResponse): boolean => {
      seen.push(request.headers.authorization);
      if (request.headers.authorization === `Basic ${pair}`) return false;
      response.writeHead(401, { 'www-authenticate': 'Basic realm="registry"' }).end();
      return true;
    };

  it('appears when it is asked for, and in no message', async () => {
    registry.fault = asksBasic();
    await publish(bytes, { login });
    expect(await install(login)).toBe('stored');
    const refused = await refusalOf(source().fetch(echo, 'linux-x86_64'));
    expect(refused).toMatchObject({ code: 'E-IO-003', hint: expect.stringContaining(`docker login ${registry.host}`) });
    expect(JSON.stringify(refused)).not.toContain('secret');
  });

  it('holds no connection that asked for it where it cannot be had', async () => {
    const gone = new Promise((resolve) => {
      registry.fault = (request, response) => {
        request.socket.once('close', resolve);
        response.writeHead(401, { 'www-authenticate': 'Basic realm="registry"' }).write('{');
        return true;
      };
    });
    const noLogin = { ...access(null, 600_000), login: () => Promise.reject(new Diagnostic('E-REG-006', 'no helper')) };
    const asked = new OciSource(ociAddress(`oci://${registry.host}/acme`), noLogin).fetch(echo, 'linux-x86_64');
    expect(await refusalOf(asked)).toMatchObject({ code: 'E-REG-006' });
    await gone;
  });

  it('buys a token for just this repository and this action', async () => {
    const service = await StandInServer.open((request, response) => {
      const isAnn = request.headers.authorization === `Basic ${pair}`;
      response.writeHead(isAnn ? 200 : 401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ token: `for ${request.url}`.replaceAll(/[^!-~]/g, '-') }));
    });
    registry.fault = (request, response) => {
      if (request.headers.authorization?.startsWith('Bearer for-') === true) return false;
      const realm = `Bearer realm="${service.url}/token",service="registry.example",scope="ignored"`;
      response.writeHead(401, { 'www-authenticate': realm }).end();
      return true;
    };
    await publish(bytes, { login });
    expect(await install(login)).toBe('stored');
    expect(service.lines).toEqual([
      'GET /token?service=registry.example&scope=repository%3Aacme%2Fecho%3Apull%2Cpush',
      'GET /token?service=registry.example&scope=repository%3Aacme%2Fecho%3Apull',
    ]);
  });

  it('does not go where a redirect leads', async () => {
    const seen: (string | undefined)[] = [];
    const elsewhere = await StandInServer.open((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
    });
    putArchive(bytes);
    const asks = asksBasic();
    registry.fault = (request, response) => {
      if (asks(request, response)) return true;
      if (!isBlob(request)) return false;
      response.writeHead(307, { location: `${elsewhere.url}/bytes` }).end();
      return true;
    };
    expect(await install(login)).toBe('stored');
    expect(seen).toEqual([undefined]);
  });

  it.each([
    ['asks for it', () => 'Basic realm="registry"'],
    ['names a token service', (own: string) => `Bearer realm="${own}/token",service="registry.example"`],
  ])('does not go where a redirect or an upload leads, which %s', async (_, challengeOf) => {
    const elsewhere: StandInServer = await StandInServer.open((__, response) => {
      response.writeHead(401, { 'www-authenticate': challengeOf(elsewhere.url) }).end();
    });
    const asks = asksBasic();
    let led: (request: IncomingMessage) => boolean = isBlob;
    registry.fault = (request, response) => {
      if (asks(request, response)) return true;
      if (!led(request)) return false;
      response.writeHead(request.method === 'POST' ? 202 : 307, { location: `${elsewhere.url}/bytes` }).end();
      return true;
    };
    putArchive(bytes);
    expect(await install(login)).toMatchObject({ code: 'E-IO-003' });
    registry.manifests.clear();
    led = ({ method }) => method === 'POST';
    expect(await refusalOf(publish(Buffer.from('other'), { login }))).toMatchObject({ code: 'E-IO-003' });
    expect(elsewhere.lines).toEqual(['GET /bytes', 'PATCH /bytes']);
    expect(elsewhere.asked.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
  });

  it.each(['ftp://evil.example/token', 'http://evil.example/token', 'nonsense'])(
    'goes to no token service without TLS elsewhere: %s',
    async (realm) => {
      registry.fault = (_, response) => {
        response.writeHead(401, { 'www-authenticate': `Bearer realm="${realm}"` }).end();
        return true;
      };
      expect(await install(login)).toMatchObject({ code: expect.stringMatching(/^E-(REG-027|IO-003)$/) });
    },
  );
});
