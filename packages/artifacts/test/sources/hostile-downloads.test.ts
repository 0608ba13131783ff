import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { locate } from '../../src/store/locate.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';
import { storeRoot } from '../../src/store/store-layout.ts';
import { archiveBytes, emptyPlaces, toolFiles } from '../store/artifacts.ts';
import { client, echo, key, rawServer, refusalOf } from './hostile-kit.ts';
import { type Answer, json, StandInServer } from './stand-in-server.ts';

let bytes: Buffer;
let sha256: string;
let places: StorePlaces;
beforeEach(async () => {
  bytes = await archiveBytes(toolFiles('echo'));
  sha256 = createHash('sha256').update(bytes).digest('hex');
  places = emptyPlaces();
});

/** How `svc install` ends with a registry that answers like this: a code and a sentence, and what is in the store then. */
async function install(
  answer: Answer,
  settings?: { timeoutMs?: number; keyed?: boolean },
): Promise<Diagnostic | 'stored'> {
  const server = await StandInServer.open(answer);
  return await refusalOf(locate(echo, { ...places, sources: () => [client(server.url, settings)] }));
}

function stored(): string[] {
  return existsSync(storeRoot(places.manifestDir)) ? readdirSync(storeRoot(places.manifestDir)) : [];
}

/** An archive, sent as a test has it; the question for the generic file is answered as any registry would. */
function download(send: (response: ServerResponse) => void): Answer {
  return (_, response) => send(response);
}

const whole = (headers: Readonly<Record<string, string>>): Answer =>
  download((response) => response.writeHead(200, headers).end(bytes));

describe('a registry whose download', () => {
  it('keeps to D3 gets its bytes stored', async () => {
    expect(await install(whole({ 'x-svc-sha256': sha256 }))).toBe('stored');
    expect(stored()).toEqual(['echo']);
  });

  it.each([
    ['names no hash [D3-REG-20]', {}, /^the registry http:\S+ names no hash for echo@1\.0\.0 \(header x-svc-sha256\)$/],
    ['names something else for a hash [D3-REG-20]', { 'x-svc-sha256': 'abc' }, /names something that is not a hash/],
    [
      'has another hash than it names [D3-REG-21, D3-ERR-22]',
      { 'x-svc-sha256': '0'.repeat(64) },
      / sent bytes with sha256 /,
    ],
  ])('%s is refused, and nothing is stored', async (_, headers, message) => {
    expect(await install(whole(headers))).toMatchObject({
      code: 'E-REG-002',
      message: expect.stringMatching(message) as string,
    });
    expect(stored()).toEqual([]);
  });

  it('ends too early gets nothing stored', async () => {
    const cut = download((response) => {
      response.writeHead(200, { 'x-svc-sha256': sha256, 'content-length': String(bytes.length) });
      response.write(bytes.subarray(0, 100), () => response.destroy());
    });
    expect(await install(cut)).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(/: the connection was closed before everything had gone over it/) as string,
    });
    expect(stored()).toEqual([]);
  });

  it('ends early without having said how long it is has another hash', async () => {
    const short = download((response) => {
      response.writeHead(200, { 'x-svc-sha256': sha256 }).end(bytes.subarray(0, 100));
    });
    expect(await install(short)).toMatchObject({ code: 'E-REG-002' });
    expect(stored()).toEqual([]);
  });

  it('goes on after the length it announced is read to that length alone', async () => {
    const port = await rawServer(
      `HTTP/1.1 200 OK\r\nx-svc-sha256: ${sha256}\r\ncontent-length: ${bytes.length}\r\n\r\n`,
      Buffer.concat([bytes, Buffer.from('and more')]),
    );
    expect(await refusalOf(locate(echo, { ...places, sources: () => [client(`http://127.0.0.1:${port}`)] }))).toBe(
      'stored',
    );
    expect(stored()).toEqual(['echo']);
  });

  it('announces more than an archive may have is not read', async () => {
    const huge = whole({ 'x-svc-sha256': sha256, 'content-length': String(600 * 1024 * 1024) });
    expect(await install(huge)).toMatchObject({
      code: 'E-ART-003',
      message: expect.stringMatching(/ is larger than 512 MiB$/) as string,
    });
    expect(stored()).toEqual([]);
  });

  it('has an encoding fails', async () => {
    const encoded = whole({ 'x-svc-sha256': sha256, 'content-encoding': 'gzip' });
    expect(await install(encoded)).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(/answers in the encoding gzip/) as string,
    });
    expect(stored()).toEqual([]);
  });

  it('has no archive, or that of another artifact, fails', async () => {
    const answering = (body: Buffer): Answer =>
      download((response) => {
        const hash = createHash('sha256').update(body).digest('hex');
        response.writeHead(200, { 'x-svc-sha256': hash }).end(body);
      });
    expect(await install(answering(Buffer.from('no archive')))).toMatchObject({ code: 'E-ART-001' });
    expect(await install(answering(await archiveBytes(toolFiles('other'))))).toMatchObject({ code: 'E-ART-005' });
    expect(stored()).toEqual([]);
  });

  it('comes drop by drop is given up when its time is over [D3-LIMIT-01]', async () => {
    const drip = download((response) => {
      response.writeHead(200, { 'x-svc-sha256': sha256, 'content-length': String(bytes.length) });
      let sent = 0;
      const timer = setInterval(() => response.write(bytes.subarray(sent, (sent += 1))), 10);
      response.on('close', () => clearInterval(timer));
    });
    expect(await install(drip, { timeoutMs: 2000 })).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(/ was given up after 2 seconds, with \d+ of \d+ bytes received$/) as string,
      hint: 'such a request may take 2 seconds in all; try again later, or on a faster line',
    });
    expect(stored()).toEqual([]);
  });

  it('never begins is given up when its time is over [D3-LIMIT-01]', async () => {
    expect(await install(() => undefined, { timeoutMs: 200 })).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(/ was given up after 0\.2 seconds$/) as string,
    });
  });
});

