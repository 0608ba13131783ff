import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it, type TestContext, vi } from 'vitest';

import {
  explain,
  type Grants,
  isSandboxError,
  launch,
  type LaunchRequest,
  type Output,
  probe,
  type SandboxClass,
} from '../src/index.ts';
import { MarkedProcesses } from './marked-processes.ts';
import { needsClass } from './needs-class.ts';

let folder = '';
const at = (...parts: readonly string[]): string => join(folder, ...parts);

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-library-')));
  for (const path of ['project/.git', 'data']) mkdirSync(at(path), { recursive: true });
  for (const path of ['secret', 'data/file', 'project/.git/config']) writeFileSync(at(path), `text of ${path}\n`);
});

afterAll(() => rmSync(folder, { recursive: true }));

interface Said {
  readonly exitCode: number | null;
  readonly out: string;
  readonly err: string;
  readonly end: Output;
}

/** What a line of the shell printed with these grants. */
async function shell(line: string, grants: Grants = {}, request: Partial<LaunchRequest> = {}): Promise<Said> {
  const launched = await launch({ command: ['sh', '-c', line], grants, ...request });
  const end = await launched.output();
  return { exitCode: end.exitCode, out: end.stdout.toString(), err: end.stderr.toString(), end };
}

/** What there is in a folder for temporary files of its own, which it has until the test is over: others launch as well. */
function leftBy(context: TestContext): () => readonly string[] {
  const own = at('temporary');
  mkdirSync(own);
  const usual = process.env['TMPDIR'];
  process.env['TMPDIR'] = own;
  context.onTestFinished(() => {
    if (usual === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = usual;
    rmSync(own, { recursive: true });
  });
  return () => readdirSync(own);
}

/** The code of what a request is refused with. */
async function codeOf(request: LaunchRequest): Promise<string> {
  const failure: unknown = await launch(request).then(
    () => null,
    (error: unknown) => error,
  );
  if (!isSandboxError(failure)) throw failure;
  return failure.code;
}

describe.each(['sealed', 'scoped', 'advisory'] as const)('a command in class %s', (wanted: SandboxClass) => {
  it('runs, and its caller gets its exit code, its outputs and its end', async (context) => {
    await needsClass(context, wanted);
    const { exitCode, out, err, end } = await shell('echo out; echo err >&2; exit 3', {}, { class: wanted });
    expect([exitCode, out, err]).toEqual([3, 'out\n', 'err\n']);
    expect(end).toMatchObject({ signal: null, endedBy: 'command', refused: [] });
  });

  it('has what was granted, and nothing else of the files where the class holds them', async (context) => {
    await needsClass(context, wanted);
    const isHeld = wanted !== 'advisory';
    const grants = { read: [at('data')], write: [at('project')] };
    const line = `cat ${at('data/file')}; cat ${at('secret')}; echo new > ${at('project', wanted)}; echo x > ${at('data/new')}; pwd`;
    const { out } = await shell(line, grants, { class: wanted, cwd: at('project') });
    expect(out).toBe(`text of data/file\n${isHeld ? '' : 'text of secret\n'}${at('project')}\n`);
    expect(readFileSync(at('project', wanted), 'utf8')).toBe('new\n');
    expect(existsSync(at('data/new'))).toBe(!isHeld);
    rmSync(at('data/new'), { force: true });
  });

  it('has the variables that were granted, and those of every command', async (context) => {
    await needsClass(context, wanted);
    const { out } = await shell('env -u PWD', { env: { WORD: 'word', TERM: 'vt100' } }, { class: wanted });
    const names = out
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]);
    expect(new Set(names)).toEqual(new Set(['HOME', 'LANG', 'PATH', 'TERM', 'TMPDIR', 'WORD']));
    expect(out).toContain('TERM=vt100\n');
  });

  it('has an empty folder of its own, with a home and a place for temporary files, all gone afterwards', async (context) => {
    await needsClass(context, wanted);
    const { out } = await shell('pwd; ls; echo x > ~/x && echo x > "$TMPDIR/x" && echo written', {}, { class: wanted });
    const [place = '', said] = out.split('\n');
    expect(said).toBe('written');
    expect(place).toContain('/svc-sandbox-');
    expect(existsSync(place) || existsSync(join(place, '..'))).toBe(false);
  });

  it('reads nothing of what contains it, also where it may read all temporary files', async (context) => {
    await needsClass(context, wanted);
    context.skip(wanted === 'advisory', 'keeps no file from a command');
    const left = leftBy(context);
    const { out } = await shell(
      `find ${at('temporary')} /dev/shm -mindepth 1; ls -d ${at('temporary')}/svc-sandbox-*/work`,
      { read: [at('temporary')] },
      { class: wanted },
    );
    const found = out
      .replaceAll(/svc-sandbox-\w{6}/g, 'svc-sandbox')
      .trimEnd()
      .split('\n');
    expect(found.filter((path) => !path.includes('/work/')).toSorted()).toEqual([
      at('temporary/svc-sandbox'),
      at('temporary/svc-sandbox/work'),
      at('temporary/svc-sandbox/work'),
    ]);
    expect(left()).toEqual([]);
  });

  it('reaches no server of this machine', async (context) => {
    await needsClass(context, wanted);
    const { url, server } = await listening();
    context.onTestFinished(() => void server.close());
    const { out, end } = await node(fetching(url), {}, wanted);
    expect([out, end.refused]).toEqual(['refused\n', []]);
  });
});

