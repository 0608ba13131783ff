import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { baselineFiles, type CommandFiles, commandFiles, programClosure } from './closure-support/collected.ts';
import { systemFiles } from '../src/closure/file-collection.ts';
import { containedEnvironment } from '../src/contained-environment.ts';
import { findProgram } from '../src/find-program.ts';
import { ownMounts, runInRoot } from './closure-support/composed-root.ts';
import { type ProgramUse, programUses } from './closure-support/program-uses.ts';
import { type Traced, traceFiles } from './closure-support/traced-files.ts';
import { uncoveredFiles } from './closure-support/uncovered-files.ts';
import { eachFolder } from '../../../test/support/each-folder.ts';

const canMount = spawnSync('unshare', [...ownMounts, 'true']).status === 0;
const hasStrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

/**
 * Places with rules of their own. `/sys/fs/cgroup` is the host's layout, which is not granted: node and others look there for
 * a memory limit and go on without.
 */
const elsewhere = ['/proc', '/dev', '/tmp', tmpdir(), '/sys/fs/cgroup'];

let workdir = '';
let environment: Readonly<Record<string, string>> = {};

eachFolder('closure-programs-', (made) => {
  workdir = made;
  environment = {
    ...containedEnvironment({ accessibleWorkdir: workdir, achieved: 'sealed', held: process.env, allow: [] }),
    HOME: workdir,
  };
});

function searchPath(): string[] {
  return (environment['PATH'] ?? '').split(':');
}

function pathOf(command: string): string | null {
  const found = findProgram(command, environment['PATH'] ?? '');
  return found.kind === 'found' ? found.path : null;
}

function filesOf(commands: readonly string[]): CommandFiles[] | null {
  const paths = commands.map(pathOf);
  return paths.some((path) => path === null)
    ? null
    : paths.map((path) => commandFiles(path ?? '', systemFiles, searchPath()));
}

describe('the files of a command', () => {
  it.for(programUses)('cover everything that is opened by $title', async (use, context) => {
    context.skip(!hasStrace, 'needs strace');
    const granted = filesOf(use.allow);
    context.skip(granted === null, `needs ${use.allow.join(', ')}`);
    if (granted === null) return;
    plant(use);
    const traced = await trace(granted, use.words);
    expect(traced).toMatchObject({ exitCode: 0, output: expect.stringMatching(use.says ?? /^/) });
    expect(traced.files).toContainEqual({ how: 'started', path: granted[0]?.program });
    expect(traced.files).toContainEqual({ how: 'opened', path: '/etc/ld.so.cache' });
    expect(granted.flatMap(({ problems }) => problems)).toEqual([]);
    expect(
      uncoveredFiles(traced.files, [...granted, baselineFiles(systemFiles)], [...elsewhere, ...(use.besides ?? [])]),
    ).toEqual([]);
  });

  it.for(programUses)('suffice for $title, in a root that holds nothing else', async (use, context) => {
    context.skip(!canMount, 'needs a mount namespace');
    const granted = filesOf(use.allow);
    context.skip(granted === null, `needs ${use.allow.join(', ')}`);
    if (granted === null) return;
    plant(use);
    const files = [...granted, baselineFiles(systemFiles)];
    const argv = [granted[0]?.program ?? '', ...use.words];
    const ran = runInRoot({ argv, files, workdir, env: environment });
    expect(ran).toMatchObject({ exitCode: 0, output: expect.stringMatching(use.says ?? /^/) });
  });

  it('have to be there: a root without them lacks the program, and one with another does not help', async (context) => {
    const granted = filesOf(['bash']);
    context.skip(!canMount || granted === null, 'needs a mount namespace and bash');
    const argv = [granted?.[0]?.program ?? '', '-c', 'ls'];
    expect(runInRoot({ argv, files: [], workdir, env: environment }).exitCode).toBe(127);
    expect(runInRoot({ argv, files: granted ?? [], workdir, env: environment }).output).toContain(
      'ls: command not found',
    );
  });

  it('cover everything that is opened by curl when it tries TLS', async (context) => {
    const granted = filesOf(['curl']);
    context.skip(!hasStrace || granted === null, 'needs strace and curl');
    if (granted === null) return;
    const server = createServer((socket) => socket.on('error', () => socket.destroy()).end('not TLS\n'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const traced = await trace(granted, ['-sS', `https://127.0.0.1:${port}/`]);
    server.close();
    expect(traced).toMatchObject({ exitCode: 35, output: expect.stringContaining('SSL') });
    expect(uncoveredFiles(traced.files, [...granted, baselineFiles(systemFiles)], elsewhere)).toEqual([]);
  });

  it('exceed what starts it: git does not find its templates with its closure alone', async (context) => {
    const path = pathOf('git');
    context.skip(!hasStrace || path === null, 'needs strace and git');
    if (path === null) return;
    const closure = programClosure(path, systemFiles, searchPath());
    const traced = await traceFiles({ argv: [path, 'init', '-q', '.'], cwd: workdir, env: environment });
    const missing = uncoveredFiles(traced.files, [closure, baselineFiles(systemFiles)], elsewhere);
    expect(missing).toContainEqual(expect.stringMatching(/^opened .*\/git-core\/templates$/));
  });

  it('hold nothing of a home, of /etc/shadow or of private keys', async (context) => {
    const granted = filesOf(['bash', 'curl', 'git']);
    context.skip(granted === null, 'needs bash, curl and git');
    const all = [...(granted ?? []), baselineFiles(systemFiles)];
    const read = [...all.flatMap((files) => files.read), ...all.flatMap((files) => files.execute)];
    const covers = (path: string): string[] => read.filter((each) => path === each || path.startsWith(`${each}/`));
    for (const path of [
      '/root/.bashrc',
      '/home/someone/.ssh/id_rsa',
      '/etc/shadow',
      '/etc/ssl/private/key.pem',
      '/var/log/x',
    ]) {
      expect(covers(path)).toEqual([]);
    }
  });
});

function plant({ files = {} }: ProgramUse): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(workdir, name), text);
}

function trace(granted: readonly CommandFiles[], words: readonly string[]): Promise<Traced> {
  return traceFiles({ argv: [granted[0]?.program ?? '', ...words], cwd: workdir, env: environment });
}