describe('a download of other bytes than svc.lock records', () => {
  it('fails before a byte of it is read', async () => {
    mkdirSync(places.manifestDir, { recursive: true });
    const locked = { ...echo, sha256: 'a'.repeat(64) };
    writeFileSync(join(places.manifestDir, 'svc.lock'), JSON.stringify({ lock_version: 1, artifacts: [locked] }));
    // The body never comes.
    const stalled: Answer = (_, response) => {
      response.writeHead(200, { 'x-svc-sha256': sha256, 'content-length': '1000' }).flushHeaders();
    };
    const refusal = await install(stalled, { timeoutMs: 5000 });
    expect(refusal).toMatchObject({
      code: 'E-REG-005',
      message: expect.stringMatching(
        / serves echo@1\.0\.0 with sha256 [0-9a-f]{64}, but svc\.lock records a{64}$/,
      ) as string,
    });
    expect(stored()).toEqual([]);
  });
});

describe('which variant a download is', () => {
  const platformOf = async (generic: Answer, etag?: string): Promise<string | null> => {
    const server = await StandInServer.open((request, response) => {
      const headers = { 'x-svc-sha256': sha256, ...(etag === undefined ? {} : { etag }) };
      if (request.url?.includes('platform=') === true) response.writeHead(200, headers).end(bytes);
      else generic(request, response);
    });
    const { stored: found } = await locate(echo, { ...places, sources: () => [client(server.url)] });
    expect(server.asked[1]?.headers['if-none-match']).toBe(etag);
    return found.platform;
  };

  it('depends on whether the generic file is another', async () => {
    expect(await platformOf(json(404, { error: 'artifact not found' }))).toBe('linux-x86_64');
  });

  it.each([
    [
      'has the same hash',
      null,
      (hash: string): Answer =>
        (_, response) =>
          response.writeHead(200, { 'x-svc-sha256': hash }).end('unread'),
    ],
    ['has not changed', '"tag"', (): Answer => (_, response) => response.writeHead(304).end()],
  ])('falls to the generic one when that %s', async (_, etag, answer) => {
    expect(await platformOf(answer(sha256), etag ?? undefined)).toBe(null);
  });

  it('falls to the one for the platform when the generic one has another hash', async () => {
    const other: Answer = (_, response) => response.writeHead(200, { 'x-svc-sha256': '0'.repeat(64) }).end('unread');
    expect(await platformOf(other)).toBe('linux-x86_64');
  });

  it('stays unknown while a registry fails', async () => {
    expect(await refusalOf(platformOf(json(500, { error: 'io_error' })))).toMatchObject({ code: 'E-IO-003' });
    expect(stored()).toEqual([]);
  });
});

