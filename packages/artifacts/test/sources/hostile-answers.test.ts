import { createHash } from 'node:crypto';
import { createServer } from 'node:net';

import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import { GithubApi } from '../../src/store/sources/github-source.ts';
import { HttpClient } from '@svc/kit/net/http-client.ts';
import type { Publication } from '../../src/store/sources/registry-source.ts';
import { archiveBytes, toolFiles } from '../store/artifacts.ts';
import { client, echo, listening, rawServer, refusalOf } from './hostile-kit.ts';
import { closedPort } from '../../../../test/support/closed-port.ts';
import { json, StandInServer } from './stand-in-server.ts';

let bytes: Buffer;
let sha256: string;
beforeEach(async () => {
  bytes = await archiveBytes(toolFiles('echo'));
  sha256 = createHash('sha256').update(bytes).digest('hex');
});

describe('a registry that cannot be reached', () => {
  it('has nobody who listens', async () => {
    const port = await closedPort();
    expect(await refusalOf(client(`http://127.0.0.1:${port}`).index())).toMatchObject({
      code: 'E-IO-003',
      message: `the registry http://127.0.0.1:${port}: nothing listens there`,
      hint: 'check address and port, and that the server runs',
    });
  });

  it('has a name that does not exist', async () => {
    expect(await refusalOf(client('https://registry.invalid').index())).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(
        /^the registry https:\/\/registry\.invalid: (no host has that name|its name cannot be looked up now)$/,
      ) as string,
    });
  });

  it.each([
    ['SSH-2.0-OpenSSH_9.6\r\n', /: what it answers is not HTTP \(HPE_/],
    ['', /: the connection was closed before everything had gone over it$/],
  ])('answers %j', async (answer, message) => {
    const port = await rawServer(answer, Buffer.alloc(0));
    expect(await refusalOf(client(`http://127.0.0.1:${port}`).index())).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(message) as string,
    });
  });

  it('does not speak TLS', async () => {
    const server = await StandInServer.open(json(200, []));
    expect(await refusalOf(client(`https://127.0.0.1:${server.port}`).index())).toMatchObject({
      code: 'E-IO-003',
      message: expect.stringMatching(/: it does not speak TLS at this address$/) as string,
      hint: 'a server without TLS is reached from its own machine alone, with http:// in its address',
    });
  });
});

it('a release of a million assets is refused before they are looked at', async () => {
  const server = await StandInServer.open(json(200, { tag_name: 'v1', assets: Array<number>(1_000_000).fill(0) }));
  const access = { apiUrl: server.url, repo: 'a/b', token: null, tokenName: 'GITHUB_TOKEN' };
  const api = new GithubApi(access, new HttpClient({ timeoutMs: 30_000 }));
  expect(await refusalOf(api.releaseOf('v1'))).toMatchObject({
    code: 'E-IO-003',
    message: 'what github:a/b says of a release cannot be understood',
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
    'fails whole when it %s [D3-INDEX-01, D3-INDEX-02, D3-INDEX-03, D3-INDEX-04, D3-REG-23, D3-ERR-24, D1-ERR-10]',
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

  it('a redirect is not followed: the archive goes to nobody else', async () => {
    const other = await StandInServer.open(json(201, { artifact_id: 'echo@1.0.0', sha256 }));
    const server = await StandInServer.open((_, response) => response.writeHead(307, { location: other.url }).end());
    expect(await refusalOf(client(server.url).publish(publication()))).toMatchObject({ code: 'E-IO-003' });
    expect(other.asked).toEqual([]);
  });

  it('a refusal before the body gets no body, and the user reads the refusal', async () => {
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

  it('a refusal in the middle of the body gets no more of it, and the user reads the refusal', async () => {
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
    // A client that went on reading would have read all of it by now.
    for (let turn = 0; turn < 2000; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(read).toBeLessThan(1000);
  });

  it('nothing, on a line too slow for the archive, makes a publish end with how far it got [D3-LIMIT-01]', async () => {
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
