import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { baselineFiles } from '../../src/containment/closure/baseline.ts';
import { programClosure } from '../../src/containment/closure/closure.ts';
import { commandFiles, type CommandFiles } from '../../src/containment/closure/command-files.ts';
import { systemFiles } from '../../src/containment/closure/file-host.ts';
import { containedEnvironment } from '../../src/containment/contained-environment.ts';
import { findProgram } from '../../src/containment/find-program.ts';
import { type Traced, traceFiles } from './closure-support/traced-files.ts';
import { uncoveredFiles } from './closure-support/uncovered-files.ts';

const hasStrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

/**
 * Places with rules of their own. `/sys/fs/cgroup` is the host's layout, which is not granted: node and others look there for
 * a memory limit and go on without.
 */
const elsewhere = ['/proc', '/dev', '/tmp', tmpdir(), '/sys/fs/cgroup'];

let workdir = '';
let environment: Readonly<Record<string, string>> = {};

beforeEach(() => {
  workdir = mkdtempSync(join(tmpdir(), 'closure-programs-'));
  environment = {
    ...containedEnvironment({ accessibleWorkdir: workdir, held: process.env, allow: [] }),
    HOME: workdir,
  };
});
afterEach(() => rmSync(workdir, { recursive: true }));

function searchPath(): string[] {
  return (environment['PATH'] ?? '').split(':');
}

async function pathOf(command: string): Promise<string | null> {
  const found = await findProgram(command, environment['PATH'] ?? '');
  return found.kind === 'found' ? found.path : null;
}

async function filesOf(commands: readonly string[]): Promise<CommandFiles[] | null> {
  const paths = await Promise.all(commands.map(pathOf));
  return paths.some((path) => path === null)
    ? null
    : paths.map((path) => commandFiles(path ?? '', systemFiles, searchPath()));
}

interface Use {
  readonly title: string;
  /** `shell.allow`; the first one is started. */
  readonly allow: readonly string[];
  readonly words: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
  readonly says?: RegExp;
  /** What it looks at if it may, and does its work without. */
  readonly besides?: readonly string[];
}

const twoFileProgram = {
  Makefile: 'program: main.o part.o\n\tgcc -o $@ $^\n%.o: %.c\n\tgcc -O1 -g -c -o $@ $<\n',
  'main.c': '#include <stdio.h>\nint part(void);\nint main(void) { printf("%d\\n", part()); }\n',
  'part.c': 'int part(void) { return 42; }\n',
};
const pythonImports = [
  'import json, ssl, sqlite3, subprocess, ctypes, hashlib, zoneinfo, decimal, bz2, lzma, multiprocessing, socket',
  'ssl.create_default_context(); print(sqlite3.connect(":memory:").execute("select 6*7").fetchone())',
  'print(hashlib.sha256(b"x").hexdigest(), zoneinfo.ZoneInfo("Europe/Rome"), socket.getservbyname("https"))',
];
const gitSession = [
  'git init -q one && cd one && git config user.email a@b.c && git config user.name a',
  'echo text > file && git add file && git commit -q -m first && git gc -q',
  'cd .. && git clone -q one two && git clone -q "file://$PWD/one" three && cd two && git log --stat | cat && git diff HEAD',
  'git config user.email a@b.c && git config user.name a && git commit -q --allow-empty -m second',
  'git fetch -q ../three && git rebase -q HEAD~1 && git stash list && echo done',
];

