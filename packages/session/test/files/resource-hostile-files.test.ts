import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { PeerHandles } from '../../src/files/peer-handles.ts';
import type { ResourcePlanesOptions } from '../../src/files/resource-routes.ts';
import { containmentClasses } from '@svc/protocol/containment-class.ts';
import { ExportedWorkdir, get, refusalOf } from './exported-workdir.ts';
import { ask } from '../../../kit/test/http/raw-client.ts';

const audience = 'reader@127.0.0.1:1';
const handles = new PeerHandles({ issuer: 'ses_files', now: () => 0, randomBytes: (size) => randomBytes(size) });

let plane: ExportedWorkdir;

beforeEach(() => {
  plane = new ExportedWorkdir();
});

afterEach(() => plane.close());

function inWorkdir(path: string): string {
  return join(plane.base, 'workdir', path);
}

/** A server of one root on both planes. */
async function open({
  root = 'out',
  ...options
}: Partial<ResourcePlanesOptions> & { root?: string } = {}): Promise<number> {
  const files = { root, max_bytes: 100 };
  return await plane.open({ files, peerFiles: { ...files, handles }, ...options });
}

/** What both planes answer, which is the same. */
async function read(port: number, path: string): Promise<string> {
  const response = await get(port, `/resources/files/${path}`);
  const { handle } = handles.mint({ path, audience, ttlMs: 1 });
  const redeemed = await ask(port, `GET /resources/peer/${handle} HTTP/1.1`, {
    headers: [`X-Svc-Audience: ${audience}`],
  });
  expect([path, redeemed.status, redeemed.body]).toEqual([path, response.status, response.body]);
  return response.status === 200 ? response.body : refusalOf(response);
}

async function listed(port: number): Promise<string[]> {
  const { body } = await get(port, '/resources/files');
  return (JSON.parse(body) as { entries: { path: string }[] }).entries.map(({ path }) => path);
}

