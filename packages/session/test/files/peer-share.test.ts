import { createHash, createHmac } from 'node:crypto';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { ExportRoot } from '../../src/files/export-root.ts';
import { createShareFileTool, type ShareFileSettings } from '../../src/files/share-file-tool.ts';
import { PeerExport, redeem } from './peer-export.ts';
import { closedPort } from '../../../../test/support/closed-port.ts';
import { allowed, callTool, FakePeer, type CalledTool } from './peer-tool.ts';

let sharing: PeerExport;
let peer: FakePeer;
let answer: RequestListener;

beforeEach(async () => {
  sharing = new PeerExport();
  writeFileSync(join(sharing.out, 'a.txt'), 'a');
  answer = (_, response) => response.end(JSON.stringify({ name: 'reader', url: 'localhost:4100' }));
  peer = await FakePeer.open((request, response) => answer(request, response));
});

afterEach(async () => {
  await peer.close();
  await sharing.close();
});

function settings(achieved: 'advisory' | 'scoped' = 'advisory'): ShareFileSettings {
  const workdir = join(sharing.workdir.base, 'workdir');
  return {
    root: new ExportRoot({ workdir, root: 'out', achieved }),
    handles: sharing.handles,
    maxTtlMs: 60_000,
    networkAllow: allowed('127.0.0.1'),
  };
}

function share(args: Record<string, unknown> = {}, changed: Partial<ShareFileSettings> = {}): Promise<CalledTool> {
  return callTool(createShareFileTool({ ...settings(), ...changed }), { path: 'a.txt', peer: peer.address, ...args });
}

interface Shared {
  readonly handle: string;
  readonly handle_id: string;
  readonly expires_at_ms: number;
  readonly audience: string;
}

function resultOf({ status, content }: CalledTool): Shared {
  expect({ status, content }).toMatchObject({ status: 'passed' });
  return JSON.parse(content) as Shared;
}

function payloadOf({ handle }: Shared): Record<string, unknown> {
  const [, payload = ''] = handle.split('.');
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
}

/** An outcome that the model reads in the runtime's own words. */
function refusal(called: CalledTool): string {
  expect(called).toMatchObject({ status: 'failed', reached: false, events: [] });
  return called.content;
}

describe('a shared file', () => {
  it('gives a handle, its id, its end and its audience, and no path [D3-TOOL-02] [D3-TOOL-03] [D3-TOOL-08] [D3-TOOL-09] [D3-HANDLE-03] [D3-HANDLE-04] [D3-HANDLE-05] [D3-HANDLE-06]', async () => {
    const called = await share();
    const result = resultOf(called);
    expect(Object.entries(result)).toEqual([
      ['handle', result.handle],
      ['handle_id', createHash('sha256').update(result.handle).digest('hex').slice(0, 16)],
      ['expires_at_ms', 1_700_000_060_000],
      ['audience', 'reader@localhost:4100'],
    ]);
    expect(payloadOf(result)).toEqual({
      v: 1,
      iss: 'ses_0123456789abcdef0123456789abcdef',
      p: 'a.txt',
      exp: 1_700_000_060_000,
      n: '02020202020202020202020202020202',
    });
    expect(called.content).not.toContain('a.txt');
    expect(called.content).not.toContain(sharing.workdir.base);
  });

  it('has a handle with a readable payload and its MAC under the key of the session; the audience is authenticated, not contained [D3-HANDLE-01] [D3-HANDLE-02] [D3-HANDLE-08] [D3-AUD-01] [D3-AUD-02] [D3-AUD-03] [D3-VER-04]', async () => {
    const { handle } = resultOf(await share());
    const [key] = sharing.random;
    expect(key).toHaveLength(32);
    const [prefix, payload = '', mac, ...rest] = handle.split('.');
    expect([prefix, rest]).toEqual(['mh1', []]);
    const told = Buffer.from(payload, 'base64url');
    expect(told.toString('base64url')).toBe(payload);
    expect(told.toString()).toBe(
      '{"v":1,"iss":"ses_0123456789abcdef0123456789abcdef","p":"a.txt","exp":1700000060000,"n":"02020202020202020202020202020202"}',
    );
    const input = `svc-peer-handle-v1\x1f${payload}\x1freader@localhost:4100`;
    expect(mac).toBe(
      createHmac('sha256', key ?? '')
        .update(input)
        .digest('base64url'),
    );
  });

  it('has no padding, whatever its length is [D3-HANDLE-01]', async () => {
    for (const path of ['b.txt', 'bc.txt', 'bcd.txt']) {
      writeFileSync(join(sharing.out, path), path);
      expect(resultOf(await share({ path })).handle).toMatch(/^mh1\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$/);
    }
  });

  it('reaches that audience and no other [D3-TOOL-08] [D3-AUTH-09]', async () => {
    const { handle } = resultOf(await share());
    const port = await sharing.open();
    expect(await redeem(port, handle)).toMatchObject({ status: 200, body: 'a' });
    expect((await redeem(port, handle, ['x-svc-audience: third@localhost:4101'])).status).toBe(403);
  });

  it('stands in the record with the id of its handle [D3-TRACE-03] [D3-TRACE-06]', async () => {
    const called = await share();
    expect(called.events).toEqual([
      {
        event_type: 'peer_handle_mint',
        handle_id: resultOf(called).handle_id,
        outcome: 'ok',
        path: 'a.txt',
        audience: 'reader@localhost:4100',
        expires_at_ms: 1_700_000_060_000,
      },
    ]);
  });

  it('gets no handle when it cannot be recorded [D3-TRACE-01]', async () => {
    const tool = createShareFileTool(settings());
    const called = await callTool(tool, { path: 'a.txt', peer: peer.address }, { records: false });
    expect(called).toMatchObject({ status: 'failed', reached: false });
    expect(called.content).not.toContain('mh1.');
  });
});

