import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { buildSync } from 'esbuild';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { directoryContract } from '../../../test/support/beneath-contract.ts';
import { createDirectLauncher } from './direct-launcher.ts';
import { endProcess, readOutput } from './launched-process.ts';
import type { Launcher, LaunchedProcess, LaunchEnd, LaunchRequest } from './launcher.ts';
import { PipePool, namedPipes } from './pipe-pool.ts';
import { isRunning } from '../../../test/support/is-gone.ts';

const PATH = '/usr/local/bin:/usr/bin:/bin';
let folder: string;
let pipes: PipePool;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-launch-'));
  pipes = new PipePool(namedPipes(folder));
});

afterEach(async () => {
  await pipes.close();
  rmSync(folder, { recursive: true, force: true });
});

function request(command: string, args: readonly string[] = [], over: Partial<LaunchRequest> = {}): LaunchRequest {
  return { command, args, env: { PATH }, stdin: 'null', ...over };
}

function launcher(drainMs = 200, pool: PipePool | null = pipes): Launcher {
  return createDirectLauncher({ cwd: folder, drainMs, ...(pool === null ? {} : { pipes: pool }) });
}

async function started(asked: LaunchRequest, drainMs?: number, pool?: PipePool | null): Promise<LaunchedProcess> {
  const outcome = await launcher(drainMs, pool).launch(asked);
  if (outcome.kind === 'refused') throw new Error(outcome.reason);
  return outcome.process;
}

async function textOf(output: LaunchedProcess['stdout']): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of readOutput(output)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function run(
  asked: LaunchRequest,
  drainMs?: number,
): Promise<{ stdout: string; stderr: string; end: LaunchEnd }> {
  const launched = await started(asked, drainMs);
  const [stdout, stderr, end] = await Promise.all([textOf(launched.stdout), textOf(launched.stderr), launched.ended]);
  return { stdout, stderr, end };
}

async function reasonOf(asked: LaunchRequest): Promise<string> {
  const outcome = await launcher().launch(asked);
  return outcome.kind === 'refused' ? outcome.reason : 'started';
}

/** What the descriptors of this process are. The one that lists them is gone by the time they are read. */
function openFiles(): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((name) =>
    existsSync(`/proc/self/fdinfo/${name}`) ? [readlinkSync(`/proc/self/fd/${name}`)] : [],
  );
}

/** A signal is sent at once and acted on soon. */
async function expectGone(pid: number): Promise<void> {
  await expect.poll(() => isRunning(pid)).toBe(false);
}

describe('the direct launcher', () => {
  it('gives both outputs and the exit status', async () => {
    expect(await run(request('sh', ['-c', 'echo out; echo err >&2; exit 7']))).toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
      end: { kind: 'exited', exitCode: 7 },
    });
  });

  it('reports the signal that ended a process', async () => {
    expect((await run(request('sh', ['-c', 'kill -SEGV $$']))).end).toEqual({ kind: 'signaled', signal: 'SIGSEGV' });
  });

  it('hands over exactly the environment asked for', async () => {
    expect((await run(request('env', [], { env: { PATH, ONE: '1', EMPTY: '' } }))).stdout.split('\n').sort()).toEqual([
      '',
      'EMPTY=',
      'ONE=1',
      `PATH=${PATH}`,
    ]);
  });

  it('starts in the directory asked for, as the leader of a group', async () => {
    const { stdout } = await run(request('sh', ['-c', 'pwd -P; echo $$; ps -o pgid= -p $$ | tr -d " "']));
    const [directory, pid, group] = stdout.split('\n');
    expect(directory).toBe(folder);
    expect(group).toBe(pid);
  });

  it('gives an empty standard input unless one is asked for', async () => {
    expect((await run(request('cat'))).stdout).toBe('');
    const launched = await started(request('cat', [], { stdin: 'pipe' }));
    launched.stdin?.end('through the pipe');
    expect(await text(launched.stdout)).toBe('through the pipe');
  });

  it('passes arguments as they are', async () => {
    const args = ['-c', 'printf "%s|" "$@"', 'sh', 'a b', '', '$HOME', '*', 'ü'];
    expect((await run(request('sh', args))).stdout).toBe('a b||$HOME|*|ü|');
  });

  it('hands over no descriptor this process was itself started with', async () => {
    writeFileSync(join(folder, 'held'), 'secret');
    const source = `import { createDirectLauncher } from ${JSON.stringify(join(import.meta.dirname, 'direct-launcher.ts'))};
      const { process: shell } = await createDirectLauncher({ cwd: '/' }).launch({ command: 'sh', stdin: 'null',
        args: ['-c', 'cat /proc/self/fd/30; ls -l /proc/self/fd'], env: { PATH: '/usr/bin:/bin' } });
      shell.stdout.pipe(process.stdout);`;
    const program = join(folder, 'main.mjs');
    const stdin = { contents: source, resolveDir: folder };
    buildSync({ stdin, bundle: true, platform: 'node', format: 'esm', outfile: program });
    const held = openSync(join(folder, 'held'), 'r');
    const stdio = Array.from({ length: 31 }, (_, index) => (index === 1 ? 'pipe' : index === 30 ? held : 'ignore'));
    const node = spawn(process.execPath, [program], { stdio });
    const listing = node.stdout === null ? '' : await text(node.stdout);
    expect(listing).not.toContain('secret');
    expect(listing).not.toContain('held');
    expect(listing).toContain('30 -> /dev/null');
  });
});