describe('the report of explain', () => {
  it('shows a temporary directory of the host that is granted for reading as the command has it', async (context) => {
    await needsClass(context, 'sealed');
    const grants = { read: ['/tmp'] };
    const { files } = await explain({ command: ['true'], grants });
    expect(files.find(({ path }) => path === '/tmp')).toEqual({ path: '/tmp', access: 'read', why: 'granted' });
    const { out } = await shell(
      'echo x > /tmp/x; echo "$TMPDIR" | grep -c "^/tmp/svc-sandbox-"; mktemp | grep -c .',
      grants,
    );
    expect(out).toBe(realpathSync(tmpdir()) === '/tmp' ? '1\n1\n' : '0\n1\n');
  });

  it('names the grant for a program that lies where the command may write, as the launch does', async (context) => {
    await needsClass(context, 'sealed');
    mkdirSync(at('tools'));
    writeFileSync(at('tools/own'), '#!/bin/sh\n', { mode: 0o755 });
    const request = { command: ['true'], grants: { write: [at('tools')], run: [at('tools/own')] } };
    const said = [
      `${at('tools/own')} lies where the command may write, and runs only where that is granted too (runWritten)`,
    ];
    expect((await explain(request)).warnings).toEqual(expect.arrayContaining(said));
    const launched = await launch(request);
    await launched.output();
    expect(launched.warnings).toEqual(expect.arrayContaining(said));
  });

  it.for([
    [
      'places',
      1100,
      'x',
      /what it is granted and what its programs need are \d+ places, and a launch has room for 1024: /,
    ],
    ['bytes', 180, 'x'.repeat(250), /the paths of .* need take \d+ bytes, and a launch has room for 1048576: /],
  ] as const)('says of more %s than fit into a launch what the launch says', async ([, count, name, said], context) => {
    await needsClass(context, 'sealed');
    const deep = at('many', name.length > 1 ? Array.from({ length: 13 }, () => name).join('/') : name);
    mkdirSync(deep, { recursive: true });
    context.onTestFinished(() => rmSync(at('many'), { recursive: true }));
    const read = Array.from({ length: count }, (_, number) => join(deep, `${number}`));
    for (const path of read) writeFileSync(path, '');
    for (const call of [explain, launch]) {
      const failure: unknown = await call({ command: ['true'], grants: { read } }).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'E-CAP-021', message: expect.stringMatching(said) });
      expect(failure).toMatchObject({ message: expect.stringContaining('was not started: ') });
    }
  });

  it('has the variables of the command, those by which it finds its way to the network among them', async (context) => {
    await needsClass(context, 'sealed');
    const grants = { network: ['a.example'], env: { WORD: 'word' } };
    const { env } = await explain({ command: ['true'], grants });
    const { out } = await shell('env -u PWD | cut -d = -f 1', grants);
    expect(env).toEqual(out.trim().split('\n').sort());
    expect(env).toContain('https_proxy');
  });

  it('has the largest limits that hold', async (context) => {
    await needsClass(context, 'sealed');
    const most = Number.MAX_SAFE_INTEGER;
    const limits = { memoryBytes: most, processes: 4_194_304, openFiles: most, fileBytes: most, cpuSeconds: most };
    expect((await shell('echo ran', { limits })).out).toBe('ran\n');
  });
});

