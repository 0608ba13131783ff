import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

import { MarkedProcesses } from '../../packages/sandbox/test/marked-processes.ts';
import { needsClass } from '../../packages/sandbox/test/needs-class.ts';
import { canProbe, isUnrestricted, SeccompHost } from '../../packages/sandbox/test/seccomp-host.ts';
import { architectures, type SyscallName } from '@svc/sandbox/seccomp/allowed-calls.ts';
import { assemble } from '@svc/sandbox/seccomp/assemble.ts';
import { hasPseudoTerminals } from '../support/terminal-process.ts';

const program = fileURLToPath(new URL('../../bin/svc-sandbox.cjs', import.meta.url));
const packageOfAll = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

let folder = '';

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-program-')));
  mkdirSync(join(folder, 'project'));
  writeFileSync(join(folder, 'secret'), 'secret\n');
  symlinkSync('project', join(folder, 'link'));
});

afterAll(() => rmSync(folder, { recursive: true }));

interface Run {
  readonly code: number | string | null;
  readonly out: string;
  readonly err: string;
}

interface RunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs `svc-sandbox` in the folder of the project to its end. */
async function sandbox(args: readonly string[], { input = '', env = {} }: RunOptions = {}): Promise<Run> {
  return await new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, ...args],
      { cwd: join(folder, 'project'), env: { PATH: process.env['PATH'], HOME: folder, ...env } },
      (_error, out, err) => resolve({ code: child.exitCode ?? child.signalCode, out, err: err.replaceAll(folder, '') }),
    );
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** Runs a line of the shell in which `$SANDBOX` is the program. */
async function line(text: string): Promise<Run> {
  return await new Promise((resolve) => {
    const env = { PATH: process.env['PATH'], HOME: folder, SANDBOX: `${process.execPath} ${program}` };
    const child = execFile('/bin/sh', ['-c', text], { cwd: join(folder, 'project'), env }, (_error, out, err) =>
      resolve({ code: child.exitCode ?? child.signalCode, out, err }),
    );
  });
}

/** Starts `svc-sandbox`, to be ended by the test. */
function start(args: readonly string[]): ChildProcess {
  // What a killed one leaves behind goes with the folder of the tests.
  const env = { ...process.env, TMPDIR: folder };
  return spawn(process.execPath, [program, ...args], { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] });
}