describe.skipIf(!existsSync('/proc/self/fd'))('a launcher that refuses links (skipped without /proc)', () => {
  async function startedIn(cwd: string): Promise<string> {
    const outcome = await createDirectLauncher({ cwd, refusesLinks: true, pipes }).launch(
      request('sh', ['-c', 'pwd -P; echo here > file']),
    );
    if (outcome.kind === 'refused') return outcome.reason;
    const [said] = await Promise.all([textOf(outcome.process.stdout), textOf(outcome.process.stderr)]);
    await outcome.process.ended;
    return said;
  }

  directoryContract('when it starts a program,', {
    reach: async (cwd) => !/^(a part of )?the working directory/.test(await startedIn(cwd)),
    swaps: 20,
  });

  it('starts in the directory, and holds it no longer than that', async () => {
    const place = join(realpathSync(folder), 'work/child');
    mkdirSync(place, { recursive: true });
    expect(await startedIn(place)).toBe(`${place}\n`);
    expect(readFileSync(join(place, 'file'), 'utf8')).toBe('here\n');
    expect(openFiles().filter((path) => path.startsWith(place))).toEqual([]);
  });

  it.each(['work/child', 'work'])('starts nothing when %s has become one', async (part) => {
    const place = join(realpathSync(folder), 'work/child');
    mkdirSync(place, { recursive: true });
    mkdirSync(join(folder, 'elsewhere/child'), { recursive: true });
    renameSync(join(folder, part), join(folder, 'moved'));
    symlinkSync(join(folder, part === 'work' ? 'elsewhere' : 'elsewhere/child'), join(folder, part));
    expect(await startedIn(place)).toBe('a part of the working directory has become a link');
    expect(readdirSync(join(folder, 'elsewhere/child'))).toEqual([]);
  });
});