describe('a sealed command', () => {
  it('cannot write what is granted for reading inside a place that it may write', async (context) => {
    await needsClass(context, 'sealed');
    const line = 'echo x > .git/config; mv .git other; rm -r .git; cat .git/config; echo y > beside; cat beside';
    const grants = { write: [at('project')], read: [at('project/.git')] };
    const { out } = await shell(line, grants, { cwd: at('project') });
    expect(out).toBe('text of project/.git/config\ny\n');
    expect(readFileSync(at('project/.git/config'), 'utf8')).toBe('text of project/.git/config\n');
  });

  it('cannot put others in place of the directories that lead there', async (context) => {
    await needsClass(context, 'sealed');
    mkdirSync(at('deep/a/b/.git'), { recursive: true });
    writeFileSync(at('deep/a/b/.git/config'), 'kept\n');
    const line =
      'mv a old; mv a/b a/old; mkdir -p a/b/.git; echo x > a/b/.git/config; echo y > a/b/beside; cat a/b/beside';
    const { out } = await shell(line, { write: [at('deep')], read: [at('deep/a/b/.git')] }, { cwd: at('deep') });
    expect([out, readFileSync(at('deep/a/b/.git/config'), 'utf8')]).toEqual(['y\n', 'kept\n']);
  });

  it('reaches the destinations that were granted, and its refusals are in the result', async (context) => {
    await needsClass(context, 'sealed');
    const [granted, other] = [await listening(), await listening()];
    context.onTestFinished(() => [granted, other].forEach(({ server }) => server.close()));
    const { host } = new URL(granted.url);
    const { out, end } = await node(`${fetching(granted.url)}${fetching(other.url)}`, { network: [host] });
    expect(out).toBe('200 hello\n403 refused\n');
    expect(end.refused).toEqual([
      {
        kind: 'network',
        destination: other.url.replace(/\/$/, ''),
        reason: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+ is refused: the grant does not name it\. /),
      },
    ]);
  });

  it('has no refusal in its result for a destination that was granted and has no address', async (context) => {
    await needsClass(context, 'sealed');
    const { out, end } = await node(fetching('http://nowhere.invalid/'), { network: ['nowhere.invalid'] });
    expect(out).toMatch(/^50[24] refused\n$/);
    expect(end.refused).toEqual([]);
  });

  it('leaves nothing running, however it detached it', async (context) => {
    await needsClass(context, 'sealed');
    const marked = new MarkedProcesses();
    context.onTestFinished(() => marked.end());
    const launched = await launch({
      command: ['sh', '-c', `${marked.sleep(1)} & setsid ${marked.sleep(2)} & sleep 0.2; echo up; cat`],
      stdin: 'pipe',
    });
    await once(launched.stdout, 'data');
    await vi.waitFor(() => expect(marked.running()).toEqual(expect.arrayContaining(['1', '2'])), { timeout: 10_000 });
    launched.stdin?.end();
    expect((await launched.ended).exitCode).toBe(0);
    expect(await marked.settled([])).toEqual([]);
  });

  it('runs programs that it wrote where that is granted, and not where it is not', async (context) => {
    await needsClass(context, 'sealed');
    const line = 'printf "#!/bin/sh\\necho ran\\n" > own; chmod +x own; ./own';
    const write = [at('project')];
    expect((await shell(line, { write }, { cwd: at('project') })).out).toBe('');
    expect((await shell(line, { write, runWritten: true }, { cwd: at('project') })).out).toBe('ran\n');
  });

  it('runs the programs that it names, and sees no others', async (context) => {
    await needsClass(context, 'sealed');
    const { out } = await shell('cat /proc/self/comm; ls || echo none; test -e /usr/bin/ls || echo unseen', {
      run: ['cat'],
    });
    expect(out).toBe('cat\nnone\nunseen\n');
  });
});

