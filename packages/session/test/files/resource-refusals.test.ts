import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { PeerHandles } from '../../src/files/peer-handles.ts';
import { ExportedWorkdir, get, refusalOf } from './exported-workdir.ts';
import { ask } from '../../../kit/test/http/raw-client.ts';

let plane: ExportedWorkdir;

beforeEach(() => {
  plane = new ExportedWorkdir();
});

afterEach(() => plane.close());

describe('a path on the wire', () => {
  beforeEach(() => {
    mkdirSync(join(plane.out, 'dir'));
    writeFileSync(join(plane.out, 'a.txt'), 'a');
    writeFileSync(join(plane.out, 'dir', 'b c.txt'), 'b');
    writeFileSync(join(plane.base, 'workdir', 'secret.txt'), 'secret');
    symlinkSync('a.txt', join(plane.out, 'inside'));
    symlinkSync('../secret.txt', join(plane.out, 'outside'));
  });

  it.each([
    ['a.txt', 'a'],
    ['dir/b%20c.txt', 'b'],
    ['dir%2Fb%20c.txt', 'b'],
    ['%61.txt', 'a'],
  ])('%s is decoded and read [D3-PATH-02]', async (path, body) => {
    expect(await get(await plane.open(), `/resources/files/${path}`)).toMatchObject({ status: 200, body });
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
    const port = await plane.open();
    expect(refusalOf(await get(port, `/resources/files/${path}`))).toBe('403 outside_root');
    expect(plane.events).toMatchObject([{ event_type: 'resource_read', outcome: 'outside_root', status: 403 }]);
  });

  it.each([
    ['none', '404 not_found'],
    ['a.txt/none', '404 not_found'],
    ['dir', '403 not_a_regular_file'],
    ['%252e%252e', '404 not_found'],
    ['a'.repeat(5000), '404 not_found'],
  ])('%s is refused [D3-ERR-04] [D3-ERR-08]', async (path, refusal) => {
    expect(refusalOf(await get(await plane.open(), `/resources/files/${path}`))).toBe(refusal);
  });

  it('through a link is refused under scoped alone [D3-PATH-08] [D3-ERR-07]', async () => {
    expect(refusalOf(await get(await plane.open({ achieved: 'scoped' }), '/resources/files/inside'))).toBe(
      '403 symlink_refused',
    );
    expect((await get(await plane.open({ achieved: 'advisory' }), '/resources/files/inside')).body).toBe('a');
  });

  it('leads nowhere while the root does not exist [D3-EXPORT-01] [D3-ERR-04]', async () => {
    const port = await plane.open({ files: { root: 'later', max_bytes: 10 } });
    expect(refusalOf(await get(port, '/resources/files/a.txt'))).toBe('404 not_found');
    mkdirSync(join(plane.base, 'workdir', 'later'));
    writeFileSync(join(plane.base, 'workdir', 'later', 'a.txt'), 'now');
    expect((await get(port, '/resources/files/a.txt')).body).toBe('now');
  });

  it('outside the two planes is nothing', async () => {
    const port = await plane.open();
    for (const path of [
      '/resources/',
      '/resources/filesx',
      '/resources/Files',
      '/resources/../resources/files',
      `/resources/x/mh1%2E${'e'.repeat(100)}.b`,
    ]) {
      expect(refusalOf(await get(port, path))).toBe('404 not_found');
    }
    expect(plane.events.at(-1)).toMatchObject({
      path: expect.stringMatching(/^\/resources\/x\/<handle:[0-9a-f]{16}>$/) as string,
    });
  });
});

describe('a method other than GET', () => {
  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'MKCOL', 'OPTIONS'])(
    '%s is refused everywhere under /resources/ [D3-READ-11] [D3-READ-12] [D3-ERR-10]',
    async (method) => {
      const port = await plane.open({ files: null });
      for (const path of ['files', 'files/a', 'files/../a', 'peer', 'peer/mh1.a.b', 'none']) {
        const response = await ask(port, `${method} /resources/${path} HTTP/1.1`, { body: 'body' });
        expect(refusalOf(response)).toBe('405 method_not_allowed');
        expect(response.headers['allow']).toBe('GET');
      }
      expect(plane.events.map(({ event_type }) => event_type)).toEqual([
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
    const response = await ask(await plane.open(), 'HEAD /resources/files HTTP/1.1');
    expect(response).toMatchObject({ status: 405, body: '' });
    expect(response.headers['allow']).toBe('GET');
  });
});

const peerFiles = {
  root: 'out',
  max_bytes: 100,
  handles: new PeerHandles({ issuer: 'ses_1', now: () => 0, randomBytes: (size) => new Uint8Array(size) }),
};

describe('a plane that is not declared', () => {
  it('refuses everything, whatever the other declares [D3-PLANE-02] [D3-ERR-02] [D3-ERR-03]', async () => {
    writeFileSync(join(plane.out, 'a.txt'), 'a');
    const neither = await plane.open({ files: null });
    const operator = await plane.open();
    const peer = await plane.open({ files: null, peerFiles });
    for (const port of [neither, peer]) {
      expect(refusalOf(await get(port, '/resources/files'))).toBe('404 no_resource_plane');
      expect(refusalOf(await get(port, '/resources/files/a.txt'))).toBe('404 no_resource_plane');
    }
    for (const port of [neither, operator]) {
      expect(refusalOf(await get(port, '/resources/peer/mh1.a.b'))).toBe('404 no_peer_plane');
    }
    expect(refusalOf(await get(peer, '/resources/peer/mh1.a.b'))).toBe('400 malformed_handle');
  });

  it('keeps the handle out of the record', async () => {
    await get(await plane.open(), '/resources/peer/mh1.a.b');
    expect(plane.events).toEqual([
      { event_type: 'peer_handle_redeem', handle_id: '595d7a2c8b40a835', outcome: 'no_peer_plane', status: 404 },
    ]);
  });

  it('has no list of peers even when it is declared [D3-ERR-05]', async () => {
    const port = await plane.open({ peerFiles });
    expect(refusalOf(await get(port, '/resources/peer'))).toBe('404 not_found');
    expect(refusalOf(await get(port, '/resources/peer/'))).toBe('404 not_found');
  });
});
