import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { ExportedWorkdir, get, mebibyte, refusalOf } from './exported-workdir.ts';

let plane: ExportedWorkdir;

beforeEach(() => {
  plane = new ExportedWorkdir();
});

afterEach(() => plane.close());

function sha256(text: string): string {
  return createHash('sha256').update(Buffer.from(text, 'latin1')).digest('hex');
}

describe('the listing', () => {
  it('has the documented keys [D3-LIST-01] [D3-LIST-02] [D3-LIST-03] [D3-LIST-04] [D3-LIST-05] [D3-READ-01]', async () => {
    const port = await plane.open({ files: { root: './out', max_bytes: 5 }, achieved: 'scoped' });
    plane.generation = 3;
    writeFileSync(join(plane.out, 'a.txt'), 'abc');
    utimesSync(join(plane.out, 'a.txt'), 1_700_000_000, 1_700_000_000.875);
    const response = await get(port, '/resources/files');
    expect(response.headers).toMatchObject({ 'content-type': 'application/json' });
    expect(response.body).toBe(
      '{"root":"./out","mode":"read-only","max_bytes":5,"generation":3,"containment_achieved":"scoped","entries":[' +
        '{"path":"a.txt","size_bytes":3,"mtime_ms":1700000000875,' +
        '"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}]}',
    );
    expect(plane.events).toEqual([{ event_type: 'resource_list', outcome: 'ok', status: 200, entries: 1 }]);
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
    mkdirSync(join(plane.out, 'a', 'b'), { recursive: true });
    mkdirSync(join(plane.out, 'empty'));
    for (const path of ['a-b', 'a.txt', 'a/b/c', 'a/z', 'a0', 'B', '.hidden', 'ä'])
      writeFileSync(join(plane.out, path), path);
    symlinkSync('a.txt', join(plane.out, 'link'));
    symlinkSync('a', join(plane.out, 'link-to-dir'));
    symlinkSync('/etc', join(plane.out, 'link-out'));
    execFileSync('mkfifo', [join(plane.out, 'fifo')]);
    const paths = (await entries(await plane.open())).map(({ path }) => path);
    expect(paths).toEqual(['.hidden', 'B', 'a-b', 'a.txt', 'a/b/c', 'a/z', 'a0', 'ä']);
  });

  it('lists a file above max_bytes with its real size [D3-LIST-09] [D3-LIST-10] [D3-LIST-11] [D3-LIST-12] [D3-LIST-13]', async () => {
    const port = await plane.open({ files: { root: 'out', max_bytes: 10 } });
    const text = 'a'.repeat(700_000);
    writeFileSync(join(plane.out, 'large'), text);
    const { mtimeMs } = statSync(join(plane.out, 'large'));
    expect(await entries(port)).toEqual([
      { path: 'large', size_bytes: 700_000, mtime_ms: Math.floor(mtimeMs), sha256: sha256(text) },
    ]);
    expect(refusalOf(await get(port, '/resources/files/large'))).toBe('413 too_large');
  });

  it('has no entries when the root does not exist, and fails when it has become a link out [D3-LIST-14]', async () => {
    const port = await plane.open({ files: { root: 'later', max_bytes: 10 } });
    expect(await get(port, '/resources/files')).toMatchObject({ status: 200 });
    expect(await entries(port)).toEqual([]);
    symlinkSync('/etc', join(plane.base, 'workdir', 'later'));
    expect(refusalOf(await get(port, '/resources/files'))).toBe('403 outside_root');
  });

  it('streams when it is long, and leaves other requests their turn', async () => {
    const port = await plane.open();
    for (let index = 0; index < 3000; index += 1) writeFileSync(join(plane.out, `file-${index}`), 'x');
    writeFileSync(join(plane.out, 'large'), Buffer.alloc(4 * mebibyte));
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
    expect(plane.events.find(({ event_type }) => event_type === 'resource_list')).toEqual({
      event_type: 'resource_list',
      outcome: 'ok',
      status: 200,
      entries: 3001,
    });
  });

  it('ends when its reader leaves', async () => {
    const port = await plane.open();
    for (let index = 0; index < 5000; index += 1)
      writeFileSync(join(plane.out, `file-${'n'.repeat(200)}-${index}`), 'x');
    const socket = connect(port, '127.0.0.1');
    socket.write('GET /resources/files HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
    while (plane.events.length === 0) await new Promise(setImmediate);
    expect(plane.events).toMatchObject([{ event_type: 'resource_list', outcome: 'ok', status: 200 }]);
  });
});