describe('the path of a file to share', () => {
  it.each([
    '',
    '/etc/passwd',
    '../secret.txt',
    'dir/../a.txt',
    'dir/../../secret.txt',
    '..',
    '%2e%2e/secret.txt',
    '%2E%2e%2fsecret.txt',
    'dir%2f..%2fa.txt',
    '.%2e/secret.txt',
    '%2Fetc/passwd',
    'a.txt%00',
    'a.txt\0',
    'leaves',
    'leaves-dir/passwd',
    'leaves-nowhere',
  ])('%j leaves the root and is never normalised [D3-ERR-17]', async (path) => {
    mkdirSync(join(sharing.out, 'dir'));
    writeFileSync(join(sharing.out, '..', 'secret.txt'), 'secret');
    symlinkSync('../secret.txt', join(sharing.out, 'leaves'));
    symlinkSync('/etc', join(sharing.out, 'leaves-dir'));
    symlinkSync('/nowhere', join(sharing.out, 'leaves-nowhere'));
    expect(refusal(await share({ path }))).toBe('outside_root: The path leaves the export root.');
    expect(peer.connections).toBe(0);
  });

  it.each([
    ['none.txt', 'not_found: There is nothing at this path.'],
    ['a.txt/b', 'not_found: There is nothing at this path.'],
    ['a%2etxt', 'not_found: There is nothing at this path.'],
    ['%252e%252e%252fsecret.txt', 'not_found: There is nothing at this path.'],
    ['dir', 'not_a_regular_file: The path names something that is not a regular file.'],
    ['.', 'not_a_regular_file: The path names something that is not a regular file.'],
    ['./', 'not_a_regular_file: The path names something that is not a regular file.'],
  ])('%j is refused before the peer is asked [D3-TOOL-02]', async (path, text) => {
    mkdirSync(join(sharing.out, 'dir'));
    expect(refusal(await share({ path }))).toBe(text);
    expect(peer.connections).toBe(0);
  });

  it.each([
    ['./a.txt', 'a.txt'],
    ['dir//b.txt', 'dir/b.txt'],
    ['link.txt', 'a.txt'],
    ['linked/b.txt', 'dir/b.txt'],
    ['a%62.txt', 'a%62.txt'],
    ['100% sure.txt', '100% sure.txt'],
    ['ü.txt', 'ü.txt'],
  ])('%j is canonical in the handle: %j [D3-HANDLE-05]', async (path, canonical) => {
    mkdirSync(join(sharing.out, 'dir'));
    for (const name of ['dir/b.txt', 'a%62.txt', '100% sure.txt', 'ü.txt'])
      writeFileSync(join(sharing.out, name), name);
    symlinkSync('a.txt', join(sharing.out, 'link.txt'));
    symlinkSync('dir', join(sharing.out, 'linked'));
    expect(payloadOf(resultOf(await share({ path })))['p']).toBe(canonical);
  });

  it('goes through no link where the class refuses them [D3-ERR-07]', async () => {
    symlinkSync('a.txt', join(sharing.out, 'link.txt'));
    expect(refusal(await share({ path: 'link.txt' }, settings('scoped')))).toMatch(/^symlink_refused: /);
    expect(resultOf(await share({ path: 'a.txt' }, settings('scoped'))).audience).toBe('reader@localhost:4100');
  });
});

