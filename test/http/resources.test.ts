import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { HttpServer } from '../../src/http/server.ts';
import {
  resourceHandler,
  resourceRoute,
  type ResourceEvent,
  type ResourcePlanesOptions,
} from '../../src/resources/resource-routes.ts';
import { ask, exchange, parseResponse, type RawResponse } from './raw-client.ts';

const mebibyte = 1024 * 1024;
const emptyHash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

let base = '';
let out = '';
let events: ResourceEvent[] = [];
let bugs: unknown[] = [];
let generation = 0;
let servers: HttpServer[] = [];

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'svc-resources-')));
  out = join(base, 'workdir', 'out');
  mkdirSync(out, { recursive: true });
  mkdirSync(join(base, 'session'));
  events = [];
  bugs = [];
  servers = [];
  generation = 0;
});

afterEach(async () => {
  await Promise.all(servers.map((server) => server.close(0)));
  rmSync(base, { recursive: true });
  if (bugs.length > 0) throw new AggregateError(bugs, 'a handler had a bug');
});

async function open(options: Partial<ResourcePlanesOptions> = {}): Promise<number> {
  const handle = resourceHandler({
    workdir: join(base, 'workdir'),
    files: { root: 'out', max_bytes: 100 * mebibyte },
    peerPlane: null,
    achieved: 'sealed',
    generation: () => generation,
    spoolDirectory: join(base, 'session'),
    onRequest: (event) => events.push(event),
    ...options,
  });
  const server = new HttpServer({ routes: [resourceRoute(handle)], token: null, onBug: (error) => bugs.push(error) });
  servers.push(server);
  const bound = await server.bind({ address: '127.0.0.1', port: 0 });
  if (bound.kind !== 'bound') throw new Error(bound.kind);
  return bound.port;
}

function get(port: number, target: string): Promise<RawResponse> {
  return ask(port, `GET ${target} HTTP/1.1`);
}

/** `<status> <error>` of a refusal, whose body is exactly `error` and `message`. */
function refusalOf({ status, headers, body }: RawResponse): string {
  expect(headers['content-type']).toBe('application/json');
  const refusal = JSON.parse(body) as { error: string; message: string };
  expect(refusal).toEqual({ error: refusal.error, message: expect.stringMatching(/^[A-Z].*\.$/) });
  return `${status} ${refusal.error}`;
}

function sha256(text: string): string {
  return createHash('sha256').update(Buffer.from(text, 'latin1')).digest('hex');
}