describe('svc-sandbox', () => {
  beforeEach(async (context) => await needsClass(context, 'sealed'));

  it('works for its caller as the command: its input, outputs and exit code', async () => {
    expect(await sandbox(['--', 'sh', '-c', 'cat; echo err >&2; exit 3'], { input: 'in\n' })).toEqual({
      code: 3,
      out: 'in\n',
      err: 'err\n',
    });
  });

  it('hands on every word behind -- as it is', async () => {
    const { out } = await sandbox(['--', 'printf', '%s.', '--read', '', 'a b', '--', '$HOME']);
    expect(out).toBe('--read..a b.--.$HOME.');
  });

  it('gives the command no file of the user, no variable, and no network', async () => {
    const seen = `cat ${folder}/secret; echo x > ${folder}/project/x; env | cut -d= -f1 | sort | tr "\\n" " "; ls /proc/net/tcp >/dev/null && wc -l < /proc/net/tcp`;
    const { out, code } = await sandbox(['--', 'sh', '-c', seen], { env: { KEY: 'key' } });
    expect(out).toBe('HOME LANG PATH PWD TERM TMPDIR ');
    expect(code).not.toBe(0);
    expect(readdirSync(join(folder, 'project'))).toEqual([]);
  });

  it('grants what its options name', async () => {
    const options = ['--workdir', '.', '--read', '../secret', '--env', 'KEY', '--env', 'WORD=a=b'];
    const { out, err } = await sandbox(
      [...options, '--', 'sh', '-c', 'cat ../secret; echo $KEY $WORD; pwd; echo x > made'],
      {
        env: { KEY: 'key' },
      },
    );
    expect([out, err]).toEqual([`secret\nkey a=b\n${folder}/project\n`, '']);
    expect(readFileSync(join(folder, 'project/made'), 'utf8')).toBe('x\n');
    rmSync(join(folder, 'project/made'));
  });

  it('holds each process to the open files that --open-files says', async () => {
    expect(await sandbox(['--open-files', '64', '--', 'sh', '-c', 'ulimit -n; ulimit -Hn'])).toEqual({
      code: 0,
      out: '64\n64\n',
      err: '',
    });
    expect((await sandbox(['--', 'sh', '-c', 'ulimit -n'])).out).toBe('1024\n');
    expect((await sandbox(['--open-files', '64Ki', '--', 'true'])).err).toMatch(
      /--open-files is "64Ki", and must be a whole number, above 0/,
    );
  });

  it('says what it refused of the network, unless it is to be quiet', async () => {
    const asking = `
      const { request } = require('node:http');
      request({ host: '127.0.0.1', port: 3128, path: 'http://b.example/' }, (answer) => answer.resume()).end();`;
    const command = ['--net', 'a.example', '--', process.execPath, '-e', asking];
    const { err } = await sandbox(command);
    expect(err).toMatch(
      /^svc-sandbox: refused: http:\/\/b\.example \(http:\/\/b\.example is refused: the grant does not name it\. .*\)\n$/,
    );
    expect((await sandbox(['--quiet', ...command])).err).toBe('');
  });

  it('exits with 124 when it ended the command at a limit', async () => {
    expect(await sandbox(['--time', '500ms', '--', 'true'])).toMatchObject({ code: 125 });
    expect(await sandbox(['--time', '0.5s', '--', 'sleep', '60'])).toEqual({
      code: 124,
      out: '',
      err: 'svc-sandbox: the command was ended: it passed its limit of time\n',
    });
    const { code, out } = await sandbox(['--output', '10Ki', '--', 'yes']);
    expect([code, out.length]).toEqual([124, 10_240]);
  });

  it('exits with 128 and the number of the signal that ended the command', async () => {
    expect((await sandbox(['--', 'sh', '-c', 'kill -TERM $$'])).code).toBe(143);
  });

  it('explains and probes without running anything', async () => {
    const { out, code } = await sandbox(['--explain', '--workdir', '.', '--', 'touch', 'made']);
    expect(code).toBe(0);
    expect(out).toMatch(/^Class sealed, by mountns\+pivot_root\+landlock\+seccomp\n {2}runs \/\S+\/touch made\n/);
    expect(out).toContain(`\n  ${folder}/project: read and write\n`);
    expect(out).toContain('\nNot stopped\n');
    const explained = JSON.parse((await sandbox(['--explain', '--json', '--', 'true'])).out) as unknown;
    expect(explained).toMatchObject({ class: 'sealed', network: [], args: [] });
    expect(readdirSync(join(folder, 'project'))).toEqual([]);
    expect((await sandbox(['--probe'])).out).toMatch(/^This machine can enforce sealed, by .*\n {2}sealed: yes\n/);
    expect(JSON.parse((await sandbox(['--probe', '--json'])).out)).toMatchObject({ class: 'sealed', reason: null });
  });
});

