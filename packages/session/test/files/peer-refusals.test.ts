import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { refusalOf } from './exported-workdir.ts';
import { PeerExport, redeem } from './peer-export.ts';
import { ask, type RawResponse } from '../../../kit/test/http/raw-client.ts';

let peer: PeerExport;

beforeEach(() => {
  peer = new PeerExport();
  writeFileSync(join(peer.out, 'a.txt'), 'a');
});

afterEach(() => peer.close());

/** A token with something else in place of its payload. */
function withPayload(handle: string, payload: string): string {
  const [prefix, , mac] = handle.split('.');
  return [prefix, Buffer.from(payload).toString('base64url'), mac].join('.');
}

function payloadOf(handle: string): string {
  return Buffer.from(handle.split('.')[1] ?? '', 'base64url').toString();
}

/** All of a response but its date. */
function bytesOf({ head, body }: RawResponse): string {
  return `${head.replace(/\r\ndate: [^\r]*/i, '')}\r\n\r\n${body}`;
}

describe('the audience of a handle', () => {
  it('must stand in the request [D3-PEER-01] [D3-ERR-13]', async () => {
    const port = await peer.open();
    const handle = peer.mint('a.txt');
    expect(refusalOf(await redeem(port, handle, []))).toBe('400 missing_audience');
    expect(refusalOf(await redeem(port, handle, ['x-svc-audience:']))).toBe('400 missing_audience');
    expect(refusalOf(await redeem(port, handle, ['x-svc-audience:   \t ']))).toBe('400 missing_audience');
  });

  it.each([
    'other@localhost:4100',
    'reader@localhost:4101',
    'reader@127.0.0.1:4100',
    'Reader@localhost:4100',
    'READER@LOCALHOST:4100',
    'reader',
    '@localhost:4100',
    'reader@localhost:4100/',
    'reader@localhost:4100x',
    'reader @localhost:4100',
    '*',
  ])('must match to the letter: %j is another [D3-HANDLE-15] [D3-AUTH-09] [D3-ERR-14]', async (audience) => {
    const response = await redeem(await peer.open(), peer.mint('a.txt'), [`x-svc-audience: ${audience}`]);
    expect(refusalOf(response)).toBe('403 handle_not_valid');
  });

  it.each([
    [['reader@localhost:4100', 'other@localhost:4100']],
    [['other@localhost:4100', 'reader@localhost:4100']],
    [['reader@localhost:4100', 'reader@localhost:4100']],
    [['reader@localhost:4100', '']],
  ])('counts once: %j is neither of them [D3-ERR-14]', async (audiences) => {
    const headers = audiences.map((audience) => `x-svc-audience: ${audience}`);
    expect(refusalOf(await redeem(await peer.open(), peer.mint('a.txt'), headers))).toBe('403 handle_not_valid');
  });

  it('suffices: every bearer of the handle who knows the name gets the file [D3-AUTH-07] [D3-AUTH-08]', async () => {
    const handle = peer.mint('a.txt', { audience: 'somebody@far.example:1' });
    const response = await redeem(await peer.open(), handle, ['X-SVC-Audience: somebody@far.example:1']);
    expect(response).toMatchObject({ status: 200, body: 'a' });
  });

  it('counts in a header alone', async () => {
    const handle = `${peer.mint('a.txt')}?x-svc-audience=reader@localhost:4100`;
    expect(refusalOf(await redeem(await peer.open(), handle, []))).toBe('400 missing_audience');
  });
});

describe('a handle that is not valid', () => {
  it('gives the same bytes, whatever is wrong with it [D3-ERR-14] [D3-ERR-16] [D3-HANDLE-14] [D3-HANDLE-15]', async () => {
    const port = await peer.open();
    const handle = peer.mint('a.txt');
    const other = peer.session().mint({ path: 'a.txt', audience: 'reader@localhost:4100', ttlMs: 60_000 }).handle;
    const payload = payloadOf(handle);
    const answers = await Promise.all([
      redeem(port, handle, ['x-svc-audience: other@localhost:4100']),
      redeem(port, other),
      redeem(port, withPayload(handle, payload.replace('a.txt', 'b.txt'))),
      redeem(port, withPayload(handle, payload.replace('a.txt', '../x'))),
      redeem(port, withPayload(handle, payload.replace(/"exp":\d+/, '"exp":1'))),
      redeem(port, withPayload(handle, payload.replace(/"exp":\d+/, '"exp":9999999999999'))),
      redeem(port, withPayload(handle, '{"v":1}')),
      redeem(port, handle.slice(0, -1)),
      redeem(port, `${handle.slice(0, -1)}=`),
      redeem(port, `${handle}A`),
      redeem(port, handle.slice(0, handle.lastIndexOf('.') + 1)),
      redeem(port, `${handle}/a`),
    ]);
    const [first] = answers.map(bytesOf);
    expect(first).toBe(
      [
        'HTTP/1.1 403 Forbidden',
        'content-type: application/json',
        'content-length: 88',
        'Connection: close',
        '',
        '{"error":"handle_not_valid","message":"The handle is not valid here for this audience."}',
      ].join('\r\n'),
    );
    expect(new Set(answers.map(bytesOf)).size).toBe(1);
  });

  it('dies with its session, however long it would have lived [D3-HANDLE-13] [D3-AUTH-11] [D3-AUTH-10] [D3-LIMIT-08]', async () => {
    const port = await peer.open();
    const handle = peer.mint('a.txt');
    expect((await redeem(port, handle)).status).toBe(200);
    const [key] = peer.random;
    expect(key?.length).toBe(32);
    peer.handles.close();
    expect(key).toEqual(new Uint8Array(32));
    expect(refusalOf(await redeem(port, handle))).toBe('403 handle_not_valid');
    expect(() => peer.mint('a.txt')).toThrow('after the end of the session');
  });

  it('cannot be made with the key that is left behind [D3-AUTH-11]', async () => {
    const port = await peer.open();
    const [key] = peer.random;
    peer.handles.close();
    const forger = peer.session();
    peer.random.at(-1)?.set(key ?? []);
    const { handle } = forger.mint({ path: 'a.txt', audience: 'reader@localhost:4100', ttlMs: 60_000 });
    expect(refusalOf(await redeem(port, handle))).toBe('403 handle_not_valid');
  });
});

