import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { type SessionPeerFiles, stagePeerFiles } from '@svc/capsule/stage/stage-peer-files.ts';
import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import { mintSessionId } from '@svc/protocol/ids.ts';
import { refusalOf } from './exported-workdir.ts';
import { PeerExport, redeem } from './peer-export.ts';
import { allowed, callTool, FakePeer } from './peer-tool.ts';

let sharing: PeerExport;
let peer: FakePeer;
/** Every array of random bytes that was given out, the key first. */
let random: Uint8Array[];

beforeEach(async () => {
  sharing = new PeerExport();
  writeFileSync(join(sharing.out, 'a.txt'), 'a');
  peer = await FakePeer.open((_, response) => response.end('{"name":"reader","url":"localhost:4100"}'));
  random = [];
});

afterEach(async () => {
  await peer.close();
  await sharing.close();
});

const clock = {
  now: () => 1_700_000_000_000,
  randomBytes: (size: number): Uint8Array => {
    const bytes = new Uint8Array(size).fill(7);
    random.push(bytes);
    return bytes;
  },
};

/** What a session stages for a manifest that declares `exports` so. */
async function staged(exports: string): Promise<SessionPeerFiles> {
  const text = `name: demo\nversion: 1.0.0\ninference: { driver: { artifact: svc-driver-script } }\nexports: ${exports}\n`;
  const { manifest } = loadCapsuleManifest({ file: '/project/svc.yaml', text, env: {} });
  return await stagedWith(manifest.exports);
}

async function stagedWith(exports: CapsuleManifest['exports']): Promise<SessionPeerFiles> {
  return await stagePeerFiles({
    launch: {
      loaded: { manifest: { name: 'demo', exports } },
      scope: { containment: { achieved: 'advisory' } },
      grants: {
        networkAllow: allowed('127.0.0.1'),
        bindings: [],
        peerFetchAllow: [],
        resources: { workdir_max_bytes: 1000 },
      },
    },
    sessionId: mintSessionId({ ...clock, randomBytes: (size) => new Uint8Array(size) }),
    url: 'localhost:4000',
    workdir: join(sharing.workdir.base, 'workdir'),
    clock,
  });
}

/** Calls its `share-file` for `a.txt`. */
async function share({ tools: [tool] }: SessionPeerFiles, args: Record<string, unknown> = {}): Promise<Shared> {
  if (tool === undefined) throw new Error('no share-file');
  const { status, content } = await callTool(tool, { path: 'a.txt', peer: peer.address, ...args });
  expect({ status, content }).toMatchObject({ status: 'passed' });
  return JSON.parse(content) as Shared;
}

interface Shared {
  readonly handle: string;
  readonly expires_at_ms: number;
}

describe('a max_ttl of the manifest', () => {
  it.each([
    ['15m', 900_000],
    ['2.3333s', 2333],
    ['1.001s', 1001],
    ['4.0009s', 4000],
    ['0.000333h', 1198],
    [7, 7000],
  ])(
    'gives, at %s, a handle that lives for %d ms, whole, and redeems [D3-TOOL-05] [D3-HANDLE-06]',
    async (maxTtl, ms) => {
      const files = await staged(`{ peer_files: { root: out, max_ttl: ${maxTtl} } }`);
      const { handle, expires_at_ms } = await share(files);
      expect(expires_at_ms).toBe(1_700_000_000_000 + ms);
      const port = await sharing.open({ peerFiles: files.served });
      expect(await redeem(port, handle)).toMatchObject({ status: 200, body: 'a' });
    },
  );

  it('holds against a ttl with a fraction [D3-LIMIT-05]', async () => {
    const files = await staged('{ peer_files: { root: out, max_ttl: 2.3333s } }');
    expect((await share(files, { ttl: '2.3333s' })).expires_at_ms).toBe(1_700_000_002_333);
    expect((await share(files, { ttl: '1.23456s' })).expires_at_ms).toBe(1_700_000_001_234);
  });
});

describe('a handle that is asked to live for a fraction of a millisecond', () => {
  it('expires at a whole one and redeems [D3-HANDLE-06]', async () => {
    const { handle, expiresAtMs } = sharing.handles.mint({
      path: 'a.txt',
      audience: 'reader@localhost:4100',
      ttlMs: 1500.7,
    });
    expect(expiresAtMs).toBe(1_700_000_001_500);
    expect((await redeem(await sharing.open(), handle)).status).toBe(200);
  });
});

describe('the minting key of a session', () => {
  it('has 32 random bytes, and exists only where files are shared with peers [D3-AUTH-10] [D3-LIMIT-08]', async () => {
    const none = await staged('{ files: { root: out } }');
    expect({ tools: none.tools, served: none.served, random }).toEqual({ tools: [], served: null, random: [] });
    none.close();
    await staged('{ peer_files: { root: out } }');
    expect(random).toEqual([new Uint8Array(32).fill(7)]);
  });

  it('disappears at its end, and no handle of it redeems any more [D3-AUTH-11] [D3-HANDLE-13]', async () => {
    const files = await staged('{ peer_files: { root: out } }');
    const { handle } = await share(files);
    const port = await sharing.open({ peerFiles: files.served });
    expect((await redeem(port, handle)).status).toBe(200);
    files.close();
    expect(random[0]).toEqual(new Uint8Array(32));
    expect(refusalOf(await redeem(port, handle))).toBe('403 handle_not_valid');
  });

  it('disappears when the session cannot be staged [D3-AUTH-11]', async () => {
    const unsettled = { peer_files: { root: '../out', max_bytes: 100, max_ttl: 60 } };
    await expect(stagedWith(unsettled)).rejects.toThrow('the manifest let an export root leave the workdir: ../out');
    expect(random).toEqual([new Uint8Array(32)]);
  });
});
