import type { IncomingMessage, ServerResponse } from 'node:http';

import { beforeEach, describe, expect, it } from 'vitest';

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { loginOfToken } from '../../src/store/sources/oci/logins.ts';
import { archiveBytes, toolFiles } from '../store/artifacts.ts';
import { echo, refusalOf } from './hostile-kit.ts';
import { digestOf, MemoryOci } from './memory-oci.ts';
import { accessWith, acmeOf, publishTo } from './oci-kit.ts';
import { StandInServer } from './stand-in-server.ts';

let registry: MemoryOci;
let bytes: Buffer;

beforeEach(async () => {
  registry = await MemoryOci.open();
  bytes = await archiveBytes(toolFiles('echo'));
});

const isUpload = ({ url = '' }: IncomingMessage): boolean => url.includes('/blobs/uploads/');

/** Answers as the registry does, except for the status of some requests. */
function withStatus(
  method: string,
  part: string,
  status: number,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    if (request.method !== method || request.url?.includes(part) !== true) return false;
    const write = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
    response.writeHead = (_: number, ...rest: unknown[]) => write(status, ...rest);
    return false;
  };
}

/** What a registry with a limit for pieces refuses a larger one with. `sizes` has those that it took. */
function limited(maxBytes: number, status: number, body: string, sizes: number[] = []): MemoryOci['fault'] {
  return (request, response) => {
    const size = Number(request.headers['content-length']);
    if (request.method !== 'PATCH') return false;
    if (size <= maxBytes) {
      sizes.push(size);
      return false;
    }
    request.resume().once('end', () => response.writeHead(status, { 'content-type': 'application/json' }).end(body));
    return true;
  };
}

const tooLarge = '{"errors":[{"code":"SIZE_INVALID","message":"the request body is larger than allowed"}]}';

describe('an upload to an OCI registry', () => {
  it.each([
    ['PATCH', '/blobs/uploads/', 200],
    ['PATCH', '/blobs/uploads/', 201],
    ['PATCH', '/blobs/uploads/', 204],
    ['PUT', '/blobs/uploads/', 200],
    ['PUT', '/blobs/uploads/', 202],
    ['PUT', '/blobs/uploads/', 204],
    ['POST', '/blobs/uploads/', 201],
    ['PUT', '/manifests/', 200],
    ['PUT', '/manifests/', 202],
    ['HEAD', '/blobs/sha256:', 400],
    ['HEAD', '/blobs/sha256:', 403],
    ['HEAD', '/blobs/sha256:', 405],
  ])('succeeds where %s %s is answered with %i', async (method, part, status) => {
    registry.fault = withStatus(method, part, status);
    await publishTo(registry, bytes);
    expect(registry.blobs.get(digestOf(bytes))?.equals(bytes)).toBe(true);
    expect(registry.manifests.has('acme/echo 1.0.0')).toBe(true);
  });

  it.each([401, 429, 500])('ends with the status of a HEAD that says more: %i', async (status) => {
    registry.fault = withStatus('HEAD', '/blobs/sha256:', status);
    expect(await refusalOf(publishTo(registry, bytes))).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringContaining(`does not say whether it has`),
    });
  });

  it.each([
    [413, ''],
    [416, tooLarge],
  ])('goes on with smaller pieces after %i', async (status, body) => {
    const large = Buffer.alloc(5 * 1024 * 1024 + 7, 'svc');
    const sizes: number[] = [];
    registry.fault = limited(1024 * 1024, status, body, sizes);
    await publishTo(registry, large);
    expect(registry.blobs.get(digestOf(large))?.equals(large)).toBe(true);
    // The config comes first; the first piece of the archive was tried with 4 and 2 MiB.
    expect(sizes.slice(1)).toEqual([...Array.from({ length: 5 }, () => 1024 * 1024), 7]);
  });

  it.each([413, 416])('ends in the words of a registry that takes no piece: %i', async (status) => {
    registry.fault = limited(200, status, tooLarge);
    const refusal = await refusalOf(publishTo(registry, Buffer.alloc(300_000, 'x')));
    expect(refusal).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(/ \(41[36]\): SIZE_INVALID: the request body is larger than allowed$/),
    });
    expect(registry.server.lines.filter((line) => line.startsWith('PATCH')).length).toBeLessThan(10);
  });

  it('asks where it is after 416 without a reason, as after a piece that was lost', async () => {
    let pieces = 0;
    registry.fault = (request, response) => {
      if (request.method !== 'PATCH' || ++pieces !== 2) return false;
      request.resume().once('end', () => response.writeHead(416).end());
      return true;
    };
    const large = Buffer.alloc(5 * 1024 * 1024, 'svc');
    await publishTo(registry, large);
    expect(registry.blobs.get(digestOf(large))?.equals(large)).toBe(true);
    expect(pieces).toBe(4);
  });

  it('goes on at the last place where a piece is answered without one', async () => {
    registry.fault = (request, response) => {
      if (request.method !== 'PATCH') return false;
      const write = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
      response.writeHead = (status: number) => write(status);
      return false;
    };
    const large = Buffer.alloc(5 * 1024 * 1024, 'svc');
    await publishTo(registry, large);
    expect(registry.blobs.get(digestOf(large))?.equals(large)).toBe(true);
  });

  it.each([
    ['POST', undefined, 'E-IO-003', 'does not say where to send what it takes (202)'],
    ['POST', 'ftp://example.com/x', 'E-REG-027', 'redirects to ftp://example.com/x, which is no https address'],
    ['PATCH', 'ftp://example.com/x', 'E-REG-027', 'redirects to ftp://example.com/x, which is no https address'],
    ['GET', 'ftp://example.com/x', 'E-REG-027', 'redirects to ftp://example.com/x, which is no https address'],
    ['GET', 'range', 'E-IO-003', 'says that it has more than it was sent'],
  ])('lets go of the connection where %s leads to %s', async (method, location, code, words) => {
    const gone = new Promise((resolve) => {
      registry.fault = (request, response) => {
        if (method === 'GET' && request.method === 'PATCH') {
          request.resume().once('end', () => response.writeHead(416).end());
          return true;
        }
        if (request.method !== method || !isUpload(request)) return false;
        request.socket.once('close', resolve);
        const place = location === 'range' ? { range: '0-99999999' } : location === undefined ? {} : { location };
        // Without an end: who does not let go waits for it.
        request.resume().once('end', () => response.writeHead(202, { ...place, 'content-length': 1 }).flushHeaders());
        return true;
      };
    });
    const refusal = await refusalOf(publishTo(registry, bytes));
    expect(refusal).toMatchObject({ code, message: expect.stringContaining(words) });
    await gone;
  });

  it.each([
    ['{"errors":[{"code":"DENIED","message":"no quota"},{"code":"X","message":"y"}]}', 'DENIED: no quota; X: y'],
    ['{"errors":[{"code":"DENIED","detail":"no quota"}]}', 'DENIED: no quota'],
    ['{"message":"no quota"}', 'no quota'],
    ['{"details":"no quota"}', 'no quota'],
  ])('fails in the words of the registry: %s', async (body, words) => {
    registry.fault = ({ method }, response) => {
      if (method !== 'POST') return false;
      response.writeHead(403, { 'content-type': 'application/json' }).end(body);
      return true;
    };
    expect(await refusalOf(publishTo(registry, bytes))).toMatchObject({
      message: `oci://${registry.host}/acme/echo takes nothing (403): ${words}`,
    });
  });
});