describe('the standard streams', () => {
  it('can be opened by name, as in a shell', async () => {
    const script = 'echo out > /dev/stdout; echo err > /dev/stderr; echo twice | tee /dev/stdout >> /dev/fd/2';
    expect(await run(request('sh', ['-c', script]))).toMatchObject({ stdout: 'out\n', stderr: 'err\ntwice\ntwice\n' });
  });

  it('hold a writer back until a reader comes, and lose nothing', async () => {
    const launched = await started(request('sh', ['-c', 'head -c 1000000 /dev/zero; echo done > finished']));
    launched.stderr.resume();
    await once(launched.stdout, 'readable');
    expect(existsSync(join(folder, 'finished'))).toBe(false);
    expect((await textOf(launched.stdout)).length).toBe(1_000_000);
    expect(await launched.ended).toEqual({ kind: 'exited', exitCode: 0 });
  });

  it.for(['pipes', 'sockets'])(
    'keep, as %s, what was written before the end for a reader that comes after it',
    async (kind) => {
      // What is kept ahead of a reader is full with the first part; the second fits into a pipe, where it stays.
      const twoParts = 'head -c 20000 /dev/zero; sleep 0.3; head -c 60000 /dev/zero';
      const launched = await started(request('sh', ['-c', twoParts]), 50, kind === 'pipes' ? pipes : null);
      launched.stderr.resume();
      expect(await launched.ended).toEqual({ kind: 'exited', exitCode: 0 });
      expect((await textOf(launched.stdout)).length).toBe(80_000);
    },
  );

  it('keep at most what a pipe holds of the writes of a process outside the group', async () => {
    const launched = await started(request('sh', ['-c', 'setsid sh -c "echo \\$\\$ >&2; exec yes" & sleep 0.2']), 100);
    const outside = textOf(launched.stderr);
    await launched.ended;
    const pid = Number(await outside);
    const { length } = await textOf(launched.stdout);
    expect(length).toBeGreaterThan(100_000);
    expect(length).toBeLessThan(2 * 1024 ** 2);
    if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  });

  it('end a writer whose reader has gone', async () => {
    const launched = await started(request('yes'));
    launched.stderr.resume();
    await once(launched.stdout, 'readable');
    launched.stdout.destroy();
    expect(await launched.ended).toEqual({ kind: 'signaled', signal: 'SIGPIPE' });
  });

  it('do not block a program that reads before there is something to read', async () => {
    const launched = await started(
      request('sh', ['-c', 'echo reading; read line; echo "read $line"'], { stdin: 'pipe' }),
    );
    launched.stderr.resume();
    const [first] = (await once(launched.stdout, 'data')) as [Buffer];
    launched.stdin?.end('it\n');
    expect(first.toString() + (await textOf(launched.stdout))).toBe('reading\nread it\n');
  });

  it('leave no descriptor open here, whatever becomes of a launch', async () => {
    expect(await run(request('sh', ['-c', 'echo out']))).toMatchObject({ stdout: 'out\n' });
    const unread = await started(request('true', [], { stdin: 'pipe' }));
    await unread.ended;
    expect(await reasonOf(request('echo', ['x'.repeat(3_000_000)], { stdin: 'pipe' }))).toBe(
      'the arguments are too long',
    );
    await pipes.close();
    await expect.poll(() => openFiles().filter((path) => path.startsWith(folder))).toEqual([]);
  });

  it('become sockets where there are no pipes', async () => {
    const plain = createDirectLauncher({
      cwd: folder,
      pipes: new PipePool({ make: async () => [], areNamed: false }),
      drainMs: 200,
    });
    const outcome = await plain.launch(request('sh', ['-c', 'cat; stat -L -c %F /proc/self/fd/1'], { stdin: 'pipe' }));
    if (outcome.kind === 'refused') throw new Error(outcome.reason);
    outcome.process.stdin?.end('in\n');
    outcome.process.stderr.resume();
    expect(await textOf(outcome.process.stdout)).toBe('in\nsocket\n');
  });
});