describe('reading a file', () => {
  it('gives its bytes with the documented headers [D1-HTTP-03] [D3-READ-02] [D3-READ-04] [D3-READ-05] [D3-READ-06] [D3-READ-08] [D3-READ-10]', async () => {
    const port = await open();
    writeFileSync(join(out, 'a.bin'), Buffer.from([0, 1, 2, 255]));
    utimesSync(join(out, 'a.bin'), 1_700_000_000, 1_700_000_000.125);
    const { status, headers, body } = await get(port, '/resources/files/a.bin');
    const { date, ...rest } = headers;
    expect(date).toBeDefined();
    expect(status).toBe(200);
    expect(body).toBe('\x00\x01\x02\xff');
    expect(rest).toEqual({
      'content-type': 'application/octet-stream',
      'content-length': '4',
      etag: '"sha256:3d1f57c984978ef98a18378c8166c1cb8ede02c03eeb6aee7e2f121dfeee3e56"',
      'x-svc-mtime-ms': '1700000000125',
      'x-svc-generation': '0',
      'x-svc-containment': 'sealed',
      'x-svc-export-root': 'out',
      connection: 'close',
    });
    expect(events).toEqual([{ event_type: 'resource_read', path: 'a.bin', outcome: 'ok', status: 200, bytes: 4 }]);
  });

  it('gives an empty file, and ignores a query [D3-READ-03]', async () => {
    const port = await open();
    writeFileSync(join(out, 'empty'), '');
    const { headers, body } = await get(port, '/resources/files/empty?generation=1');
    expect(body).toBe('');
    expect(headers).toMatchObject({ etag: `"sha256:${emptyHash}"`, 'content-length': '0' });
  });

  it('echoes the root as it is configured, as UTF-8 [D3-EXPORT-02] [D3-READ-09]', async () => {
    mkdirSync(join(base, 'workdir', 'ä'));
    writeFileSync(join(base, 'workdir', 'ä', 'ü.txt'), 'u');
    const port = await open({ files: { root: './ä//', max_bytes: 10 } });
    const { headers, body } = await get(port, '/resources/files/%C3%BC.txt');
    expect(body).toBe('u');
    expect(Buffer.from(headers['x-svc-export-root'] ?? '', 'latin1').toString('utf8')).toBe('./ä//');
  });

  it.each([
    ['at once', 64 * 1024],
    ['from memory', 64 * 1024 + 1],
    ['from memory, the largest', 8 * mebibyte],
    ['through a spool file', 8 * mebibyte + 1],
  ])('gives the same bytes and hash whatever the size: %s', async (_way, size) => {
    const port = await open();
    const text = 'svc!'.repeat(Math.ceil(size / 4)).slice(0, size);
    writeFileSync(join(out, 'large'), text);
    const { headers, body } = await get(port, '/resources/files/large');
    expect(body === text).toBe(true);
    expect(headers).toMatchObject({ etag: `"sha256:${sha256(text)}"`, 'content-length': String(size) });
    expect(readdirSync(join(base, 'session'))).toEqual([]);
  });

  it('gives many large files at once, past the memory budget', async () => {
    const port = await open();
    const text = 'a'.repeat(5 * mebibyte);
    writeFileSync(join(out, 'large'), text);
    const read = await Promise.all(Array.from({ length: 12 }, () => get(port, '/resources/files/large')));
    expect(read.every(({ body }) => body === text)).toBe(true);
  });

  it('keeps the etag and moves the generation when a task ends in between [D3-GEN-01] [D3-GEN-05] [D3-READ-07]', async () => {
    const port = await open();
    writeFileSync(join(out, 'a'), 'same');
    const before = await get(port, '/resources/files/a');
    generation = 1;
    const after = await get(port, '/resources/files/a');
    expect(after.headers['etag']).toBe(before.headers['etag']);
    expect([before, after].map(({ headers }) => headers['x-svc-generation'])).toEqual(['0', '1']);
  });

  it('refuses what exceeds max_bytes, and serves what is exactly that [D3-EXPORT-03] [D3-ERR-09]', async () => {
    const port = await open({ files: { root: 'out', max_bytes: 3 } });
    writeFileSync(join(out, 'three'), 'abc');
    writeFileSync(join(out, 'four'), 'abcd');
    expect((await get(port, '/resources/files/three')).body).toBe('abc');
    expect(refusalOf(await get(port, '/resources/files/four'))).toBe('413 too_large');
  });

  it('answers io_error when the spool cannot be written, and goes on [D3-ERR-11]', async () => {
    const port = await open({ spoolDirectory: join(base, 'none') });
    writeFileSync(join(out, 'large'), Buffer.alloc(9 * mebibyte));
    writeFileSync(join(out, 'small'), 'a');
    expect(refusalOf(await get(port, '/resources/files/large'))).toBe('500 io_error');
    expect((await get(port, '/resources/files/small')).body).toBe('a');
    expect(events.map(({ outcome, status }) => [outcome, status])).toEqual([
      ['io_error', 500],
      ['ok', 200],
    ]);
  });

  it('goes on when its readers leave in the middle, and keeps no descriptor of theirs', async () => {
    const port = await open();
    writeFileSync(join(out, 'held'), Buffer.alloc(7 * mebibyte));
    writeFileSync(join(out, 'spooled'), Buffer.alloc(20 * mebibyte));
    for (const name of ['held', 'spooled', 'held', 'spooled']) {
      const socket = connect(port, '127.0.0.1');
      socket.write(`GET /resources/files/${name} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      await once(socket, 'data');
      socket.destroy();
    }
    // Two more behind a request that is never answered to its end: they get no turn.
    const queued = connect(port, '127.0.0.1');
    queued.write('GET /resources/files/spooled HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(3));
    await once(queued, 'data');
    queued.destroy();
    while (events.length < 7) await new Promise(setImmediate);
    await expect.poll(openFiles, { timeout: 10_000 }).toEqual([]);
  });

  /** Files of this test that the process has open. */
  function openFiles(): string[] {
    const places = readdirSync('/proc/self/fd').map((descriptor) => {
      const found = spawnSync('readlink', [`/proc/${process.pid}/fd/${descriptor}`], { encoding: 'utf8' });
      return found.stdout.trim();
    });
    return places.filter((place) => place.startsWith(base));
  }
});

describe('a file that changes while it is read', () => {
  /** Runs `script` over and over on another thread, with `file` and `aside` to write to, until `during` has settled. */
  async function whileWriting(script: string, during: () => Promise<void>): Promise<void> {
    const loop = `
      const { parentPort, workerData: { file, aside } } = require('node:worker_threads');
      const fs = require('node:fs');
      let running = true;
      let round = 0;
      parentPort.once('message', () => { running = false; });
      function turn() { round += 1; ${script}; if (running) setImmediate(turn); }
      turn();
      parentPort.postMessage('ready');`;
    const workerData = { file: join(out, 'file'), aside: join(base, 'aside') };
    const worker = new Worker(loop, { eval: true, workerData });
    await once(worker, 'message');
    await during();
    worker.postMessage('stop');
    await once(worker, 'exit');
  }

  it.each([40_000, 90_000])(
    'is one whole version when it is written aside and renamed over: %s bytes [D3-CONS-01] [D3-CONS-02]',
    async (size) => {
      const port = await open();
      const seen = new Set<string>();
      const script = `fs.writeFileSync(aside, 'ab'[round % 2].repeat(${size})); fs.renameSync(aside, file)`;
      await whileWriting(script, async () => {
        for (let reads = 0; reads < 150; reads += 1) {
          const { headers, body } = await get(port, '/resources/files/file');
          expect(headers['etag']).toBe(`"sha256:${sha256(body)}"`);
          seen.add(body);
        }
      });
      expect([...seen].sort()).toEqual(['a'.repeat(size), 'b'.repeat(size)]);
    },
  );

  it.each([40_000, 90_000])(
    'has an etag of the bytes that were sent, also when it is rewritten in place: %s bytes [D3-CONS-03]',
    async (size) => {
      const port = await open();
      const lengths = new Set<number>();
      const script = `fs.truncateSync(file, 0); for (let part = 0; part < 8; part += 1) fs.appendFileSync(file, String(round % 10).repeat(${size} / 8))`;
      writeFileSync(join(out, 'file'), '');
      await whileWriting(script, async () => {
        for (let reads = 0; reads < 150; reads += 1) {
          const { headers, body } = await get(port, '/resources/files/file');
          expect(headers).toMatchObject({ etag: `"sha256:${sha256(body)}"`, 'content-length': String(body.length) });
          lengths.add(body.length);
        }
      });
      expect(lengths.size).toBeGreaterThan(1);
    },
  );
});

describe('a path on the wire', () => {
  beforeEach(() => {
    mkdirSync(join(out, 'dir'));
    writeFileSync(join(out, 'a.txt'), 'a');
    writeFileSync(join(out, 'dir', 'b c.txt'), 'b');
    writeFileSync(join(base, 'workdir', 'secret.txt'), 'secret');
    symlinkSync('a.txt', join(out, 'inside'));
    symlinkSync('../secret.txt', join(out, 'outside'));
  });

  it.each([
    ['a.txt', 'a'],
    ['dir/b%20c.txt', 'b'],
    ['dir%2Fb%20c.txt', 'b'],
    ['%61.txt', 'a'],
  ])('%s is decoded and read [D3-PATH-02]', async (path, body) => {
    expect(await get(await open(), `/resources/files/${path}`)).toMatchObject({ status: 200, body });
  });

  it.each([
    '',
    '/a.txt',
    '../secret.txt',
    'dir/../a.txt',
    '%2e%2e/secret.txt',
    '..%2fsecret.txt',
    'dir/%2e%2e/%2e%2e/secret.txt',
    './a.txt',
    'dir//b%20c.txt',
    'a.txt/',
    'a.txt%00',
    '%2Fetc/passwd',
    '%ff',
    '%zz',
    'outside',
  ])('%j is refused, never normalised [D3-PATH-03] [D3-PATH-04] [D3-PATH-07] [D3-ERR-01] [D3-ERR-06]', async (path) => {
    const port = await open();
    expect(refusalOf(await get(port, `/resources/files/${path}`))).toBe('403 outside_root');
    expect(events).toMatchObject([{ event_type: 'resource_read', outcome: 'outside_root', status: 403 }]);
  });

  it.each([
    ['none', '404 not_found'],
    ['a.txt/none', '404 not_found'],
    ['dir', '403 not_a_regular_file'],
    ['%252e%252e', '404 not_found'],
    ['a'.repeat(5000), '404 not_found'],
  ])('%s is refused [D3-ERR-04] [D3-ERR-08]', async (path, refusal) => {
    expect(refusalOf(await get(await open(), `/resources/files/${path}`))).toBe(refusal);
  });

  it('through a link is refused under scoped alone [D3-PATH-08] [D3-ERR-07]', async () => {
    expect(refusalOf(await get(await open({ achieved: 'scoped' }), '/resources/files/inside'))).toBe(
      '403 symlink_refused',
    );
    expect((await get(await open({ achieved: 'advisory' }), '/resources/files/inside')).body).toBe('a');
  });

  it('leads nowhere while the root does not exist [D3-EXPORT-01] [D3-ERR-04]', async () => {
    const port = await open({ files: { root: 'later', max_bytes: 10 } });
    expect(refusalOf(await get(port, '/resources/files/a.txt'))).toBe('404 not_found');
    mkdirSync(join(base, 'workdir', 'later'));
    writeFileSync(join(base, 'workdir', 'later', 'a.txt'), 'now');
    expect((await get(port, '/resources/files/a.txt')).body).toBe('now');
  });

  it('outside the two planes is nothing', async () => {
    const port = await open();
    for (const path of [
      '/resources/',
      '/resources/filesx',
      '/resources/Files',
      '/resources/../resources/files',
      '/resources/x/mh1%2Ea.b',
    ]) {
      expect(refusalOf(await get(port, path))).toBe('404 not_found');
    }
    expect(events.at(-1)).toMatchObject({ path: '/resources/x/<handle:595d7a2c8b40a835>' });
  });
});

describe('a method other than GET', () => {
  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'MKCOL', 'OPTIONS'])(
    '%s is refused everywhere under /resources/ [D3-READ-11] [D3-READ-12] [D3-ERR-10]',
    async (method) => {
      const port = await open({ files: null });
      for (const path of ['files', 'files/a', 'files/../a', 'peer', 'peer/mh1.a.b', 'none']) {
        const response = await ask(port, `${method} /resources/${path} HTTP/1.1`, { body: 'body' });
        expect(refusalOf(response)).toBe('405 method_not_allowed');
        expect(response.headers['allow']).toBe('GET');
      }
      expect(events.map(({ event_type }) => event_type)).toEqual([
        'resource_list',
        'resource_read',
        'resource_read',
        'resource_read',
        'peer_handle_redeem',
        'resource_read',
      ]);
    },
  );

  it('HEAD is one', async () => {
    const response = await ask(await open(), 'HEAD /resources/files HTTP/1.1');
    expect(response).toMatchObject({ status: 405, body: '' });
    expect(response.headers['allow']).toBe('GET');
  });
});

describe('a plane that is not declared', () => {
  it('refuses everything, whatever the other declares [D3-PLANE-02] [D3-ERR-02] [D3-ERR-03]', async () => {
    writeFileSync(join(out, 'a.txt'), 'a');
    const neither = await open({ files: null });
    const operator = await open();
    const peer = await open({ files: null, peerPlane: { redeem: () => ({ kind: 'empty', status: 204 }) } });
    for (const port of [neither, peer]) {
      expect(refusalOf(await get(port, '/resources/files'))).toBe('404 no_resource_plane');
      expect(refusalOf(await get(port, '/resources/files/a.txt'))).toBe('404 no_resource_plane');
    }
    for (const port of [neither, operator]) {
      expect(refusalOf(await get(port, '/resources/peer/mh1.a.b'))).toBe('404 no_peer_plane');
    }
    expect((await get(peer, '/resources/peer/mh1.a.b')).status).toBe(204);
  });

  it('keeps the handle out of the record', async () => {
    await get(await open(), '/resources/peer/mh1.a.b');
    expect(events).toEqual([
      { event_type: 'peer_handle_redeem', handle_id: '595d7a2c8b40a835', outcome: 'no_peer_plane', status: 404 },
    ]);
  });

  it('has no list of peers even when it is declared [D3-ERR-05]', async () => {
    const port = await open({ peerPlane: { redeem: () => ({ kind: 'empty', status: 204 }) } });
    expect(refusalOf(await get(port, '/resources/peer'))).toBe('404 not_found');
    expect(refusalOf(await get(port, '/resources/peer/'))).toBe('404 not_found');
  });
});

describe('the listing', () => {
  it('is the documented object [D3-LIST-01] [D3-LIST-02] [D3-LIST-03] [D3-LIST-04] [D3-LIST-05] [D3-READ-01]', async () => {
    const port = await open({ files: { root: './out', max_bytes: 5 }, achieved: 'scoped' });
    generation = 3;
    writeFileSync(join(out, 'a.txt'), 'abc');
    utimesSync(join(out, 'a.txt'), 1_700_000_000, 1_700_000_000.875);
    const response = await get(port, '/resources/files');
    expect(response.headers).toMatchObject({ 'content-type': 'application/json' });
    expect(response.body).toBe(
      '{"root":"./out","mode":"read-only","max_bytes":5,"generation":3,"containment_achieved":"scoped","entries":[' +
        '{"path":"a.txt","size_bytes":3,"mtime_ms":1700000000875,' +
        '"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}]}',
    );
    expect(events).toEqual([{ event_type: 'resource_list', outcome: 'ok', status: 200, entries: 1 }]);
  });

  interface Entry {
    path: string;
    size_bytes: number;
    mtime_ms: number;
    sha256: string;
  }

  async function entries(port: number): Promise<Entry[]> {
    const { body } = await get(port, '/resources/files');
    return (JSON.parse(Buffer.from(body, 'latin1').toString('utf8')) as { entries: Entry[] }).entries;
  }

  it('holds regular files alone, at every depth, sorted by path [D3-LIST-06] [D3-LIST-07] [D3-LIST-08]', async () => {
    mkdirSync(join(out, 'a', 'b'), { recursive: true });
    mkdirSync(join(out, 'empty'));
    for (const path of ['a-b', 'a.txt', 'a/b/c', 'a/z', 'a0', 'B', '.hidden', 'ä'])
      writeFileSync(join(out, path), path);
    symlinkSync('a.txt', join(out, 'link'));
    symlinkSync('a', join(out, 'link-to-dir'));
    symlinkSync('/etc', join(out, 'link-out'));
    execFileSync('mkfifo', [join(out, 'fifo')]);
    const paths = (await entries(await open())).map(({ path }) => path);
    expect(paths).toEqual(['.hidden', 'B', 'a-b', 'a.txt', 'a/b/c', 'a/z', 'a0', 'ä']);
  });

  it('lists a file above max_bytes with its real size [D3-LIST-09] [D3-LIST-10] [D3-LIST-11] [D3-LIST-12] [D3-LIST-13]', async () => {
    const port = await open({ files: { root: 'out', max_bytes: 10 } });
    const text = 'a'.repeat(700_000);
    writeFileSync(join(out, 'large'), text);
    const { mtimeMs } = statSync(join(out, 'large'));
    expect(await entries(port)).toEqual([
      { path: 'large', size_bytes: 700_000, mtime_ms: Math.floor(mtimeMs), sha256: sha256(text) },
    ]);
    expect(refusalOf(await get(port, '/resources/files/large'))).toBe('413 too_large');
  });

  it('is empty when the root does not exist, and refused when it has become a link out [D3-LIST-14]', async () => {
    const port = await open({ files: { root: 'later', max_bytes: 10 } });
    expect(await get(port, '/resources/files')).toMatchObject({ status: 200 });
    expect(await entries(port)).toEqual([]);
    symlinkSync('/etc', join(base, 'workdir', 'later'));
    expect(refusalOf(await get(port, '/resources/files'))).toBe('403 outside_root');
  });

  it('is sent as it is made when it is long, and leaves other requests their turn', async () => {
    const port = await open();
    for (let index = 0; index < 3000; index += 1) writeFileSync(join(out, `file-${index}`), 'x');
    writeFileSync(join(out, 'large'), Buffer.alloc(4 * mebibyte));
    const listing = get(port, '/resources/files');
    let answered = 0;
    const done = listing.then(() => true);
    while (!(await Promise.race([done, new Promise<false>((resolve) => setImmediate(() => resolve(false)))]))) {
      await get(port, '/resources/files/file-1');
      answered += 1;
    }
    const { headers, body } = await listing;
    expect(headers['transfer-encoding']).toBe('chunked');
    expect(body.match(/"path"/g)).toHaveLength(3001);
    expect(answered).toBeGreaterThan(2);
    expect(events.find(({ event_type }) => event_type === 'resource_list')).toEqual({
      event_type: 'resource_list',
      outcome: 'ok',
      status: 200,
      entries: 3001,
    });
  });

  it('ends when its reader leaves', async () => {
    const port = await open();
    for (let index = 0; index < 5000; index += 1) writeFileSync(join(out, `file-${'n'.repeat(200)}-${index}`), 'x');
    const socket = connect(port, '127.0.0.1');
    socket.write('GET /resources/files HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
    while (events.length === 0) await new Promise(setImmediate);
    expect(events).toMatchObject([{ event_type: 'resource_list', outcome: 'ok', status: 200 }]);
  });
});

it('is read-only and needs nobody else [D3-PLANE-01] [D3-PLANE-03]', async () => {
  const port = await open();
  writeFileSync(join(out, 'a'), 'a');
  const text = await exchange({
    port,
    bytes: ['GET /resources/files/a HTTP/1.0\r\n\r\n'],
    halfClose: true,
  });
  expect(parseResponse(text).body).toBe('a');
});