describe('the streams of svc-sandbox', () => {
  beforeEach(async (context) => await needsClass(context, 'sealed'));

  it('may be closed: a closed input reads as empty', async () => {
    expect(await line('$SANDBOX -- cat <&-; echo $?')).toEqual({ code: 0, out: '0\n', err: '' });
  });

  it('may be full: the command sees it, and its failure comes out', async () => {
    const { out, err } = await line('$SANDBOX -- sh -c "echo x || exit 9" > /dev/full; echo $?');
    expect(out).toBe('9\n');
    expect(err).toMatch(/No space left|I\/O error/);
  });

  it.each(['--help', '--explain -- true', '--output 1Mi -- echo x'])('may be full: %s fails', async (args) => {
    expect((await line(`$SANDBOX ${args} > /dev/full; echo $?`)).out).toBe('125\n');
  });

  it('may lose their reader, which ends the command', async () => {
    expect((await line('$SANDBOX --time 20s -- yes | head -1')).out).toBe('y\n');
    expect((await line('{ $SANDBOX --time 20s --output 1Gi -- yes; echo $? >&2; } | head -1')).err).toContain('141');
  });

  it('may not be a directory, which is said', async () => {
    expect(await line('$SANDBOX -- cat < .')).toEqual({
      code: 125,
      out: '',
      err: expect.stringContaining('cat was not started: its input or an output is a directory\n'),
    });
  });

  it.skipIf(!hasPseudoTerminals())(
    'may be a terminal, which stays one, and whose ctrl-C reaches the command (skipped without python3)',
    async () => {
      const told =
        'test -t 0 && test -t 1 && echo terminal $TERM; trap "echo caught; exit 7" INT; echo ready; sleep 60 & wait';
      const child = spawn('python3', ['-c', typing, process.execPath, program, '--', 'sh', '-c', told], {
        env: { ...process.env, TERM: 'xterm-256color' },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let shown = '';
      child.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
      const [code] = (await once(child, 'close')) as [number];
      expect(shown.replaceAll('\r', '')).toBe('terminal xterm-256color\nready\n^Ccaught\n');
      expect(code).toBe(7);
    },
  );
});

/** Runs a program on a pseudo-terminal, and types ctrl-C once it says that it is ready. */
const typing = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
typed = b''
while True:
    try:
        shown = os.read(terminal, 65536)
    except OSError:
        break
    typed += shown
    sys.stdout.buffer.write(shown)
    sys.stdout.buffer.flush()
    if b'ready' in typed:
        os.write(terminal, b'\\x03')
        typed = b''
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

describe('what svc-sandbox runs', () => {
  const marked = new MarkedProcesses();
  let child: ChildProcess;

  /** A command that leaves children in its group, in a session of their own, and below another name. */
  async function running(args: readonly string[] = []): Promise<void> {
    child = start([
      ...args,
      '--',
      'sh',
      '-c',
      `${marked.sleep(1)} & setsid ${marked.sleep(2)} & exec ${marked.sleep(3)}`,
    ]);
    await vi.waitFor(() => expect(marked.running()).toEqual(expect.arrayContaining(['1', '2', '3'])), {
      timeout: 20_000,
    });
  }

  beforeEach(async (context) => await needsClass(context, 'sealed'));
  afterEach(() => {
    child.kill('SIGKILL');
    marked.end();
  });

  it('disappears, whatever it detached, once svc-sandbox is killed', async () => {
    await running();
    child.kill('SIGKILL');
    await once(child, 'close');
    expect(await marked.settled([])).toEqual([]);
  });

  it.each(['SIGTERM', 'SIGHUP', 'SIGINT'] as const)('gets %s, and disappears once it has ended', async (signal) => {
    await running();
    child.kill(signal);
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe({ SIGTERM: 143, SIGHUP: 129, SIGINT: 130 }[signal]);
    expect(await marked.settled([])).toEqual([]);
  });

  it('disappears once the command has ended by itself', async () => {
    const left = `setsid ${marked.sleep(4)} >/dev/null 2>&1 & ${marked.sleep(5)} & sleep 0.3; echo left`;
    child = start(['--', 'sh', '-c', left]);
    await once(child, 'close');
    expect(child.exitCode).toBe(0);
    expect(await marked.settled([])).toEqual([]);
  });

  it('stops and continues with it', async () => {
    await running();
    child.kill('SIGTSTP');
    await vi.waitFor(() => expect(stateOf(child.pid ?? 0)).toBe('T'), { timeout: 10_000 });
    child.kill('SIGCONT');
    await vi.waitFor(() => expect(stateOf(child.pid ?? 0)).toBe('S'), { timeout: 10_000 });
    child.kill('SIGTERM');
    await once(child, 'close');
    expect(child.exitCode).toBe(143);
  });
});

/** The state of a process, a letter. */
function stateOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3);
}

