import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { refusalOf } from './exported-workdir.ts';
import { PeerExport, redeem } from './peer-export.ts';
import { ask } from '../../../kit/test/http/raw-client.ts';

let peer: PeerExport;

beforeEach(() => {
  peer = new PeerExport();
});

afterEach(() => peer.close());

describe('a redeem', () => {
  it('answers the bytes of the file and its validators [D3-PLANE-04] [D3-PEER-01] [D3-PEER-03] [D3-PEER-04] [D3-PEER-07] [D3-HANDLE-09]', async () => {
    writeFileSync(join(peer.out, 'a.bin'), Buffer.from([0, 1, 2, 255]));
    utimesSync(join(peer.out, 'a.bin'), 1_600_000_000.5, 1_600_000_000.5);
    peer.workdir.generation = 7;
    const handle = peer.mint('a.bin');
    const { status, headers, body } = await redeem(await peer.open(), handle);
    const { date, ...rest } = headers;
    expect({ status, body }).toEqual({ status: 200, body: '\u0000\u0001\u0002\u00ff' });
    expect(date).toBeDefined();
    expect(rest).toEqual({
      'content-type': 'application/octet-stream',
      'content-length': '4',
      etag: '"sha256:3d1f57c984978ef98a18378c8166c1cb8ede02c03eeb6aee7e2f121dfeee3e56"',
      'x-svc-mtime-ms': '1600000000500',
      'x-svc-generation': '7',
      'x-svc-containment': 'sealed',
      'x-svc-handle-id': createHash('sha256').update(handle).digest('hex').slice(0, 16),
      connection: 'close',
    });
  });

  it('gives the file as it is now, whichever version was minted for [D3-HANDLE-08] [D3-GEN-03]', async () => {
    const handle = peer.mint('a.txt');
    const port = await peer.open();
    expect(refusalOf(await redeem(port, handle))).toBe('404 not_found');
    writeFileSync(join(peer.out, 'a.txt'), 'one');
    expect((await redeem(port, handle)).body).toBe('one');
    writeFileSync(join(peer.out, 'a.txt'), 'two');
    expect((await redeem(port, handle)).body).toBe('two');
  });

  it('leaves the handle as valid as it was [D3-HANDLE-11] [D3-LIMIT-06]', async () => {
    writeFileSync(join(peer.out, 'a.txt'), 'a');
    const handle = peer.mint('a.txt');
    const port = await peer.open();
    for (let times = 0; times < 20; times += 1) expect((await redeem(port, handle)).status).toBe(200);
  });

  it('has the same etag and another generation after a task [D3-GEN-05]', async () => {
    writeFileSync(join(peer.out, 'a.txt'), 'a');
    const handle = peer.mint('a.txt');
    const port = await peer.open();
    const before = (await redeem(port, handle)).headers;
    peer.workdir.generation += 1;
    const after = (await redeem(port, handle)).headers;
    expect([before['x-svc-generation'], after['x-svc-generation']]).toEqual(['0', '1']);
    expect(after['etag']).toBe(before['etag']);
  });

  it('takes the path as it is, not as an escape would read [D3-HANDLE-05]', async () => {
    writeFileSync(join(peer.out, 'a%62.txt'), 'percent');
    writeFileSync(join(peer.out, 'ab.txt'), 'letter');
    writeFileSync(join(peer.out, 'ü ö.txt'), 'umlauts');
    const port = await peer.open();
    expect((await redeem(port, peer.mint('a%62.txt'))).body).toBe('percent');
    expect((await redeem(port, peer.mint('ü ö.txt'))).body).toBe('umlauts');
  });

  it('serves a file of max_bytes and none above [D3-EXPORT-05] [D3-ERR-09]', async () => {
    writeFileSync(join(peer.out, 'full'), 'a'.repeat(100));
    writeFileSync(join(peer.out, 'over'), 'a'.repeat(101));
    const port = await peer.open({ files: { root: 'out', max_bytes: 1_000 } });
    expect((await redeem(port, peer.mint('full'))).headers['content-length']).toBe('100');
    expect(refusalOf(await redeem(port, peer.mint('over')))).toBe('413 too_large');
  });

  it('reads below its own root alone, whatever operators may read [D3-EXPORT-04] [D3-PLANE-02]', async () => {
    mkdirSync(join(peer.out, 'shared'));
    writeFileSync(join(peer.out, 'shared', 'a.txt'), 'shared');
    writeFileSync(join(peer.out, 'a.txt'), 'not shared');
    const peerFiles = { root: 'out/shared', max_bytes: 100, handles: peer.handles };
    const port = await peer.open({ files: { root: '.', max_bytes: 100 }, peerFiles });
    expect((await redeem(port, peer.mint('a.txt'))).body).toBe('shared');
    expect((await ask(port, 'GET /resources/files/out/a.txt HTTP/1.1')).body).toBe('not shared');
  });
});