describe('a client of an OCI registry', () => {
  const login = loginOfToken(new Secret('ann:secret-of-ann'));

  it.each([
    ['beside another one', (realm: string) => `Basic realm="r", Bearer realm="${realm}",service="s"`],
    ['before another one', (realm: string) => `Bearer realm="${realm}",service="s", Basic realm="r"`],
    ['without quotes', (realm: string) => `Bearer realm=${realm},service=s`],
    ['with spaces, in other letters', (realm: string) => `BEARER Realm = "${realm}" , Service = "s"`],
  ])('answers a challenge %s', async (_how, challenge) => {
    const service = await StandInServer.open((_, response) => response.end('{"token":"T"}'));
    registry.fault = (request, response) => {
      if (request.headers.authorization === 'Bearer T') return false;
      response.writeHead(401, { 'www-authenticate': challenge(`${service.url}/token`) }).end();
      return true;
    };
    registry.put('acme/echo', 'application/vnd.oci.image.manifest.v1+json', {}, '1.0.0');
    // It is no artifact, which who got in sees.
    expect(await refusalOf(acmeOf(registry).fetch(echo, 'linux-x86_64'))).toMatchObject({ code: 'E-ART-005' });
    expect(service.lines).toEqual(['GET /token?service=s&scope=repository%3Aacme%2Fecho%3Apull']);
  });

  it('waits no longer once the command is interrupted', async () => {
    const interruption = new AbortController();
    registry.fault = ({ socket }, response) => {
      socket.once('close', () => interruption.abort());
      response.writeHead(429, { 'retry-after': '30' }).end();
      return true;
    };
    const source = acmeOf(registry, accessWith({ signal: interruption.signal }));
    expect(await refusalOf(source.fetch(echo, 'linux-x86_64'))).toMatchObject({
      message: `oci://${registry.host}/acme/echo: interrupted`,
    });
    expect(registry.server.lines).toHaveLength(1);
  });

  it('answers with a password beside schemes that it does not know', async () => {
    const pair = Buffer.from('ann:secret-of-ann').toString('base64');
    registry.fault = (request, response) => {
      if (request.headers.authorization === `Basic ${pair}`) return false;
      response.writeHead(401, { 'www-authenticate': ['Negotiate', 'basic realm=r'] }).end();
      return true;
    };
    const source = acmeOf(registry, accessWith({ login: () => login }));
    expect(await source.fetch(echo, 'linux-x86_64')).toBe(null);
  });
});