describe('a limit', () => {
  it('on time asks the command to end, then ends it', async (context) => {
    await needsClass(context, 'sealed');
    const asked = await shell('trap "exit 9" TERM; echo up; sleep 60 & wait', { limits: { timeMs: 2000 } });
    expect([asked.out, asked.exitCode, asked.end.endedBy]).toEqual(['up\n', 9, 'time']);
    const deaf = await shell('trap "" TERM; echo up; sleep 60', { limits: { timeMs: 2000 } });
    expect([deaf.out, deaf.end.signal, deaf.end.endedBy]).toEqual(['up\n', 'SIGKILL', 'time']);
  });

  it('on output cuts both together, and ends the command', async (context) => {
    await needsClass(context, 'sealed');
    const { end } = await shell('yes & yes >&2', { limits: { outputBytes: 100_000 } });
    expect(end.stdout.length + end.stderr.length).toBe(100_000);
    expect(end.endedBy).toBe('output');
  });

  it('on memory ends what takes more together than one process may', async (context) => {
    await needsClass(context, 'sealed');
    const hog = 'const held = Buffer.alloc(150 * 2 ** 20, 1); setTimeout(() => held, 60_000)';
    const line = `node -e '${hog}' & node -e '${hog}' & wait`;
    const { end } = await shell(line, { limits: { memoryBytes: 280 * 2 ** 20 } });
    expect(end.signal).toBe('SIGKILL');
    expect(end.refused).toEqual([
      { kind: 'limit', reason: expect.stringContaining('the limit on memory was reached') },
    ]);
  });

  it('on processes holds a command with all that it starts', async (context) => {
    await needsClass(context, 'sealed');
    const line = 'for n in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done; echo all; kill $(jobs -p)';
    const { out, err } = await shell(line, { limits: { processes: 8 } });
    expect(out).toBe('');
    expect(err).toMatch(/fork/i);
  });
});

describe('launch', () => {
  it('writes to the input of the command, and hands over its outputs as they come', async (context) => {
    await needsClass(context, 'sealed');
    const launched = await launch({ command: ['cat'], stdin: 'pipe' });
    launched.stdin?.write('one');
    expect(String((await once(launched.stdout, 'data'))[0])).toBe('one');
    launched.stdin?.end();
    expect(await launched.ended).toMatchObject({ exitCode: 0, endedBy: 'command' });
  });

  it('ends the command when its signal is aborted, and passes other signals on', async (context) => {
    await needsClass(context, 'sealed');
    const abort = new AbortController();
    const launched = await launch({ command: ['sleep', '60'], signal: abort.signal });
    abort.abort();
    expect(await launched.ended).toMatchObject({ exitCode: null, signal: 'SIGTERM', endedBy: 'caller' });
    const hung = await launch({ command: ['sleep', '60'] });
    hung.kill('SIGHUP');
    expect(await hung.ended).toMatchObject({ signal: 'SIGHUP', endedBy: 'command' });
  });

  it('refuses what cannot be carried out, and leaves nothing', async (context) => {
    await needsClass(context, 'sealed');
    const left = leftBy(context);
    expect(await codeOf({ command: ['nope'] })).toBe('E-CAP-021');
    expect(await codeOf({ command: ['ls'], grants: { read: [at('gone')] } })).toBe('E-CAP-019');
    expect(await codeOf({ command: ['ls'], grants: { write: [realpathSync(tmpdir())] } })).toBe('E-CAP-019');
    expect(await codeOf({ command: ['ls'], grants: { network: ['a b'] } })).toBe('E-CAP-001');
    expect(await codeOf({ command: ['ls'], class: 'scoped', grants: { network: ['a'] } })).toBe('E-CAP-020');
    expect(await codeOf({ command: ['ls', 'a\0b'] })).toBe('E-CAP-021');
    expect(left()).toEqual([]);
  });

  it('works for many at once, each with grants of its own', async (context) => {
    await needsClass(context, 'sealed');
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, index) => shell('echo $WORD; ls -A', { env: { WORD: `${index}` } })),
    );
    expect(all.map(({ out }) => out)).toEqual(Array.from({ length: 8 }, (_, index) => `${index}\n.svc\n`));
  });

  it.skipIf(process.getuid?.() !== 0)('leaves what root wrote to root (skipped without root)', async (context) => {
    await needsClass(context, 'sealed');
    mkdirSync(at('owned'));
    chownSync(at('owned'), 0, 0);
    await shell('echo x > x', { write: [at('owned')] }, { cwd: at('owned') });
    const { out } = await shell('stat -c %u x', { write: [at('owned')] }, { cwd: at('owned') });
    expect(out).toBe('0\n');
  });
});

