import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';

import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import { Diagnostic } from '../../src/diagnostics/diagnostic.ts';
import { Secret } from '../../src/diagnostics/secret.ts';
import { locate, type StorePlaces } from '../../src/store/locate.ts';
import { HttpClient } from '../../src/store/sources/http-client.ts';
import { type Publication, RegistryClient } from '../../src/store/sources/registry-client.ts';
import { storeRoot } from '../../src/store/store-layout.ts';
import { archiveBytes, emptyPlaces, toolFiles } from '../store/artifacts.ts';
import { type Answer, json, StandInServer } from './stand-in-server.ts';

const echo = { name: 'echo', version: '1.0.0' };
const key = 'a-key-that-is-secret';

let bytes: Buffer;
let sha256: string;
let places: StorePlaces;
beforeEach(async () => {
  bytes = await archiveBytes(toolFiles('echo'));
  sha256 = createHash('sha256').update(bytes).digest('hex');
  places = emptyPlaces();
});

function client(url: string, { timeoutMs = 30_000, keyed = true } = {}): RegistryClient {
  const address = { url, key: keyed ? new Secret(key) : null, keyName: 'REGISTRY_API_KEY' };
  return new RegistryClient(address, new HttpClient({ timeoutMs }));
}

/** How `svc install` ends with a registry that answers like this: a code and a sentence, and what is in the store then. */
async function install(
  answer: Answer,
  settings?: { timeoutMs?: number; keyed?: boolean },
): Promise<Diagnostic | 'stored'> {
  const server = await StandInServer.open(answer);
  return await refusalOf(locate(echo, { ...places, sources: () => [client(server.url, settings)] }));
}

async function refusalOf(promise: Promise<unknown>): Promise<Diagnostic | 'stored'> {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error === null) return 'stored';
  if (error instanceof Diagnostic) return error;
  throw error;
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
  it('is as D3 has it is believed', async () => {
    expect(await install(whole({ 'x-svc-sha256': sha256 }))).toBe('stored');
    expect(stored()).toEqual(['echo']);
  });

  it.each([
    ['names no hash [D3-REG-20]', {}, /^the registry http:\S+ names no hash for echo@1\.0\.0 \(header x-svc-sha256\)$/],
    ['names something else for a hash [D3-REG-20]', { 'x-svc-sha256': 'abc' }, /names something that is no hash/],
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

  it('is cut short is refused, and nothing is stored', async () => {
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

  it('is encoded is refused', async () => {
    const encoded = whole({ 'x-svc-sha256': sha256, 'content-encoding': 'gzip' });
    expect(await install(encoded)).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(/answers in the encoding gzip/) as string,
    });
    expect(stored()).toEqual([]);
  });

  it('is no archive, or the archive of another artifact, is refused', async () => {
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
    expect(await install(drip, { timeoutMs: 400 })).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(/ was given up after 0\.4 seconds, with \d+ of \d+ bytes received$/) as string,
      hint: 'a request to a registry may take 30 seconds in all; try again on a faster line',
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
  it('is refused before a byte of it is read', async () => {
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

  it('is told by whether the generic file is another', async () => {
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
  ])('is the generic one when that %s', async (_, etag, answer) => {
    expect(await platformOf(answer(sha256), etag ?? undefined)).toBe(null);
  });

  it('is the one for the platform when the generic one has another hash', async () => {
    const other: Answer = (_, response) => response.writeHead(200, { 'x-svc-sha256': '0'.repeat(64) }).end('unread');
    expect(await platformOf(other)).toBe('linux-x86_64');
  });

  it('cannot be told by a registry that fails meanwhile', async () => {
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
  it('to another host is followed without the key', async () => {
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
    'to %s is not followed',
    async (location) => {
      const answer: Answer = (_, response) => response.writeHead(302, { location }).end();
      expect(await install(answer)).toMatchObject({
        code: 'E-IO-003',
        message: expect.stringMatching(/ redirects to .*, which is not allowed$/) as string,
      });
    },
  );

  it('in circles is given up after the fifth', async () => {
    const server = await StandInServer.open((request, response) => {
      response.writeHead(302, { location: request.url }).end();
    });
    expect(await refusalOf(client(server.url).index())).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(/ redirects in circles$/) as string,
    });
    expect(server.asked).toHaveLength(6);
  });

  it('of a publish is not followed: the archive goes to nobody else', async () => {
    const other = await StandInServer.open(json(201, { artifact_id: 'echo@1.0.0', sha256 }));
    const server = await StandInServer.open((_, response) => response.writeHead(307, { location: other.url }).end());
    expect(await refusalOf(client(server.url).publish(publication()))).toMatchObject({ code: 'E-IO-003' });
    expect(other.asked).toEqual([]);
  });
});

describe('a registry that cannot be talked to', () => {
  it('because nobody listens', async () => {
    const server = createServer();
    const port = await listening(server);
    await new Promise((resolve) => server.close(resolve));
    expect(await refusalOf(client(`http://127.0.0.1:${port}`).index())).toMatchObject({
      code: 'E-IO-003',
      message: `the registry http://127.0.0.1:${port}: connection refused`,
    });
  });

  it('because its name does not exist', async () => {
    expect(await refusalOf(client('https://registry.invalid').index())).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(
        /^the registry https:\/\/registry\.invalid: its name cannot be resolved/,
      ) as string,
    });
  });

  it.each([
    ['SSH-2.0-OpenSSH_9.6\r\n', /: what it answers is not HTTP \(HPE_/],
    ['', /: the connection was closed before everything had gone over it$/],
  ])('because it answers %j', async (answer, message) => {
    const port = await rawServer(answer, Buffer.alloc(0));
    expect(await refusalOf(client(`http://127.0.0.1:${port}`).index())).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(message) as string,
    });
  });

  it('because it does not speak TLS', async () => {
    const server = await StandInServer.open(json(200, []));
    expect(await refusalOf(client(`https://127.0.0.1:${server.port}`).index())).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(/: it does not speak TLS at this address$/) as string,
    });
  });
});