const uses: readonly Use[] = [
  {
    title: 'bash with here-documents, arrays and the time of day',
    allow: ['bash', 'cat'],
    words: ['-c', 'a=(1 2); cat <<X\n${a[1]} $(printf "%(%F)T" 0)\nX\nread -r x <<<"é"; echo "${#x}"'],
    says: /^2 1970-01-01\n1\n$/,
  },
  { title: 'sh', allow: ['sh'], words: ['-c', 'cd .; echo $((6*7))'], says: /^42\n$/ },
  {
    title: 'python3 importing half its library',
    allow: ['python3'],
    words: ['-c', pythonImports.join('\n')],
    says: /\(42,\)/,
  },
  {
    title: "the system's own python3",
    allow: ['/usr/bin/python3'],
    words: ['-c', pythonImports.join('\n')],
    says: /\(42,\)/,
  },
  {
    title: 'git: commits, a clone, a fetch and a rebase of a local repository',
    allow: ['bash', 'git', 'cat'],
    words: ['-e', '-c', gitSession.join('\n')],
    says: /done\n$/,
  },
  {
    title: 'node running a script',
    allow: ['node'],
    words: ['-e', 'require("node:https"); new Intl.DateTimeFormat("de").format(0); console.log(process.version)'],
    says: /^v/,
  },
  {
    title: '`npm test` of a package without dependencies',
    allow: ['npm'],
    words: ['test', '--no-update-notifier'],
    files: { 'package.json': '{"name":"p","scripts":{"test":"node t.js"}}', 't.js': 'console.log("it ran")' },
    says: /it ran/,
  },
  { title: 'make and gcc of two files', allow: ['make', 'gcc'], words: [], files: twoFileProgram },
  {
    title: 'g++ with link-time optimisation',
    allow: ['g++'],
    words: ['-O2', '-flto', '-o', 'program', 'main.cc'],
    files: { 'main.cc': '#include <iostream>\nint main() { std::cout << 1; }\n' },
  },
  {
    title: 'clang',
    allow: ['clang'],
    words: ['-o', 'program', 'main.c', 'part.c'],
    files: twoFileProgram,
    besides: ['/opt', '/usr/local'],
  },
  { title: 'curl saying its version', allow: ['curl'], words: ['--version'], says: /^curl / },
  { title: 'jq', allow: ['jq'], words: ['-n', '[1,2]|@json'], says: /\[1,2\]/ },
  {
    title: 'perl with modules of C',
    allow: ['perl'],
    words: ['-MPOSIX', '-MFile::Spec', '-MSocket', '-MData::Dumper', '-e', 'print Dumper(floor(4.2))'],
    says: /4/,
  },
  {
    title: 'sort, awk, sed, grep, find, tar and gzip',
    allow: [
      'bash',
      'sort',
      'awk',
      'sed',
      'grep',
      'find',
      'tar',
      'gzip',
      'gunzip',
      'wc',
      'ls',
      'env',
      'xargs',
      'echo',
      'date',
    ],
    words: [
      '-e',
      '-c',
      'printf "b\\na\\n" | sort -u | awk "{print toupper(\\$0)}" | sed s/A/c/ | grep -c c; find . -name "x*" | wc -l;' +
        'ls -l . >list; date >>list; tar czf a.tgz list; tar xzf a.tgz; gzip -k list; gunzip -f list.gz; env | xargs >/dev/null',
    ],
    says: /^1\n0\n$/,
  },
];

describe('the files of a command', () => {
  it.for(uses)('cover everything that is opened by $title', async (use, context) => {
    context.skip(!hasStrace, 'needs strace');
    const granted = await filesOf(use.allow);
    context.skip(granted === null, `needs ${use.allow.join(', ')}`);
    if (granted === null) return;
    for (const [name, text] of Object.entries(use.files ?? {})) writeFileSync(join(workdir, name), text);
    const traced = await trace(granted, use.words);
    expect(traced).toMatchObject({ exitCode: 0, output: expect.stringMatching(use.says ?? /^/) });
    expect(traced.files).toContainEqual({ how: 'started', path: granted[0]?.program });
    expect(traced.files).toContainEqual({ how: 'opened', path: '/etc/ld.so.cache' });
    expect(granted.flatMap(({ problems }) => problems)).toEqual([]);
    expect(
      uncoveredFiles(traced.files, [...granted, baselineFiles(systemFiles)], [...elsewhere, ...(use.besides ?? [])]),
    ).toEqual([]);
  });

  it('cover everything that is opened by curl when it tries TLS', async (context) => {
    const granted = await filesOf(['curl']);
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

  it('are more than what starts it: git does not find its templates with its closure alone', async (context) => {
    const path = await pathOf('git');
    context.skip(!hasStrace || path === null, 'needs strace and git');
    if (path === null) return;
    const closure = programClosure(path, systemFiles, searchPath());
    const traced = await traceFiles({ argv: [path, 'init', '-q', '.'], cwd: workdir, env: environment });
    const missing = uncoveredFiles(traced.files, [closure, baselineFiles(systemFiles)], elsewhere);
    expect(missing).toContainEqual(expect.stringMatching(/^opened .*\/git-core\/templates$/));
  });

  it('hold nothing of a home, of /etc/shadow or of private keys', async (context) => {
    const granted = await filesOf(['bash', 'curl', 'git']);
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

function trace(granted: readonly CommandFiles[], words: readonly string[]): Promise<Traced> {
  return traceFiles({ argv: [granted[0]?.program ?? '', ...words], cwd: workdir, env: environment });
}
