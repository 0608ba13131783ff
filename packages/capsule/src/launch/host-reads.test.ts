import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { refusedHostReads } from './host-reads.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'host-reads-')));
const at = (path: string): string => join(root, path);

function put(path: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), 'content');
}

beforeAll(() => {
  for (const path of ['sdk/lib/data', 'work/.env', 'home/.cargo/bin/cargo', 'app/svc.yaml', 'keys/.ssh/id']) put(path);
  symlinkSync(at('sdk'), at('link'));
  symlinkSync('/proc', at('processes'));
  symlinkSync(at('home/.aws'), at('aws'));
  mkdirSync(at('home/.aws'));
});
afterAll(() => rmSync(root, { recursive: true }));

const surroundings = {
  home: at('home'),
  own: [at('app')],
  given: [at('app/workdir')],
  env: { SSH_AUTH_SOCK: at('agent/socket'), XDG_RUNTIME_DIR: at('runtime'), DOCKER_HOST: `unix://${at('engine')}` },
};

function said(...paths: readonly string[]): readonly string[] {
  const how = { locate: () => ({ file: 'svc.yaml', line: 1, column: 1 }), flag: null };
  return refusedHostReads(paths, surroundings, how).map(
    ({ code, message, hint }) => `${code} ${message.replaceAll(root, 'ROOT')} (${hint?.replaceAll(root, 'ROOT')})`,
  );
}

/** What follows the path in the refusal of one. */
function why(path: string): string {
  return said(path)[0]?.replace(/^.*is not opened to programs: it /, '') ?? 'opened';
}

const narrower = '(name the folder of the one program that is needed)';

describe('a path of host_read', () => {
  it('passes where it is a folder or a file with nothing in it that no agent is shown', () => {
    expect(said(at('sdk'), at('sdk/lib/data'), at('home/.cargo/bin'), '/usr', '/opt')).toEqual([]);
  });

  it.each([
    ['/proc', `is a place where the kernel shows this machine ${narrower}`],
    ['/proc/self', `lies in "/proc", where the kernel shows this machine ${narrower}`],
    ['/sys/class', `lies in "/sys", where the kernel shows this machine ${narrower}`],
    ['/dev', `is a place where the kernel shows this machine ${narrower}`],
    ['/run/user', `lies in "/run", where services of this machine have their sockets ${narrower}`],
    ['/var', `holds "/var/run", where services of this machine have their sockets ${narrower}`],
    ['/tmp/.X11-unix/X0', `lies in "/tmp/.X11-unix", where services of this machine have their sockets ${narrower}`],
    ['/etc', `holds "/etc/shadow", which may have keys and passwords ${narrower}`],
    ['/etc/shadow', `is a place which may have keys and passwords ${narrower}`],
    ['/home', `is a home folder, or has those of people ${narrower}`],
    ['/home/somebody', `is a home folder, or has those of people ${narrower}`],
    ['/home/somebody/.aws', `is a place which may have keys and passwords ${narrower}`],
    ['/srv/a/.ssh/keys', `is or lies in ".ssh", which no agent is shown ${narrower}`],
    ['/srv/a/.env.local', `is or lies in ".env.local", which no agent is shown ${narrower}`],
  ])('fails as %s, whatever is there', (path, reason) => {
    expect(why(path)).toBe(reason);
  });

  it.each([
    ['home', `is a home folder, or has those of people ${narrower}`],
    ['home/.svc/state', `is or lies in ".svc", which no agent is shown ${narrower}`],
    ['home/.cargo', `holds "ROOT/home/.cargo/credentials", which may have keys and passwords ${narrower}`],
    ['home/.aws', `is a place which may have keys and passwords ${narrower}`],
    ['app', `holds "ROOT/app", where svc keeps what belongs to this capsule ${narrower}`],
    ['app/workdir/out', `lies in "ROOT/app/workdir", which programs have already ${narrower}`],
    ['agent', `holds "ROOT/agent/socket", where services of this machine have their sockets ${narrower}`],
    ['runtime/bus', `lies in "ROOT/runtime", where services of this machine have their sockets ${narrower}`],
    ['engine', `is a place where services of this machine have their sockets ${narrower}`],
    ['work', `holds ".env", which no agent is shown ${narrower}`],
    ['keys', `holds ".ssh", which no agent is shown ${narrower}`],
    ['gone', 'cannot be read: no such file or directory (install it, correct the path, or leave it out)'],
    [
      'sdk/lib/data/x',
      'cannot be read: a part of the path is not a directory (install it, correct the path, or leave it out)',
    ],
    ['link', 'is a link or lies behind one, and leads to "ROOT/sdk" (name "ROOT/sdk" itself)'],
    ['link/lib', 'is a link or lies behind one, and leads to "ROOT/sdk/lib" (name "ROOT/sdk/lib" itself)'],
    ['processes', 'leads to "/proc", which is a place where the kernel shows this machine (leave it out)'],
    ['aws', 'leads to "ROOT/home/.aws", which is a place which may have keys and passwords (leave it out)'],
  ])('fails as %s of this test', (path, reason) => {
    expect(why(at(path))).toBe(reason);
  });

  it('fails as a folder that holds the home', () => {
    expect(why(root)).toBe(`holds "ROOT/home", a home folder ${narrower}`);
  });

  it('fails as a socket or a pipe', async () => {
    const server = createServer().listen(at('sdk/socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    expect(why(at('sdk/socket'))).toBe(`is neither a file nor a folder ${narrower}`);
    server.close();
    expect(spawnSync('mkfifo', [at('sdk/pipe')]).status).toBe(0);
    expect(why(at('sdk/pipe'))).toBe(`is neither a file nor a folder ${narrower}`);
    rmSync(at('sdk/pipe'));
  });

  it('names the key and its line, or the flag of a task without a manifest', () => {
    const locate = (): { file: string; line: number; column: number } => ({ file: 'svc.yaml', line: 9, column: 3 });
    const [ofManifest] = refusedHostReads(['/proc'], surroundings, { locate, flag: null });
    expect([ofManifest?.message, ofManifest?.location?.line]).toEqual([
      'capabilities.filesystem.host_read: "/proc" is not opened to programs: it is a place where the kernel shows this machine',
      9,
    ]);
    const [ofTask] = refusedHostReads(['/proc'], surroundings, { locate, flag: '--host-read' });
    expect([ofTask?.message.slice(0, 20), ofTask?.location]).toEqual(['--host-read: "/proc"', undefined]);
  });
});