describe('the life that is asked for', () => {
  it.each([
    [undefined, 60_000],
    ['30s', 30_000],
    ['0.5m', 30_000],
    [1, 1000],
    ['1m', 60_000],
    ['61s', 60_000],
    ['1h', 60_000],
    ['900h', 60_000],
    ['999999999h', 60_000],
    ['99999999999h', 60_000],
    [`${'9'.repeat(400)}s`, 60_000],
    [9_007_199_254_740_991, 60_000],
    [1e16, 60_000],
    [1e300, 60_000],
    // What 1e400 is when JSON is read.
    [Number.POSITIVE_INFINITY, 60_000],
    ['0.0001s', 1],
  ])('%j is %d ms [D3-TOOL-04] [D3-TOOL-05] [D3-LIMIT-05]', async (ttl, ms) => {
    const args = ttl === undefined ? {} : { ttl };
    expect(resultOf(await share(args)).expires_at_ms).toBe(1_700_000_000_000 + ms);
  });

  it.each([0, -1, 1.5, -1e300, NaN, '', '0s', '-5s', '5', '1d', 'soon', '1e3s', ' 5s'])('cannot be %j', async (ttl) => {
    expect(refusal(await share({ ttl }))).toMatch(/^invalid_ttl: ttl must be /);
    expect(peer.connections).toBe(0);
  });
});

