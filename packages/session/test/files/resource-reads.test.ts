import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { ExportedWorkdir, get, mebibyte, refusalOf } from './exported-workdir.ts';
import { exchange, parseResponse } from '../../../kit/test/http/raw-client.ts';

const emptyHash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

let plane: ExportedWorkdir;

beforeEach(() => {
  plane = new ExportedWorkdir();
});

afterEach(() => plane.close());

function sha256(text: string): string {
  return createHash('sha256').update(Buffer.from(text, 'latin1')).digest('hex');
}

describe('reading a file', () => {
  it('gives its bytes with the documented headers [D1-HTTP-03] [D3-READ-02] [D3-READ-04] [D3-READ-05] [D3-READ-06] [D3-READ-08] [D3-READ-10]', async () => {
    const port = await plane.open();
    writeFileSync(join(plane.out, 'a.bin'), Buffer.from([0, 1, 2, 255]));
    utimesSync(join(plane.out, 'a.bin'), 1_700_000_000, 1_700_000_000.125);
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
    expect(plane.events).toEqual([
      { event_type: 'resource_read', path: 'a.bin', outcome: 'ok', status: 200, bytes: 4 },
    ]);
  });

  it('gives an empty file, and ignores a query [D3-READ-03]', async () => {
    const port = await plane.open();
    writeFileSync(join(plane.out, 'empty'), '');
    const { headers, body } = await get(port, '/resources/files/empty?generation=1');
    expect(body).toBe('');
    expect(headers).toMatchObject({ etag: `"sha256:${emptyHash}"`, 'content-length': '0' });
  });

  it('echoes the root as it is configured, as UTF-8 [D3-EXPORT-02] [D3-READ-09]', async () => {
    mkdirSync(join(plane.base, 'workdir', 'ä'));
    writeFileSync(join(plane.base, 'workdir', 'ä', 'ü.txt'), 'u');
    const port = await plane.open({ files: { root: './ä//', max_bytes: 10 } });
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
    const port = await plane.open();
    const text = 'svc!'.repeat(Math.ceil(size / 4)).slice(0, size);
    writeFileSync(join(plane.out, 'large'), text);
    const { headers, body } = await get(port, '/resources/files/large');
    expect(body === text).toBe(true);
    expect(headers).toMatchObject({ etag: `"sha256:${sha256(text)}"`, 'content-length': String(size) });
    expect(readdirSync(join(plane.base, 'session'))).toEqual([]);
  });

  it('gives many large files at once, past the memory budget', async () => {
    const port = await plane.open();
    const text = 'a'.repeat(5 * mebibyte);
    writeFileSync(join(plane.out, 'large'), text);
    const read = await Promise.all(Array.from({ length: 12 }, () => get(port, '/resources/files/large')));
    expect(read.every(({ body }) => body === text)).toBe(true);
  });

  it('keeps the etag and moves the generation when a task ends in between [D3-GEN-01] [D3-GEN-05] [D3-READ-07]', async () => {
    const port = await plane.open();
    writeFileSync(join(plane.out, 'a'), 'same');
    const before = await get(port, '/resources/files/a');
    plane.generation = 1;
    const after = await get(port, '/resources/files/a');
    expect(after.headers['etag']).toBe(before.headers['etag']);
    expect([before, after].map(({ headers }) => headers['x-svc-generation'])).toEqual(['0', '1']);
  });

  it('refuses what exceeds max_bytes, and serves what is exactly that [D3-EXPORT-03] [D3-ERR-09]', async () => {
    const port = await plane.open({ files: { root: 'out', max_bytes: 3 } });
    writeFileSync(join(plane.out, 'three'), 'abc');
    writeFileSync(join(plane.out, 'four'), 'abcd');
    expect((await get(port, '/resources/files/three')).body).toBe('abc');
    expect(refusalOf(await get(port, '/resources/files/four'))).toBe('413 too_large');
  });

  it('answers io_error when the spool cannot be written, and goes on [D3-ERR-11]', async () => {
    const port = await plane.open({ spoolDirectory: join(plane.base, 'none') });
    writeFileSync(join(plane.out, 'large'), Buffer.alloc(9 * mebibyte));
    writeFileSync(join(plane.out, 'small'), 'a');
    expect(refusalOf(await get(port, '/resources/files/large'))).toBe('500 io_error');
    expect((await get(port, '/resources/files/small')).body).toBe('a');
    expect(plane.events.map(({ outcome, status }) => [outcome, status])).toEqual([
      ['io_error', 500],
      ['ok', 200],
    ]);
  });

  it('goes on when its readers leave in the middle, and keeps no descriptor of theirs', async () => {
    const port = await plane.open();
    writeFileSync(join(plane.out, 'held'), Buffer.alloc(7 * mebibyte));
    writeFileSync(join(plane.out, 'spooled'), Buffer.alloc(20 * mebibyte));
    for (const name of ['held', 'spooled', 'held', 'spooled']) {
      const socket = connect(port, '127.0.0.1');
      socket.write(`GET /resources/files/${name} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      await once(socket, 'data');
      socket.destroy();
    }
    // Two more behind a request that is never answered to its end: they get no turn, and nothing is read for them.
    const queued = connect(port, '127.0.0.1');
    queued.write('GET /resources/files/spooled HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(3));
    await once(queued, 'data');
    queued.destroy();
    while (plane.events.length < 5) await new Promise(setImmediate);
    await expect.poll(openFiles, { timeout: 10_000 }).toEqual([]);
    expect(plane.events).toHaveLength(5);
  });

  it('counts the memory of readers who do not read, and spools for those beyond it', { timeout: 120_000 }, async () => {
    const port = await plane.open();
    writeFileSync(join(plane.out, 'large'), Buffer.alloc(8 * mebibyte, 'l'));
    const sockets: Socket[] = [];
    for (let reader = 0; reader < 6; reader += 1) {
      const socket = connect(port, '127.0.0.1');
      sockets.push(socket);
      socket.write('GET /resources/files/large HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await once(socket, 'readable');
    }
    expect(openFiles().map((place) => place.replace(/^.*\//, ''))).toEqual(['spool-1 (deleted)', 'spool-2 (deleted)']);
    for (const socket of sockets) {
      const pieces = (await socket.toArray()) as Buffer[];
      expect(Buffer.concat(pieces).toString('latin1').split('\r\n\r\n')[1] === 'l'.repeat(8 * mebibyte)).toBe(true);
    }
    await expect.poll(openFiles, { timeout: 10_000 }).toEqual([]);
    expect((await get(port, '/resources/files/large')).body === 'l'.repeat(8 * mebibyte)).toBe(true);
    expect(readdirSync(join(plane.base, 'session'))).toEqual([]);
  });

  /** Files of this test that the process has open. */
  function openFiles(): string[] {
    const places = readdirSync('/proc/self/fd').map((descriptor) => {
      const found = spawnSync('readlink', [`/proc/${process.pid}/fd/${descriptor}`], { encoding: 'utf8' });
      return found.stdout.trim();
    });
    return places.filter((place) => place.startsWith(plane.base));
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
    const workerData = { file: join(plane.out, 'file'), aside: join(plane.base, 'aside') };
    const worker = new Worker(loop, { eval: true, workerData });
    await once(worker, 'message');
    await during();
    worker.postMessage('stop');
    await once(worker, 'exit');
  }

  const sizes = [
    [40_000, 150],
    [90_000, 150],
    [8_400_000, 25],
  ] as const;

  it.each(sizes)(
    'arrives as one whole version when it is written aside and renamed over: %s bytes [D3-CONS-01] [D3-CONS-02]',
    { timeout: 120_000 },
    async (size, rounds) => {
      const port = await plane.open();
      const seen = new Set<string>();
      const script = `fs.writeFileSync(aside, 'ab'[round % 2].repeat(${size})); fs.renameSync(aside, file)`;
      await whileWriting(script, async () => {
        for (let reads = 0; reads < rounds; reads += 1) {
          const { headers, body } = await get(port, '/resources/files/file');
          expect(headers['etag']).toBe(`"sha256:${sha256(body)}"`);
          seen.add(body);
        }
      });
      expect([...seen].sort().map((body) => [body[0], body === body[0]?.repeat(size)])).toEqual([
        ['a', true],
        ['b', true],
      ]);
    },
  );

  it.each(sizes)(
    'has an etag of the bytes that were sent, also when it is rewritten in place: %s bytes [D3-CONS-03]',
    { timeout: 120_000 },
    async (size, rounds) => {
      const port = await plane.open();
      const lengths = new Set<number>();
      const script = `fs.truncateSync(file, 0); for (let part = 0; part < 8; part += 1) fs.appendFileSync(file, String(round % 10).repeat(${size} / 8))`;
      writeFileSync(join(plane.out, 'file'), '');
      await whileWriting(script, async () => {
        for (let reads = 0; reads < rounds; reads += 1) {
          const { headers, body } = await get(port, '/resources/files/file');
          expect(headers).toMatchObject({ etag: `"sha256:${sha256(body)}"`, 'content-length': String(body.length) });
          lengths.add(body.length);
        }
      });
      expect(lengths.size).toBeGreaterThan(1);
    },
  );
});

it('the operator plane is read-only and needs nobody else [D3-PLANE-01] [D3-PLANE-03]', async () => {
  const port = await plane.open();
  writeFileSync(join(plane.out, 'a'), 'a');
  const text = await exchange({
    port,
    bytes: ['GET /resources/files/a HTTP/1.0\r\n\r\n'],
    halfClose: true,
  });
  expect(parseResponse(text).body).toBe('a');
});