describe('an index', () => {
  const object = { name: 'echo', version: '1.0.0', runtime: 'wasm', artifact_runtime: 'tool' };

  it('needs four fields and has defaults for the others [D3-INDEX-05, D3-INDEX-06, D3-INDEX-07, D3-REG-22]', async () => {
    const full = { ...object, platforms: [['linux', 'x86_64']], description: 'Says it.', tags: ['a'], later: true };
    const server = await StandInServer.open(json(200, [object, full]));
    expect(await client(server.url).index()).toEqual([
      { ...object, platforms: [], description: null, tags: [] },
      { ...object, platforms: [['linux', 'x86_64']], description: 'Says it.', tags: ['a'] },
    ]);
    expect(server.lines).toEqual(['GET /v1/artifacts']);
  });

  it.each([
    ['is no JSON', '[{', 'it is not JSON'],
    ['is no list', {}, 'it is no list'],
    ['has an object without name', [{ ...object, name: undefined }], '0.name is missing, or not what it should be'],
    [
      'has an object without version',
      [object, { ...object, version: undefined }],
      '1.version is missing, or not what it should be',
    ],
    [
      'has an object without runtime',
      [{ ...object, runtime: undefined }],
      '0.runtime is missing, or not what it should be',
    ],
    [
      'has an object without artifact_runtime',
      [{ ...object, artifact_runtime: undefined }],
      '0.artifact_runtime is missing, or not what it should be',
    ],
    ['has an unknown runtime', [{ ...object, runtime: 'java' }], '0.runtime is missing, or not what it should be'],
    [
      'has an unknown role',
      [{ ...object, artifact_runtime: 'capsule' }],
      '0.artifact_runtime is missing, or not what it should be',
    ],
    ['has a name that is no text', [{ ...object, name: 7 }], '0.name is missing, or not what it should be'],
    [
      'has platforms that are no pairs',
      [{ ...object, platforms: ['linux-x86_64'] }],
      '0.platforms.0 is missing, or not what it should be',
    ],
  ])(
    'that %s is refused whole [D3-INDEX-01, D3-INDEX-02, D3-INDEX-03, D3-INDEX-04, D3-REG-23, D3-ERR-24, D1-ERR-10]',
    async (_, body, reason) => {
      const server = await StandInServer.open((__, response) => {
        response.writeHead(200).end(typeof body === 'string' ? body : JSON.stringify(body));
      });
      const refusal = await refusalOf(client(server.url).index());
      expect(refusal).toMatchObject({ code: 'E-IO-003' });
      expect(String(refusal).split(' cannot be understood: ')[1]).toBe(reason);
    },
  );
});