describe('the life of a handle', () => {
  it('ends when exp is in the past, not before [D3-HANDLE-06] [D3-HANDLE-12] [D3-ERR-15]', async () => {
    const port = await peer.open();
    const handle = peer.mint('a.txt', { ttlMs: 1000 });
    expect(JSON.parse(payloadOf(handle))).toMatchObject({ exp: 1_700_000_001_000 });
    peer.now += 1000;
    expect((await redeem(port, handle)).status).toBe(200);
    peer.now += 1;
    expect(refusalOf(await redeem(port, handle))).toBe('410 handle_expired');
    peer.now -= 1;
    expect((await redeem(port, handle)).status).toBe(200);
  });

  it('gives each handle of one file and audience another nonce [D3-HANDLE-07] [D3-LIMIT-07]', () => {
    const payloads = [peer.mint('a.txt'), peer.mint('a.txt')].map(payloadOf);
    expect(payloads.map((payload) => (JSON.parse(payload) as { n: string }).n)).toEqual([
      '02020202020202020202020202020202',
      '03030303030303030303030303030303',
    ]);
    expect(peer.random.map(({ length }) => length)).toEqual([32, 16, 16]);
  });

  it('names the instance that minted it [D3-HANDLE-04]', () => {
    expect(JSON.parse(payloadOf(peer.mint('a.txt')))).toMatchObject({ iss: 'ses_0123456789abcdef0123456789abcdef' });
  });
});

describe('the checks of a redeem', () => {
  it('come in their order: form, audience, MAC, expiry, path [D3-PEER-08] [D3-PEER-09]', async () => {
    const port = await peer.open();
    const expired = peer.mint('../outside', { ttlMs: 0 });
    const gone = peer.mint('../outside');
    peer.now += 1;
    const wrong = ['x-svc-audience: other@localhost:4100'];
    expect(refusalOf(await redeem(port, 'mh1.x.y', []))).toBe('400 malformed_handle');
    expect(refusalOf(await redeem(port, withPayload(expired, '{"v":2}'), wrong))).toBe('400 malformed_handle');
    expect(refusalOf(await redeem(port, `${expired}A`, []))).toBe('400 missing_audience');
    expect(refusalOf(await redeem(port, expired, wrong))).toBe('403 handle_not_valid');
    expect(refusalOf(await redeem(port, expired))).toBe('410 handle_expired');
    expect(refusalOf(await redeem(port, gone))).toBe('403 outside_root');
  });

  it('take no spelling of a token but its own [D3-ERR-12] [D3-VER-03]', async () => {
    const port = await peer.open();
    const handle = peer.mint('a.txt');
    for (const spelling of [
      handle.replace('mh1', 'mh2'),
      handle.replace('mh1', 'MH1'),
      handle.replace('.', '%2E'),
      `/${handle}`,
      `%20${handle}`,
      `${handle}.`,
    ]) {
      expect(refusalOf(await redeem(port, spelling))).toBe('400 malformed_handle');
    }
  });
});

describe('the record of a redeem', () => {
  it('has the id of the handle and what became of it, never the token [D3-TRACE-01] [D3-TRACE-04] [D3-TRACE-06] [D3-HANDLE-10]', async () => {
    const port = await peer.open();
    const handle = peer.mint('a.txt');
    const handle_id = createHash('sha256').update(handle).digest('hex').slice(0, 16);
    await redeem(port, handle);
    await redeem(port, handle, []);
    await redeem(port, handle, ['x-svc-audience: other@localhost:4100']);
    peer.now += 60_001;
    await redeem(port, handle);
    await ask(port, `POST /resources/peer/${handle} HTTP/1.1`);
    const event_type = 'peer_handle_redeem';
    expect(peer.workdir.events).toEqual([
      { event_type, handle_id, outcome: 'ok', status: 200, bytes: 1 },
      { event_type, handle_id, outcome: 'missing_audience', status: 400 },
      { event_type, handle_id, outcome: 'handle_not_valid', status: 403 },
      { event_type, handle_id, outcome: 'handle_expired', status: 410 },
      { event_type, handle_id, outcome: 'method_not_allowed', status: 405 },
    ]);
  });

  it('keeps a token out of the paths of other requests, escaped or not [D3-TRACE-07]', async () => {
    const port = await peer.open({ files: { root: 'out', max_bytes: 10 } });
    const handle = peer.mint('a.txt');
    const secret = handle.slice(-43);
    const escaped = `${handle.replaceAll('.', '%2e').replace('mh1', '%6dh%31')}%ff`;
    for (const path of [
      `files/${handle}`,
      `files/x${handle}/y`,
      `files/${escaped}`,
      `other/${handle}`,
      `other/${escaped}`,
    ]) {
      await ask(port, `GET /resources/${path} HTTP/1.1`, { headers: ['x-svc-audience: reader@localhost:4100'] });
    }
    expect(peer.workdir.events).toHaveLength(5);
    expect(JSON.stringify(peer.workdir.events)).not.toContain(secret);
    const id = createHash('sha256').update(handle).digest('hex').slice(0, 16);
    expect(JSON.stringify(peer.workdir.events).split(`<handle:${id}>`)).toHaveLength(6);
  });
});