describe('a mistake on the command line of svc-sandbox', () => {
  it.each<[readonly string[], number, string]>([
    [
      [],
      125,
      'error: a command is to be run, and none follows --\nhint: svc-sandbox [options] -- <command> [<argument>...]',
    ],
    [
      ['--'],
      125,
      'error: a command is to be run, and none follows --\nhint: svc-sandbox [options] -- <command> [<argument>...]',
    ],
    [['ls'], 125, 'error: "ls" is no option, and no command: a command follows --\nhint: svc-sandbox [options] -- ls'],
    [
      ['--wirte', '.', '--', 'ls'],
      125,
      'error: --wirte is no option of svc-sandbox\nhint: --write is one; svc-sandbox --help lists all',
    ],
    [['-x', '--', 'ls'], 125, 'error: -x is no option of svc-sandbox\nhint: svc-sandbox --help lists the options'],
    [
      ['--class', 'best', '--', 'ls'],
      125,
      'error: --class is "best", which is no class\nhint: give sealed, scoped or advisory',
    ],
    [
      ['--memory', '1GB', '--', 'ls'],
      125,
      'error: --memory is "1GB", and must be a whole number with Ki, Mi or Gi, above 0\nhint: svc-sandbox --help lists the options',
    ],
    [
      ['--processes', '0', '--', 'ls'],
      125,
      'error: --processes is "0", and must be a whole number, above 0\nhint: svc-sandbox --help lists the options',
    ],
    [
      ['--env', 'NOT_SET', '--', 'ls'],
      125,
      'error: --env hands on "NOT_SET", which is not set here\nhint: set it, or give a value: --env NAME=value',
    ],
    [
      ['--json', '--', 'ls'],
      125,
      'error: --json says how --explain and --probe are written, and neither is given\nhint: svc-sandbox --help lists the options',
    ],
    [
      ['--read', 'gone', '--', 'ls'],
      125,
      'error[E-CAP-019]: "gone" was granted for reading, and nothing is there\nhint: make it first, or leave it out',
    ],
    [
      ['--write', '../link', '--', 'ls'],
      125,
      'error[E-CAP-019]: "../link" was granted for writing, and it is a link or lies behind one: it leads to /project\nhint: grant /project itself',
    ],
    [
      ['--net', '', '--', 'ls'],
      125,
      'error[E-CAP-001]: the destination "" was granted, and it is empty\nhint: name it as host, host:port, http://host or https://host',
    ],
    [
      ['--net', 'a', '--class', 'scoped', '--', 'ls'],
      125,
      'error[E-CAP-020]: the network is to be a alone, and class scoped cannot hold a command to hosts\nhint: use class sealed, or grant no network',
    ],
    [
      ['--', 'nope'],
      127,
      'error[E-CAP-021]: "nope" was not started: no such command\nhint: see that the program is installed and on PATH, where relative entries and those in writable places do not count',
    ],
    [
      ['--', '../secret'],
      126,
      'error[E-CAP-021]: "../secret" was not started: permission denied\nhint: see that the file is executable and lies outside what the command may write, or grant runWritten',
    ],
  ])('%j exits with %i and says what to do', async (args, code, said) => {
    const lines = said.split('\n').map((each) => `svc-sandbox: ${each}\n`);
    expect(await sandbox(args)).toEqual({ code, out: '', err: lines.join('') });
  });

  it('in a current directory that is gone leads to an error', async () => {
    const { code, err } = await line(`mkdir gone && cd gone && rmdir ../gone && exec $SANDBOX -- ls`);
    expect([code, err.split('\n')[1]]).toEqual([125, 'svc-sandbox: hint: go to another directory']);
  });

  it('in a missing folder for temporary files leads to an error', async () => {
    const { code, err } = await sandbox(['--', 'ls'], { env: { TMPDIR: '/nowhere' } });
    expect([code, err]).toEqual([
      125,
      'svc-sandbox: error[E-CAP-019]: temporary files are to be made in /nowhere, and no such file or directory\n' +
        'svc-sandbox: hint: set TMPDIR to a directory that can be written\n',
    ]);
  });
});

describe('help and version', () => {
  it('appear on a machine that can enforce nothing', async () => {
    expect(await sandbox(['--version'])).toEqual({ code: 0, out: `${packageOfAll.version}\n`, err: '' });
    const { code, out } = await sandbox(['--help', '--', 'ls']);
    expect([code, out.split('\n')[0]]).toEqual([0, 'Usage: svc-sandbox [options] -- <command> [<argument>...]']);
  });
});

/** The calls without which there are no namespaces, so that a machine can enforce `scoped` at most. */
const namespaces: ReadonlySet<string> = new Set<SyscallName>([
  'unshare',
  'mount',
  'open_tree',
  'move_mount',
  'pivot_root',
]);

describe.skipIf(!canProbe || !isUnrestricted())(
  'on a machine without namespaces, svc-sandbox (skipped without a C compiler, or within a container)',
  () => {
    it('starts nothing in a class that it cannot enforce, and runs in one that it can', () => {
      const host = new SeccompHost();
      try {
        const architecture = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
        const rules = [...architectures[architecture].syscalls].map(
          ([name, number]) => [number, namespaces.has(name) ? 'EPERM' : 'allow'] as const,
        );
        const filter = host.filterFile(assemble({ architecture, rules: new Map(rules) }));
        const run = (...args: string[]): string => host.run(filter, [process.execPath, program, ...args]);
        expect(run('--', 'echo', 'ran')).toMatch(
          /^125: svc-sandbox: error\[E-CAP-003\]: class sealed was asked for and cannot be enforced here: no root of its own can be composed: .*\nsvc-sandbox: hint: ask for scoped, /,
        );
        expect(run('--class', 'scoped', '--', 'echo', 'ran')).toBe('ran\n');
        expect(run('--probe')).toMatch(/^This machine can enforce scoped, by landlock\+seccomp\n {2}sealed: no, /);
      } finally {
        host.close();
      }
    });
  },
);