describe('a launch', () => {
  it('fails when there is no such command', async () => {
    expect(await reasonOf(request('no-such-command-here'))).toBe('no such command');
    expect(await reasonOf(request('/no/such/path'))).toBe('no such command');
    expect(await reasonOf(request(''))).toBe('no such command');
    expect(await reasonOf(request('sh', [], { env: {} }))).toBe('no such command');
    expect(await reasonOf(request('s\0h'))).toBe('no such command');
  });

  it('fails when the file is not executable', async () => {
    writeFileSync(join(folder, 'plain'), 'echo');
    mkdirSync(join(folder, 'directory'));
    const env = { PATH: folder };
    expect(await reasonOf(request('plain', [], { env }))).toBe('permission denied');
    expect(await reasonOf(request('directory', [], { env }))).toBe('permission denied');
  });

  it('never looks for a command in the working directory', async () => {
    writeFileSync(join(folder, 'planted'), '#!/bin/sh\n');
    chmodSync(join(folder, 'planted'), 0o755);
    expect(await reasonOf(request('planted', [], { env: { PATH: `:.:${PATH}` } }))).toBe('no such command');
    expect(await reasonOf(request('./planted'))).toBe('no such command');
  });

  it('takes the first executable of the search path', async () => {
    mkdirSync(join(folder, 'one'));
    mkdirSync(join(folder, 'two'));
    writeFileSync(join(folder, 'one', 'tool'), 'not executable');
    writeFileSync(join(folder, 'two', 'tool'), '#!/bin/sh\necho two');
    chmodSync(join(folder, 'two', 'tool'), 0o755);
    const env = { PATH: `${folder}/absent:${folder}/one:${folder}/two:${PATH}` };
    expect((await run(request('tool', [], { env }))).stdout).toBe('two\n');
  });

  it('fails for a missing working directory, NUL characters and arguments beyond the limit of the system', async () => {
    const elsewhere = createDirectLauncher({ cwd: join(folder, 'absent') });
    expect(await elsewhere.launch(request('sh'))).toEqual({
      kind: 'refused',
      reason: 'the working directory does not exist',
    });
    expect(await reasonOf(request('echo', ['a\0b']))).toBe('an argument holds a NUL character');
    expect(await reasonOf(request('echo', [], { env: { PATH, A: '\0' } }))).toBe(
      'an environment variable holds a NUL character',
    );
    expect(await reasonOf(request('echo', ['x'.repeat(3_000_000)]))).toBe('the arguments are too long');
  });
});

describe('the end of a launched process', () => {
  it('comes to the whole group by a signal', async () => {
    const launched = await started(request('sh', ['-c', 'sleep 60 & echo $!; wait']));
    const [chunk] = (await once(launched.stdout, 'data')) as [Buffer];
    const grandchild = Number(chunk.toString());
    expect(isRunning(grandchild)).toBe(true);
    launched.kill('SIGTERM');
    expect(await launched.ended).toEqual({ kind: 'signaled', signal: 'SIGTERM' });
    await expectGone(grandchild);
    launched.kill('SIGKILL');
  });

  it('comes by force when the group does not end by itself', async () => {
    const launched = await started(request('sh', ['-c', 'trap "" TERM; echo ready; while :; do sleep 1; done']));
    await once(launched.stdout, 'data');
    await endProcess(launched, 50);
    expect(await launched.ended).toEqual({ kind: 'signaled', signal: 'SIGKILL' });
  });

  it('takes along what the process left running with its output open', async () => {
    const { stdout, end } = await run(request('sh', ['-c', 'sleep 60 & echo $!']));
    expect(end).toEqual({ kind: 'exited', exitCode: 0 });
    await expectGone(Number(stdout));
  });

  it('takes along what the process left running with its output closed', async () => {
    const { stdout, end } = await run(request('sh', ['-c', 'sleep 60 >/dev/null 2>&1 & echo $!']));
    expect(end).toEqual({ kind: 'exited', exitCode: 0 });
    await expectGone(Number(stdout));
  });

  it('waits for what a process left behind writes soon', async () => {
    const script = '(while [ ! -e go ]; do :; done; echo late) & touch go';
    expect((await run(request('sh', ['-c', script]), 10_000)).stdout).toBe('late\n');
  });

  it('does not wait for a process that left the group and keeps the outputs', async () => {
    const { stdout, end } = await run(request('setsid', ['sh', '-c', 'echo $$; exec sleep 60']));
    const leftGroup = await run(request('sh', ['-c', 'setsid sleep 60 & echo $!']));
    expect(end.kind).toBe('exited');
    expect(leftGroup.end).toEqual({ kind: 'exited', exitCode: 0 });
    for (const pid of [stdout, leftGroup.stdout].map(Number)) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  });

  it('comes also for a process that never reads its input', async () => {
    const launched = await started(request('true', [], { stdin: 'pipe' }));
    const { stdin } = launched;
    launched.stdout.resume();
    launched.stderr.resume();
    await launched.ended;
    stdin?.write('x'.repeat(1_000_000));
    stdin?.end();
    expect(await launched.ended).toEqual({ kind: 'exited', exitCode: 0 });
  });
});