describe('a registry that answers a download with', () => {
  it.each([
    [401, { error: 'unauthorized' }, 'E-IO-003', /\(401\): unauthorized$/],
    [403, { error: 'forbidden' }, 'E-IO-003', /\(403\): forbidden$/],
    [
      404,
      { error: 'artifact not found' },
      'E-REG-001',
      /^echo@1\.0\.0 for linux-x86_64 is not in .*, the source http:/,
    ],
    [400, { error: 'invalid platform' }, 'E-IO-003', /\(400\): invalid platform$/],
    [500, 'not an object', 'E-IO-003', /\(500\)$/],
    [204, null, 'E-IO-003', /\(204\)$/],
  ])(
    '%i is mapped to its code [D3-ERR-21, D3-ERR-22, D3-ERR-24, D3-REG-17, D3-REG-18, D1-ERR-10]',
    async (status, body, code, message) => {
      expect(await install(json(status, body))).toMatchObject({
        code,
        message: expect.stringMatching(message) as string,
      });
      expect(stored()).toEqual([]);
    },
  );

  it.each([401, 403])(
    '%i has the key variable and the address in its advice [D3-AUTH-03, D3-AUTH-04]',
    async (status) => {
      const answer = json(status, { error: 'unauthorized' });
      expect(await install(answer)).toMatchObject({
        code: 'E-IO-003',
        hint: expect.stringMatching(/^check that REGISTRY_API_KEY is the key for http:\/\/127\.0\.0\.1:\d+$/) as string,
      });
      expect(await install(answer, { keyed: false })).toMatchObject({
        code: 'E-IO-003',
        hint: expect.stringMatching(/^set REGISTRY_API_KEY to the key for http:\/\/127\.0\.0\.1:\d+$/) as string,
      });
    },
  );

  it('a redirect to storage that refuses says so, and nothing of the key', async () => {
    const storage = await StandInServer.open(json(403, { error: 'AccessDenied' }));
    const { port } = storage;
    const refusal = await install(download((response) => response.writeHead(307, { location: storage.url }).end()));
    expect(refusal).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(
        new RegExp(`does not give echo@1\\.0\\.0 \\(403 from 127\\.0\\.0\\.1:${port}\\): AccessDenied$`),
      ) as string,
      hint: expect.stringMatching(/^it led to \S+, its storage, where no login of yours counts: /) as string,
    });
  });

  it('its own words shows them without control characters and without the key', async () => {
    const answer = json(500, { error: `\u001B[2J${key} is not welcome`, message: 'x'.repeat(1000) });
    const refusal = await install(answer);
    expect(refusal).toMatchObject({
      message: expect.stringMatching(/\(500\): \\u\{1b\}\[2J\[secret\] is not welcome\. x+$/) as string,
    });
    expect(String(refusal)).not.toContain(key);
    expect(String(refusal).length).toBeLessThan(500);
  });

  it('a question about the platform in its query, and the key in its header [D3-AUTH-01, D3-REG-13, D3-REG-14, D3-VER-01]', async () => {
    const server = await StandInServer.open(json(404, { error: 'artifact not found' }));
    await refusalOf(locate({ name: 'echo', version: '1.0.0+b' }, { ...places, sources: () => [client(server.url)] }));
    expect(server.lines).toEqual(['GET /v1/artifacts/echo/1.0.0%2Bb?platform=linux-x86_64']);
    expect(server.asked[0]?.headers).toMatchObject({ authorization: `Bearer ${key}`, 'accept-encoding': 'identity' });
  });
});

describe('a redirect', () => {
  it('to another host loses the key', async () => {
    const other = await StandInServer.open(whole({ 'x-svc-sha256': sha256 }));
    const answer: Answer = (request, response) =>
      response.writeHead(307, { location: `${other.url}/elsewhere${request.url}` }).end();
    expect(await install(answer)).toBe('stored');
    expect(other.lines[0]).toBe('GET /elsewhere/v1/artifacts/echo/1.0.0?platform=linux-x86_64');
    expect(other.asked.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
  });

  it('to the same host keeps the key', async () => {
    const server = await StandInServer.open((request, response) => {
      if (request.url?.startsWith('/v1') === true) response.writeHead(302, { location: '/moved' }).end();
      else response.writeHead(200, { 'x-svc-sha256': sha256 }).end(bytes);
    });
    expect(await refusalOf(locate(echo, { ...places, sources: () => [client(server.url)] }))).toBe('stored');
    expect(server.asked[1]?.headers.authorization).toBe(`Bearer ${key}`);
  });

  it.each(['http://example.com/x', 'ftp://127.0.0.1/x', 'file:///etc/passwd', 'http://'])(
    'to %s ends the download',
    async (location) => {
      const answer: Answer = (_, response) => response.writeHead(302, { location }).end();
      expect(await install(answer)).toMatchObject({
        code: 'E-REG-027',
        message: expect.stringMatching(/ redirects to .*, which is no https address$/) as string,
      });
    },
  );

  it('away and back again goes without the key from then on', async () => {
    const home = await StandInServer.open((request, response) => {
      if (request.url?.startsWith('/v1') === true) response.writeHead(302, { location: `${away.url}/x` }).end();
      else response.writeHead(200, { 'x-svc-sha256': sha256 }).end(bytes);
    });
    const away = await StandInServer.open((_, response) =>
      response.writeHead(302, { location: `${home.url}/y` }).end(),
    );
    expect(await refusalOf(locate(echo, { ...places, sources: () => [client(home.url)] }))).toBe('stored');
    const back = home.asked.filter(({ headers }) => headers.authorization === undefined);
    expect(back.length).toBeGreaterThan(0);
    expect(home.lines.filter((line) => line === 'GET /y')).toHaveLength(back.length);
  });

  it('in circles ends after the fifth', async () => {
    const server = await StandInServer.open((request, response) => {
      response.writeHead(302, { location: request.url }).end();
    });
    expect(await refusalOf(client(server.url).index())).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(/ redirects more than 5 times$/) as string,
    });
    expect(server.asked).toHaveLength(6);
  });
});