describe('a registry that answers a publish with', () => {
  it.each([
    [
      409,
      { error: 'artifact already exists' },
      'E-REG-003',
      /^echo@1\.0\.0 is published already at the registry http:/,
    ],
    [
      422,
      { error: 'reserved artifact version is not allowed' },
      'E-REG-004',
      /\(422\): reserved artifact version is not allowed$/,
    ],
    [422, { error: 'The reserved artifact version latest is not allowed.' }, 'E-REG-004', /\(422\)/],
    [422, { error: 'unprocessable' }, 'E-IO-003', /\(422\): unprocessable$/],
    [422, { error: '', message: 'reserved artifact version is not allowed' }, 'E-IO-003', /\(422\)/],
    [
      400,
      { error: 'invalid archive', message: 'It is no zip.' },
      'E-IO-003',
      /\(400\): invalid archive\. It is no zip\.$/,
    ],
    [401, { error: 'unauthorized' }, 'E-IO-003', /\(401\): unauthorized$/],
    [403, { error: 'forbidden' }, 'E-IO-003', /\(403\): forbidden$/],
    [413, { error: 'too_large', message: 'At most 512 MiB.' }, 'E-IO-003', /\(413\): too_large\. At most 512 MiB\.$/],
    [507, { error: 'insufficient_storage' }, 'E-IO-003', /\(507\): insufficient_storage$/],
    [200, { sha256: 'x' }, 'E-IO-003', /\(200\)$/],
    [
      201,
      { artifact_id: 'echo@1.0.0', sha256: '0'.repeat(64) },
      'E-REG-002',
      /^the registry \S+ confirms echo@1\.0\.0 with sha256 0{64}, not /,
    ],
    [201, 'created', 'E-REG-002', / confirms echo@1\.0\.0 with no sha256, not /],
  ])(
    '%i %j is mapped to its code [D3-ERR-21, D3-ERR-23, D3-ERR-24, D3-REG-09, D3-REG-10, D3-REG-11, D3-REG-12]',
    async (status, body, code, message) => {
      const server = await StandInServer.open((request, response) => {
        request.resume().on('end', () => json(status, body)(request, response));
      });
      expect(await refusalOf(client(server.url).publish(publication()))).toMatchObject({
        code,
        message: expect.stringMatching(message) as string,
      });
    },
  );

  it('a refusal before the body is sent is told, and no body is sent', async () => {
    const port = await rawServer('HTTP/1.1 409 Conflict\r\ncontent-length: 0\r\n\r\n', Buffer.alloc(0));
    let isRead = false;
    const body = {
      bytes: 200 * 1024 * 1024,
      chunks: () => {
        isRead = true;
        return [bytes];
      },
    };
    expect(await refusalOf(client(`http://127.0.0.1:${port}`).publish({ ...publication(), body }))).toMatchObject({
      code: 'E-REG-003',
    });
    expect(isRead).toBe(false);
  });

  it('a refusal in the middle of the body is told, and no more of the body is read', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write('HTTP/1.1 100 Continue\r\n\r\n');
        socket.once('data', () => {
          socket.write('HTTP/1.1 413 Content Too Large\r\ncontent-length: 21\r\n\r\n{"error":"too_large"}');
        });
      });
    });
    onTestFinished(() => void server.close());
    const port = await listening(server);
    const chunk = Buffer.alloc(1024 * 1024);
    let read = 0;
    async function* chunks(): AsyncGenerator<Buffer> {
      for (; read < 1000; read += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        yield chunk;
      }
    }
    const body = { bytes: 1000 * chunk.length, chunks };
    expect(await refusalOf(client(`http://127.0.0.1:${port}`).publish({ ...publication(), body }))).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(/\(413\): too_large$/) as string,
    });
    // Whoever went on reading would have read all of it by now.
    for (let turn = 0; turn < 2000; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(read).toBeLessThan(1000);
  });

  it('nothing, on a line too slow for the archive, is given up and told how far it got [D3-LIMIT-01]', async () => {
    // Reads nothing, so that no more is taken than the buffers on the way hold.
    const server = createServer({ pauseOnConnect: true }, (socket) => {
      socket.on('error', () => undefined);
      socket.write('HTTP/1.1 100 Continue\r\n\r\n');
      onTestFinished(() => void socket.destroy());
    });
    onTestFinished(() => void server.close());
    const port = await listening(server);
    const chunk = Buffer.alloc(1024 * 1024);
    const body = { bytes: 200 * chunk.length, chunks: () => Array<Buffer>(200).fill(chunk) };
    const refusal = await refusalOf(
      client(`http://127.0.0.1:${port}`, { timeoutMs: 1500 }).publish({ ...publication(), body }),
    );
    expect(refusal).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(
        /^publishing echo@1\.0\.0 to the registry \S+ was given up after 1\.5 seconds, with \d{6,} of 209715200 bytes sent$/,
      ) as string,
    });
  });
});

function publication(): Publication {
  const body = { bytes: bytes.length, chunks: () => [bytes] };
  return { ...echo, packaging: 'wasm', platforms: [], sha256, body };
}

/** Answers every connection with these bytes, whatever it is asked, and closes it. */
async function rawServer(head: string, body: Buffer): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([Buffer.from(head), body])));
  });
  onTestFinished(() => void server.close());
  return await listening(server);
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