describe('what is explained', () => {
  it.for(['sealed', 'scoped'] as const)('in class %s shows what a command then meets', async (wanted, context) => {
    await needsClass(context, wanted);
    const grants = { read: [at('data')], write: [at('project')], limits: { timeMs: 60_000 } };
    const request = { class: wanted, cwd: at('project') };
    const explanation = await explain({ command: ['sh', '-c', 'true'], grants, ...request });
    expect(explanation).toMatchObject({ class: wanted, program: expect.stringContaining('sh'), cwd: at('project') });
    const files = explanation.files.filter(({ path }) => existsSync(path));
    expect(files.length).toBeGreaterThan(5);
    const { out } = await shell(files.map(({ path }) => tried(path)).join('\n'), grants, request);
    const told = files.map(({ path, access }) => `${path} reads${/write|own/.test(access) ? ' writes' : ''}`);
    expect(out.trim().split('\n')).toEqual(told);
    expect(explanation.files).toContainEqual({ path: at('data'), access: 'read', why: 'granted' });
    expect(explanation.files).toContainEqual({ path: at('project'), access: 'write', why: 'granted' });
    expect(explanation.files).toContainEqual({ path: '/usr', access: 'run', why: 'needed' });
    expect(explanation.limits).toContainEqual({ limit: 'timeMs', most: 60_000, of: 'command', heldBy: 'this process' });
  });

  it('starts nothing, makes nothing and refuses what a launch refuses', async (context) => {
    await needsClass(context, 'sealed');
    const left = leftBy(context);
    const explanation = await explain({ command: ['touch', at('touched')], grants: { network: ['a.example:443'] } });
    expect(explanation.network).toEqual(['a.example:443']);
    expect(explanation.networkHeldBy).toContain('proxy');
    expect(explanation.notStopped.join(' ')).toContain('it can send');
    expect(existsSync(at('touched'))).toBe(false);
    expect(left()).toEqual([]);
    await expect(explain({ command: ['nope'] })).rejects.toMatchObject({ code: 'E-CAP-021' });
  });
});

/** A line of the shell that says what it can do with a file or a directory. */
function tried(path: string): string {
  const reads = `if [ -d ${path} ]; then ls ${path}/ >/dev/null 2>&1; else (: < ${path}) 2>/dev/null; fi && printf ' reads'`;
  const made = `${path}/.svc-tried`;
  const writes = `if [ -d ${path} ]; then mkdir ${made} && rmdir ${made}; else (: >> ${path}); fi 2>/dev/null && printf ' writes'`;
  return `printf %s ${path}; ${reads}; ${writes}; echo`;
}

describe('probe', () => {
  it('says which class this machine can enforce, by what, and why not a stronger one', async (context) => {
    await needsClass(context, 'sealed');
    expect(await probe()).toEqual({
      class: 'sealed',
      mechanism: 'mountns+pivot_root+landlock+seccomp',
      reason: null,
      obstacles: { sealed: null, scoped: null, advisory: null },
    });
  });
});

async function listening(): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((_request, response) => response.end('hello'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, server };
}

/** A program of Node that asks for an address, through the proxy where it has one, and prints the answer. */
function fetching(url: string): string {
  return `
await new Promise((resolve) => {
  const proxy = process.env.HTTP_PROXY;
  const via = proxy === undefined ? {} : { hostname: '127.0.0.1', port: new URL(proxy).port, path: '${url}' };
  require('node:http').get('${url}', via, (answer) => {
    answer.setEncoding('utf8').on('data', (text) => console.log(answer.statusCode, answer.statusCode === 200 ? text : 'refused'));
    answer.on('end', resolve);
  }).on('error', () => { console.log('refused'); resolve(); });
});`;
}

async function node(program: string, grants: Grants, wanted: SandboxClass = 'sealed'): Promise<Said> {
  const launched = await launch({
    command: [process.execPath, '-e', `(async () => {${program}})()`],
    grants,
    class: wanted,
  });
  const end = await launched.output();
  return { exitCode: end.exitCode, out: end.stdout.toString(), err: end.stderr.toString(), end };
}
