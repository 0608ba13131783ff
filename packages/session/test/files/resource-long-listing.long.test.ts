import { once } from 'node:events';
import { linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ExportedWorkdir, get } from './exported-workdir.ts';

const files = 100_000;
const perDirectory = 1000;

/** Longer than what all buffers of a connection hold, so that a reader that stops makes the listing stop. */
const longName = 'n'.repeat(150);

const aHash = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb';

let plane: ExportedWorkdir;

/** Half of them in one directory, the others in many. */
function nameOf(index: number): string {
  const directory = String(index < files / 2 ? 0 : Math.floor(index / perDirectory)).padStart(3, '0');
  return `${directory}/${longName}-${String(index).padStart(6, '0')}`;
}

describe('the listing of 100,000 files', () => {
  beforeAll(() => {
    plane = new ExportedWorkdir();
    // Many names of a few files: making so many files would take longer than the test.
    for (let index = 0; index < files; index += 1) {
      const path = join(plane.out, nameOf(index));
      const first = join(plane.out, nameOf(index - (index % perDirectory)));
      if (path === first) {
        mkdirSync(join(path, '..'), { recursive: true });
        writeFileSync(path, 'a');
      } else linkSync(first, path);
    }
  }, 120_000);

  afterAll(() => plane.close(), 120_000);

  it(
    'goes out while it is made, and others are answered meanwhile [D3-LIST-06] [D3-LIST-07] [D3-PLANE-06]',
    { timeout: 120_000 },
    async () => {
      const port = await plane.open();
      const order: string[] = [];
      const reader = connect(port, '127.0.0.1');
      const ended = once(reader, 'end');
      const chunks: Buffer[] = [];
      reader.write('GET /resources/files HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
      const [beginning] = (await once(reader, 'data')) as [Buffer];
      chunks.push(beginning);
      reader.on('data', (chunk: Buffer) => chunks.push(chunk));
      reader.once('end', () => order.push('listed'));

      // The reader has stopped in the middle of the listing: what follows happens before its end, whatever the machine.
      reader.pause();
      order.push((await get(port, `/resources/files/${nameOf(0)}`)).body);
      rmSync(join(plane.out, nameOf(files - 1)));
      writeFileSync(join(plane.out, '099', 'zz-late'), 'late');

      // From here on nothing holds the listing up but the requests between its turns.
      reader.resume();
      order.push((await get(port, `/resources/files/${nameOf(1)}`)).body);
      order.push((await get(port, '/resources/files/none')).body);
      await ended;
      expect(order).toEqual(['a', 'a', '{"error":"not_found","message":"There is nothing at this path."}', 'listed']);

      const paths = pathsOf(Buffer.concat(chunks).toString('latin1'));
      const expected = Array.from({ length: files - 1 }, (_, index) => nameOf(index));
      expect(paths.length).toBe(files);
      expect(paths.slice(0, -1).every((path, index) => path === expected[index])).toBe(true);
      expect(paths.at(-1)).toBe('099/zz-late');
      expect(plane.events.at(-1)).toEqual({ event_type: 'resource_list', outcome: 'ok', status: 200, entries: files });
    },
  );

  /** The paths of a chunked listing, each entry held to what it must be. */
  function pathsOf(response: string): string[] {
    const [head = '', ...rest] = response.split('\r\n\r\n');
    expect(head.toLowerCase()).toContain('transfer-encoding: chunked');
    const { entries } = JSON.parse(unchunked(rest.join('\r\n\r\n'))) as {
      entries: { path: string; size_bytes: number; sha256: string }[];
    };
    const isSound = entries.every(
      ({ path, size_bytes: size, sha256 }) => path.endsWith('late') || (size === 1 && sha256 === aHash),
    );
    expect(isSound).toBe(true);
    return entries.map(({ path }) => path);
  }

  function unchunked(body: string): string {
    const pieces: string[] = [];
    for (let at = 0; ;) {
      const lineEnd = body.indexOf('\r\n', at);
      const length = Number.parseInt(body.slice(at, lineEnd), 16);
      if (length === 0) return pieces.join('');
      pieces.push(body.slice(lineEnd + 2, lineEnd + 2 + length));
      at = lineEnd + 2 + length + 2;
    }
  }
});