describe('what a handle leads to', () => {
  it.each(['', '.', '..', '/etc/passwd', '../a.txt', 'dir/../../a.txt', 'dir//a.txt', './a.txt', 'a.txt/', 'a\0.txt'])(
    '%j is refused without a look [D3-PATH-03] [D3-ERR-06]',
    async (path) => {
      writeFileSync(join(peer.out, 'a.txt'), 'a');
      expect(refusalOf(await redeem(await peer.open(), peer.mint(path)))).toBe('403 outside_root');
    },
  );

  it('may have become something else since [D3-ERR-04] [D3-ERR-06] [D3-ERR-07] [D3-ERR-08]', async () => {
    writeFileSync(join(peer.out, 'a.txt'), 'a');
    mkdirSync(join(peer.out, 'dir'));
    symlinkSync('/etc/passwd', join(peer.out, 'leaves'));
    symlinkSync('a.txt', join(peer.out, 'stays'));
    const sealed = await peer.open();
    expect(refusalOf(await redeem(sealed, peer.mint('dir')))).toBe('403 not_a_regular_file');
    expect(refusalOf(await redeem(sealed, peer.mint('leaves')))).toBe('403 outside_root');
    expect(refusalOf(await redeem(sealed, peer.mint('a.txt/b')))).toBe('404 not_found');
    expect((await redeem(sealed, peer.mint('stays'))).body).toBe('a');
    const scoped = await peer.open({ achieved: 'scoped' });
    expect(refusalOf(await redeem(scoped, peer.mint('stays')))).toBe('403 symlink_refused');
    expect(refusalOf(await redeem(scoped, peer.mint('leaves')))).toBe('403 outside_root');
    renameSync(peer.out, `${peer.out}-away`);
    expect(refusalOf(await redeem(sealed, peer.mint('a.txt')))).toBe('404 not_found');
    symlinkSync('/etc', peer.out);
    expect(refusalOf(await redeem(sealed, peer.mint('passwd')))).toBe('403 outside_root');
  });
});

describe('the peer plane as a place', () => {
  it.each(['/resources/peer', '/resources/peer/'])(
    'lists nothing at %s [D3-PEER-05] [D3-PEER-06] [D3-ERR-05]',
    async (path) => {
      const port = await peer.open();
      expect(refusalOf(await ask(port, `GET ${path} HTTP/1.1`))).toBe('404 not_found');
      expect(refusalOf(await redeem(port, '', ['x-svc-audience: reader@localhost:4100']))).toBe('404 not_found');
    },
  );

  it('has no paths: a file of the root is no handle [D3-PEER-06] [D3-ERR-12]', async () => {
    writeFileSync(join(peer.out, 'a.txt'), 'a');
    const port = await peer.open();
    expect(statSync(join(peer.out, 'a.txt')).size).toBe(1);
    for (const path of ['a.txt', 'files/a.txt', '../files/a.txt', 'out/a.txt']) {
      expect(refusalOf(await redeem(port, path))).toBe('400 malformed_handle');
    }
  });

  it.each(['POST', 'PUT', 'DELETE', 'HEAD', 'PATCH'])(
    'takes no %s, not even with a handle [D3-READ-11] [D3-ERR-10]',
    async (method) => {
      writeFileSync(join(peer.out, 'a.txt'), 'a');
      const handle = peer.mint('a.txt');
      const headers = ['x-svc-audience: reader@localhost:4100'];
      const response = await ask(await peer.open(), `${method} /resources/peer/${handle} HTTP/1.1`, { headers });
      expect(response.status).toBe(405);
      expect(response.headers['allow']).toBe('GET');
    },
  );
});