describe('something other than a regular file', () => {
  const refusal = '403 not_a_regular_file';

  it('fails in every class, and stays out of the listing [D3-ERR-08] [D3-LIST-06] [D3-PATH-06]', async () => {
    mkdirSync(join(plane.out, 'dir'));
    writeFileSync(join(plane.out, 'dir', 'file'), 'f');
    execFileSync('mkfifo', [join(plane.out, 'fifo')]);
    const server = createServer().listen(join(plane.out, 'socket'));
    await once(server, 'listening');
    for (const achieved of containmentClasses) {
      const port = await open({ achieved });
      for (const path of ['dir', 'fifo', 'socket']) expect([path, await read(port, path)]).toEqual([path, refusal]);
      expect(await listed(port)).toEqual(['dir/file']);
    }
    server.close();
  });

  it('fails also behind a link that may be followed [D3-ERR-08]', async () => {
    mkdirSync(join(plane.out, 'dir'));
    execFileSync('mkfifo', [join(plane.out, 'fifo')]);
    symlinkSync('dir', join(plane.out, 'to-dir'));
    symlinkSync('fifo', join(plane.out, 'to-fifo'));
    symlinkSync('.', join(plane.out, 'to-root'));
    const port = await open({ achieved: 'sealed' });
    for (const path of ['to-dir', 'to-fifo', 'to-root'])
      expect([path, await read(port, path)]).toEqual([path, refusal]);
    const scoped = await open({ achieved: 'scoped' });
    for (const path of ['to-dir', 'to-fifo', 'to-root']) {
      expect([path, await read(scoped, path)]).toEqual([path, '403 symlink_refused']);
    }
  });

  it('includes a device of any kind [D3-ERR-08]', async () => {
    const port = await open({ workdir: '/dev', root: '.', achieved: 'advisory' });
    for (const path of ['null', 'zero', 'full', 'random', 'tty', 'ptmx']) {
      expect([path, await read(port, path)]).toEqual([path, refusal]);
    }
  });

  it('keeps what is in a fifo for its own reader', async () => {
    const fifo = join(plane.out, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const descriptor = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
    try {
      writeFileSync(descriptor, 'for another');
      const port = await open();
      expect(await read(port, 'fifo')).toBe(refusal);
      expect(execFileSync('head', ['-c', '11', fifo], { encoding: 'utf8' })).toBe('for another');
    } finally {
      closeSync(descriptor);
    }
  });
});

describe('a file that cannot be opened', () => {
  it('gives io_error for a lack of rights, and stays out of the listing [D3-ERR-11]', async () => {
    for (const path of ['shut', 'open/a', 'shut-dir/a']) {
      mkdirSync(join(plane.out, path, '..'), { recursive: true });
      writeFileSync(join(plane.out, path), 'a');
    }
    chmodSync(plane.base, 0o755);
    chmodSync(join(plane.out, 'shut'), 0);
    chmodSync(join(plane.out, 'shut-dir'), 0);
    const port = await open();
    await asNobodySpecial(async () => {
      expect(await read(port, 'shut')).toBe('500 io_error');
      expect(await read(port, 'shut-dir/a')).toBe('500 io_error');
      expect(await read(port, 'shut-dir/none')).toBe('500 io_error');
      expect(await read(port, 'open/a')).toBe('a');
      expect(await listed(port)).toEqual(['open/a']);
    });
    chmodSync(join(plane.out, 'shut-dir'), 0o755);
    const outcomes = plane.events.map(({ event_type: type, outcome, status }) => `${type} ${status} ${outcome}`);
    expect(outcomes).toEqual([
      'resource_read 500 io_error',
      'peer_handle_redeem 500 io_error',
      'resource_read 500 io_error',
      'peer_handle_redeem 500 io_error',
      'resource_read 500 io_error',
      'peer_handle_redeem 500 io_error',
      'resource_read 200 ok',
      'peer_handle_redeem 200 ok',
      'resource_list 200 ok',
    ]);
  });

  /** Root may open everything, so it is set aside meanwhile. */
  async function asNobodySpecial(during: () => Promise<void>): Promise<void> {
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    try {
      await during();
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  }

  it('gives io_error for links that lead to each other, and symlink_refused under scoped [D3-ERR-07] [D3-ERR-11]', async () => {
    symlinkSync('two', join(plane.out, 'one'));
    symlinkSync('one', join(plane.out, 'two'));
    symlinkSync('self/self', join(plane.out, 'self'));
    for (const [achieved, refusal] of [
      ['advisory', '500 io_error'],
      ['scoped', '403 symlink_refused'],
      ['sealed', '500 io_error'],
    ] as const) {
      const port = await open({ achieved });
      for (const path of ['one', 'two', 'one/a', 'self'])
        expect([path, await read(port, path)]).toEqual([path, refusal]);
      expect(await listed(port)).toEqual([]);
    }
  });
});

describe('a root that changes after the launch', () => {
  beforeEach(() => {
    writeFileSync(join(plane.out, 'a.txt'), 'inside');
    mkdirSync(join(plane.base, 'elsewhere'));
    writeFileSync(join(plane.base, 'elsewhere', 'a.txt'), 'secret');
  });

  function replaceOut(target: string): void {
    renameSync(plane.out, inWorkdir('away'));
    symlinkSync(target, plane.out);
  }

  async function seen(port: number): Promise<string[]> {
    const listing = await get(port, '/resources/files');
    return [
      listing.status === 200 ? 'listed' : refusalOf(listing),
      await read(port, 'a.txt'),
      await read(port, 'none'),
    ];
  }

  it.each([
    ['a link out', '../elsewhere'],
    ['an absolute link out', '/etc'],
    ['a link out to nothing', '../none'],
    ['an absolute link out to nothing', '/none/none'],
    ['a link to what is above the workdir', '..'],
    ['a link to the root of the system', '/'],
  ])(
    'gives outside_root in every class when it becomes %s [D3-ERR-06] [D3-PATH-05] [D3-PATH-09]',
    async (_what, target) => {
      replaceOut(target);
      for (const achieved of containmentClasses) {
        expect(await seen(await open({ achieved }))).toEqual([
          '403 outside_root',
          '403 outside_root',
          '403 outside_root',
        ]);
      }
    },
  );

  it('counts anew for each request', async () => {
    const port = await open();
    const whole = ['listed', 'inside', '404 not_found'];
    const out = ['403 outside_root', '403 outside_root', '403 outside_root'];
    expect(await seen(port)).toEqual(whole);
    replaceOut('../elsewhere');
    expect(await seen(port)).toEqual(out);
    rmSync(plane.out);
    symlinkSync('away', plane.out);
    expect(await seen(port)).toEqual(whole);
    rmSync(plane.out);
    expect(await seen(port)).toEqual(['listed', '404 not_found', '404 not_found']);
    writeFileSync(plane.out, 'a file');
    expect(await seen(port)).toEqual(['listed', '404 not_found', '404 not_found']);
    rmSync(plane.out);
    symlinkSync('out', plane.out);
    expect(await seen(port)).toEqual(['500 io_error', '500 io_error', '500 io_error']);
    rmSync(plane.out);
    renameSync(inWorkdir('away'), plane.out);
    expect(await seen(port)).toEqual(whole);
  });

  it('gives outside_root also when a directory above it becomes the link [D3-PATH-05]', async () => {
    mkdirSync(inWorkdir('deep/er'), { recursive: true });
    writeFileSync(inWorkdir('deep/er/a.txt'), 'inside');
    mkdirSync(join(plane.base, 'elsewhere', 'er'));
    writeFileSync(join(plane.base, 'elsewhere', 'er', 'a.txt'), 'secret');
    for (const achieved of containmentClasses) {
      const port = await open({ achieved, root: 'deep/er' });
      expect(await read(port, 'a.txt')).toBe('inside');
      renameSync(inWorkdir('deep'), inWorkdir('deep-away'));
      symlinkSync('../elsewhere', inWorkdir('deep'));
      expect(await seen(port)).toEqual(['403 outside_root', '403 outside_root', '403 outside_root']);
      rmSync(inWorkdir('deep'));
      renameSync(inWorkdir('deep-away'), inWorkdir('deep'));
    }
  });
});