describe('the peer to share with', () => {
  it('gets a request for its card alone [D3-AUD-04]', async () => {
    await share();
    expect(peer.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(['GET /.well-known/agent-card.json']);
  });

  it.each([
    [{ name: 'Reader', url: 'LOCALHOST:4100' }, 'reader@localhost:4100'],
    [{ name: 'reader', url: 'http://Peer.Example:4100/', more: [1] }, 'reader@peer.example:4100'],
    [{ name: 'reader', url: 'https://peer.example' }, 'reader@peer.example:443'],
    [{ name: 'reader', url: 'a:1', serves: null, version: 2 }, 'reader@a:1'],
    [{ name: 'reader', url: 'a:1', session_id: 7, capabilities: [], serves: { methods: 'all' } }, 'reader@a:1'],
  ])('with the card %j counts as %s [D3-AUD-04] [D3-AUD-05]', async (card, audience) => {
    answer = (_, response) => response.end(JSON.stringify(card));
    expect(resultOf(await share()).audience).toBe(audience);
  });

  it('may be named by a URL [D3-TOOL-03]', async () => {
    expect(resultOf(await share({ peer: `http://${peer.address}/` })).audience).toBe('reader@localhost:4100');
  });

  it.each([
    ['peer.example', 'invalid_peer: peer has no port: name it as host:port.'],
    ['ftp://peer.example', 'invalid_peer: peer has a scheme that is not http or https: name it as host:port.'],
    ['http://peer.example/card', 'invalid_peer: peer has a path: name it as host:port.'],
  ])('%s is no address', async (address, text) => {
    expect(refusal(await share({ peer: address }))).toBe(text);
  });

  it('gets no request unless capabilities.network.allow covers it [D3-AUD-06] [D3-ERR-18]', async () => {
    const text = refusal(await share({}, { networkAllow: allowed('peer.example', `localhost:${peer.port}`) }));
    expect(text).toBe(
      `peer_unreachable: The peer cannot be reached: capabilities.network.allow does not cover http://${peer.address}.`,
    );
    expect(refusal(await share({}, { networkAllow: [] }))).toMatch(/^peer_unreachable: /);
    expect(refusal(await share({}, { networkAllow: allowed(`https://${peer.address}`) }))).toMatch(
      /^peer_unreachable: /,
    );
    expect(peer.connections).toBe(0);
  });

  it('gets no request at an address that the grant does not name, whatever its name resolves to [D3-AUD-06]', async () => {
    const resolver = { resolve: () => Promise.resolve({ kind: 'addresses', addresses: ['127.0.0.1'] } as const) };
    const named = { peer: `peer.example:${peer.port}` };
    expect(refusal(await share(named, { networkAllow: allowed('peer.example'), resolver }))).toBe(
      'peer_unreachable: The peer cannot be reached: its name resolves to an address that the grant does not name.',
    );
    expect(peer.connections).toBe(0);
    const both = { networkAllow: allowed('peer.example', '127.0.0.1'), resolver };
    expect(resultOf(await share(named, both)).audience).toBe('reader@localhost:4100');
  });

  it('has to listen [D3-AUD-07] [D3-ERR-18]', async () => {
    expect(refusal(await share({ peer: `127.0.0.1:${await closedPort()}` }))).toBe(
      'peer_unreachable: The peer cannot be reached: nothing listens there.',
    );
  });

  it.each([
    ['{"url":"localhost:4100"}'],
    ['{"name":"reader"}'],
    ['{"name":"","url":"localhost:4100"}'],
    ['{"name":"reader","url":""}'],
    ['{"name":1,"url":"localhost:4100"}'],
    ['[]'],
    ['null'],
    ['not json'],
    [''],
  ])('has to say who it is: %s does not [D3-AUD-07] [D3-ERR-18]', async (card) => {
    answer = (_, response) => response.end(card);
    expect(refusal(await share())).toBe('peer_unreachable: The peer cannot be reached: its card has no name and url.');
  });

  it.each([
    ['{"name":"a@b","url":"localhost:4100"}'],
    ['{"name":"a b","url":"localhost:4100"}'],
    ['{"name":"Jürgen","url":"localhost:4100"}'],
    ['{"name":"reader","url":"localhost"}'],
    ['{"name":"reader","url":"http://localhost:4100/card"}'],
  ])('has to be one that can say so when it fetches: %s cannot', async (card) => {
    answer = (_, response) => response.end(card);
    expect(refusal(await share())).toBe(
      'peer_unreachable: The peer cannot be reached: its agent card has a name or URL that is not valid in a header.',
    );
  });

  it('fails with any other status, and svc follows no redirect [D3-AUD-06] [D3-AUD-07]', async () => {
    const elsewhere = await FakePeer.open((_, response) => response.end('{"name":"evil","url":"evil:1"}'));
    answer = (_, response) => response.writeHead(302, { location: `http://${elsewhere.address}/` }).end();
    expect(refusal(await share())).toBe(
      'peer_unreachable: The peer cannot be reached: it answered 302 when asked for its card.',
    );
    expect(elsewhere.connections).toBe(0);
    await elsewhere.close();
    answer = (_, response) => response.writeHead(500).end('{"name":"reader","url":"localhost:4100"}');
    expect(refusal(await share())).toMatch(/^peer_unreachable: .* answered 500 /);
  });

  it('fails when its card does not end, in time or in size [D3-AUD-07]', async () => {
    answer = (_, response) => response.end(`{"name":"reader","url":"localhost:4100","x":"${'x'.repeat(65_536)}"}`);
    expect(refusal(await share())).toMatch(/^peer_unreachable: .* its card is larger than 65536 bytes\.$/);
    answer = (_, response) => response.write('{"name":');
    for (const times of [
      { idleMs: 20, totalMs: 60_000 },
      { idleMs: 60_000, totalMs: 20 },
    ]) {
      expect(refusal(await share({}, { times }))).toMatch(/^peer_unreachable: .* it does not answer in time\.$/);
    }
    answer = (_, response) => response.writeHead(200, { 'content-length': 100 }).end('{"name":').destroy();
    expect(refusal(await share())).toMatch(
      /^peer_unreachable: .* the connection was closed before everything had gone over it\.$/,
    );
    answer = (request) => request.socket.end('SSH-2.0-OpenSSH\r\n');
    expect(refusal(await share())).toMatch(
      /^peer_unreachable: .* what it answers is not HTTP \(HPE_INVALID_CONSTANT\)\.$/,
    );
  });

  it('gets no handle when the task is canceled', async () => {
    const cancel = new AbortController();
    const reason = new Error('canceled');
    answer = () => cancel.abort(reason);
    const tool = createShareFileTool(settings());
    await expect(callTool(tool, { path: 'a.txt', peer: peer.address }, { signal: cancel.signal })).rejects.toBe(reason);
    // The key alone.
    expect(sharing.random).toHaveLength(1);
  });
});
