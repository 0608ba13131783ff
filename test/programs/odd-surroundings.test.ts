import { execFile, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

import { ArchivedFiles } from '@svc/artifacts/store/open-stored.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { type RunningRecord, writeRunningRecord } from '@svc/record/sessions/running-record.ts';
import { liveRecord } from '../support/running-record.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

/** Runs a line of sh to its end, in a fresh folder that is its first argument. */
async function sh(line: string, folder: string): Promise<Ended> {
  return await new Promise((resolve) => {
    const child = execFile(
      '/bin/sh',
      ['-c', line, 'sh', folder],
      { env: { PATH: process.env['PATH'], HOME: folder } },
      (_error, _stdout, stderr) => {
        resolve({ code: child.exitCode, stderr });
      },
    );
  });
}

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-odd-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

it('svc says so when the current directory has been removed', async () => {
  const line = `mkdir "$1/gone" && cd "$1/gone" && rmdir "$1/gone" && exec "${process.execPath}" "${root}/bin/svc.cjs" list`;
  expect(await sh(line, freshFolder())).toEqual({
    code: 1,
    stderr: 'error[E-IO-001]: the current directory has been removed\nhint: change to one that is there\n',
  });
});

/** Programs as they are before their first start. */
function copyPrograms(folder: string): void {
  // Other tests start programs meanwhile, and a program's first start keeps its compiled code beside it.
  const filter = (path: string): boolean => !/\.cache(\.\d+)?$/.test(path);
  for (const part of ['bin', 'dist']) cpSync(join(root, part), join(folder, part), { recursive: true, filter });
}

describe('svc, where it compiles what it runs,', () => {
  const run = async (folder: string): Promise<void> => {
    await sh(`cd "$1" && umask 000 && exec "${process.execPath}" bin/svc.cjs run --task go`, folder);
  };
  /** Another file in its place has another number. */
  const caches = (folder: string): { mode: number; inode: bigint }[] =>
    readdirSync(join(folder, 'dist'))
      .filter((name) => name.endsWith('.cache'))
      .map((name) => statSync(join(folder, 'dist', name), { bigint: true }))
      .map(({ mode, ino }) => ({ mode: Number(mode) & 0o777, inode: ino }));

  it('keeps it for everybody in a file that its owner alone may write, whatever the mask, and then has nothing to write', async () => {
    const folder = freshFolder();
    copyPrograms(folder);
    cpSync(join(root, 'package.json'), join(folder, 'package.json'));
    writeCapsule(folder);
    await run(folder);
    // The second one looks at what the first one has left.
    await run(folder);
    const kept = caches(folder);
    expect(kept.map(({ mode }) => mode)).toEqual([0o644]);
    await run(folder);
    expect(caches(folder)).toEqual(kept);

    // Under other flags of the engine it has a file of its own.
    const underFlags = `cd "$1" && exec "${process.execPath}" --no-opt bin/svc.cjs run --task go`;
    for (let times = 0; times < 2; times += 1) expect(await sh(underFlags, folder)).toMatchObject({ code: 0 });
    const both = caches(folder);
    expect(both).toEqual([expect.anything(), expect.anything()]);
    expect(both).toContainEqual(kept[0]);
    await sh(underFlags, folder);
    expect(caches(folder)).toEqual(both);
    for (const name of readdirSync(join(folder, 'dist'))) {
      if (/\.[0-9a-f]+\.cache$/.test(name)) rmSync(join(folder, 'dist', name));
    }
    expect(caches(folder)).toEqual(kept);

    // Another command adds what it has read.
    const ps = `exec "${process.execPath}" "$1/bin/svc.cjs" ps`;
    expect(await sh(ps, folder)).toMatchObject({ code: 0 });
    const [{ inode } = { inode: 0n }] = caches(folder);
    expect(inode).not.toBe(kept[0]?.inode);
    await run(folder);
    expect(await sh(ps, folder)).toMatchObject({ code: 0 });
    expect(caches(folder)).toEqual([{ mode: 0o644, inode }]);

    // A file that another build put there has another hash: what is kept of the old one is not run for it.
    const file = join(folder, 'dist/late/svc-sessions-ps.cjs');
    const { length } = readFileSync(file, 'latin1');
    writeFileSync(file, `/*${'0'.repeat(16)}*/throw new Error("another build");`.padEnd(length));
    expect((await sh(ps, folder)).stderr).toContain('another build');
    cpSync(join(root, 'dist/late/svc-sessions-ps.cjs'), file);
    expect(await sh(ps, folder)).toMatchObject({ code: 0 });
  });

  it('removes what a start that was killed had begun to keep, and leaves what one is keeping now', async () => {
    const folder = freshFolder();
    copyPrograms(folder);
    cpSync(join(root, 'package.json'), join(folder, 'package.json'));
    writeCapsule(folder);
    const begun = (name: string): string => join(folder, 'dist', `svc.cjs.${name}.v20.20.2-x64.cache.4621`);
    for (const name of ['old', 'new']) writeFileSync(begun(name), 'half');
    utimesSync(begun('old'), 1_700_000_000, 1_700_000_000);
    await run(folder);
    expect([existsSync(begun('old')), existsSync(begun('new'))]).toEqual([false, true]);
  });

  it('compiles the bundle anew when the cache that was kept is damaged', async () => {
    const folder = freshFolder();
    copyPrograms(folder);
    cpSync(join(root, 'package.json'), join(folder, 'package.json'));
    writeCapsule(folder);
    await run(folder);
    const name = readdirSync(join(folder, 'dist')).find((each) => each.endsWith('.cache'));
    const path = join(folder, 'dist', name ?? '');
    const whole = readFileSync(path);
    const start = whole.toString('latin1', 0, 20);
    const indexOf = (cache: Buffer): string =>
      cache.toString('latin1', 20, 20 + Number.parseInt(cache.toString('latin1', 0, 20)));
    const inMiddle = Buffer.from(`${start}${indexOf(whole).replaceAll('":["', '":{"')}`, 'latin1');
    const damages = [
      `${'3 99999999999'.padEnd(20)}{}`,
      `${'3 3'.padEnd(20)}{]}abc`,
      whole.subarray(0, 5000),
      Buffer.concat([inMiddle, whole.subarray(inMiddle.length)]),
    ];
    for (const damaged of damages) {
      writeFileSync(path, damaged);
      expect(await sh(`cd "$1" && exec "${process.execPath}" bin/svc.cjs run --task go`, folder)).toMatchObject({
        code: 0,
      });
      expect(statSync(path).size).toBeGreaterThan(500_000);
      expect(JSON.parse(indexOf(readFileSync(path)))).toHaveProperty('parts');
    }
  });
});

it('svc says that it is to be installed again when a part of it is missing', async () => {
  const folder = freshFolder();
  copyPrograms(folder);
  rmSync(join(folder, 'dist/late/svc-artifacts-list.cjs'));
  const { code, stderr } = await sh(`exec "${process.execPath}" "$1/bin/svc.cjs" list`, folder);
  expect(code).toBe(70);
  expect(stderr).toMatch(
    /^svc: a part of svc \S+ is missing, install it again: Cannot find module '\.\/svc-artifacts-list\.cjs'\n$/,
  );
});

function writeCapsule(folder: string): void {
  writeFileSync(
    join(folder, 'svc.yaml'),
    `name: demo
version: 1.0.0
inference: { model: scripted, driver: { artifact: svc-driver-script, config: { script: script.yaml } } }
`,
  );
  writeFileSync(join(folder, 'script.yaml'), '- content: [{ type: text, text: Done. }]\n  stop_reason: end_turn\n');
}

/** The same with the driver of a folder, which is a component, as each driver is that does not come with svc. */
async function writeComponentCapsule(folder: string): Promise<void> {
  writeCapsule(folder);
  mkdirSync(join(folder, 'driver'));
  const archive = join(root, 'dist/bundled/svc-driver-script/1.0.0/svc-driver-script-1.0.0.zip');
  const files = new ArchivedFiles(archive, sha256Hex(readFileSync(archive)), null);
  for (const name of ['svc.yaml', 'component.wasm'])
    writeFileSync(join(folder, 'driver', name), await files.read(name));
  appendFileSync(
    join(folder, 'svc.yaml'),
    'artifacts: [{ name: svc-driver-script, version: 1.0.0, runtime: driver, source: ./driver }]\n',
  );
  // So that it is compiled.
  expect(await sh(`cd "$1" && exec "${process.execPath}" "${root}/bin/svc.cjs" run --task go`, folder)).toMatchObject({
    code: 0,
  });
}

it('svc runs a manifest in a folder that it cannot write in, says where it keeps what it makes, and finds it there', async () => {
  const folder = freshFolder();
  const [capsule, home] = [join(folder, 'capsule'), join(folder, 'home')];
  const style = join(folder, 'style');
  for (const made of [capsule, home, style]) mkdirSync(made);
  writeCapsule(capsule);
  const skill = 'name: style\nversion: 1.0.0\nruntime: skill\n';
  writeFileSync(join(style, 'svc.yaml'), skill);
  writeFileSync(join(style, 'skill.md'), 'Be brief.');
  appendFileSync(join(capsule, 'svc.yaml'), `artifacts: [{ ${skill.trim().replaceAll('\n', ', ')} }]\n`);
  chmodSync(folder, 0o755);
  chmodSync(capsule, 0o555);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(home, 54_321, 54_321);
  const as = isRoot ? 'setpriv --reuid 54321 --regid 54321 --clear-groups ' : '';
  const program = `cd "$1/capsule" && HOME="$1/home" exec ${as}"${process.execPath}" "${root}/bin/svc.cjs"`;
  expect(await sh(`${program} publish ../style --registry local`, folder)).toMatchObject({ code: 0 });
  const ran = await sh(`${program} run --task go`, folder);
  const [kept = ''] = readdirSync(join(home, '.svc/folders'));
  expect(kept).toMatch(/^capsule-[0-9a-f]{16}$/);
  const place = join(home, '.svc/folders', kept);
  const warning = (what: string): string =>
    `warning[W-RUN-185]: "${capsule}" cannot be written in: ${what} are kept in "${place}"\nhint: svc trace, logs and view find them from that folder; to keep them in it, let this user write there\n`;
  expect(ran).toEqual({ code: 0, stderr: warning('sessions, workdirs and svc.lock') });
  expect(readdirSync(place).sort()).toEqual(['.svc', 'svc.lock', 'workdir']);
  expect(readdirSync(capsule).sort()).toEqual(['script.yaml', 'svc.yaml']);
  // So that svc prune --artifacts -g leaves what it needs.
  expect(JSON.parse(readFileSync(join(home, '.svc/projects.json'), 'utf8'))).toMatchObject({ projects: [place] });
  expect(await sh(`${program} run --replay`, folder)).toMatchObject({ code: 0 });
  // As after an upgrade of svc.
  const lock = join(place, 'svc.lock');
  const recorded = readFileSync(lock, 'utf8');
  writeFileSync(lock, recorded.replace(/[0-9a-f]{64}/, '0'.repeat(64)));
  expect((await sh(`${program} run --task go`, folder)).stderr).toContain(
    `\nhint: remove "${lock}", which the next run makes anew, to accept the change, or `,
  );
  writeFileSync(lock, recorded);
  chmodSync(capsule, 0o755);
  writeFileSync(
    join(capsule, 'svc.lock'),
    readFileSync(join(place, 'svc.lock'), 'utf8').replace(/[0-9a-f]{64}/, '0'.repeat(64)),
  );
  chmodSync(capsule, 0o555);
  const { code, stderr } = await sh(`${program} run --task go`, folder);
  expect(code).toBe(1);
  expect(stderr).toContain(warning('sessions and workdirs'));
  expect(stderr).toContain('error[E-RUN-003]');
  chmodSync(capsule, 0o755);

  // The same of a capsule of a store, which is unpacked where it can be written.
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  chmodSync(empty, 0o555);
  expect(await sh(`${program} publish --registry local`, folder)).toMatchObject({ code: 0 });
  const there = program.replace('/capsule"', '/empty"');
  const published = await sh(`${there} run --task go --capsule demo --capsule-version 1.0.0`, folder);
  const its = join(
    home,
    '.svc/folders',
    readdirSync(join(home, '.svc/folders')).find((name) => name.startsWith('empty-')) ?? '',
  );
  expect(published).toEqual({
    code: 0,
    stderr: `warning[W-RUN-185]: "${empty}" cannot be written in: sessions, workdirs and the capsule are kept in "${its}"\nhint: svc trace, logs and view find them from that folder; to keep them in it, let this user write there\n`,
  });
  expect(readdirSync(its).sort()).toEqual(['.svc', 'workdir']);
  expect(readdirSync(join(its, '.svc/capsules'))).toEqual([expect.stringMatching(/^demo-1\.0\.0-[0-9a-f]{16}$/)]);
  expect(statSync(its).mode & 0o777).toBe(0o700);
  expect(readdirSync(empty)).toEqual([]);
  expect(await sh(`${there} run --replay`, folder)).toMatchObject({ code: 0 });
});

it('svc says how to lift a limit of the shell that leaves a component no memory (skipped from Node 24 on)', async (context) => {
  context.skip(
    Number.parseInt(process.versions.node, 10) >= 24,
    'needs a Node that reserves gigabytes for WebAssembly',
  );
  const folder = freshFolder();
  await writeComponentCapsule(folder);
  const line = `cd "$1" && ulimit -v 6000000 && exec "${process.execPath}" "${root}/bin/svc.cjs" run --task go`;
  const { code, stderr } = await sh(line, folder);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /the component cannot start: .*Cannot allocate Wasm memory.*; WebAssembly reserves much address space, which ulimit -v bounds: run svc with ulimit -v unlimited\n$/,
  );
});

const noHome = (why: string): object => ({
  code: 1,
  stderr: `error[E-IO-001]: ${why}\nhint: set HOME to a folder that this user may write in: HOME=/tmp/home svc ..., or docker run -e HOME=/tmp/home\n`,
});

it('svc says that there is no home directory where neither HOME nor the list of users has one (skipped unless root)', async (context) => {
  context.skip(process.getuid?.() !== 0, 'needs root, to be another user');
  const line = `cd / && exec env -u HOME setpriv --reuid 54321 --regid 54321 --clear-groups "${process.execPath}" "${root}/bin/svc.cjs" ps`;
  expect(await sh(line, freshFolder())).toEqual(noHome('HOME is not set, and the system has no home for this user'));
});

it('svc takes no folder of the current directory for its home', async () => {
  const line = `cd "$1" && HOME=own exec "${process.execPath}" "${root}/bin/svc.cjs" ps`;
  expect(await sh(line, freshFolder())).toEqual(noHome('HOME is "own", which is no absolute path'));
});

it('svc takes an empty HOME for none, and no session from the current directory', async () => {
  const folder = freshFolder();
  const { session_id: id } = writeRunning(folder);
  const ps = (home: string): string =>
    `cd "$1" && HOME="${home}" "${process.execPath}" "${root}/bin/svc.cjs" ps --json > "$1/out"`;
  const listed = (): string => readFileSync(join(folder, 'out'), 'utf8');
  await sh(ps('$1'), folder);
  expect(listed()).toContain(id);
  expect((await sh(ps(''), folder)).code).toBe(0);
  expect(listed()).not.toContain(id);
});

/** A session that lives as long as the test, in the records of a folder. */
function writeRunning(home: string): RunningRecord {
  const record = liveRecord({ session_id: 'ses_0000000000007000800000000000abcd' });
  writeRunningRecord(home, record);
  return record;
}

const mayMount = spawnSync('unshare', ['-rm', 'true']).status === 0;

it('svc says that there is no /bin/sh where a component is to be started (skipped without namespaces)', async (context) => {
  context.skip(!mayMount, 'needs a namespace of mounts');
  const folder = freshFolder();
  await writeComponentCapsule(folder);
  writeFileSync(join(folder, 'node'), '');
  const inside = [
    'cd "$1"',
    `mount --bind "${process.execPath}" "$1/node"`,
    'mount -t tmpfs none "$(readlink -f /bin)"',
    `exec "$1/node" "${root}/bin/svc.cjs" run --task go`,
  ].join(' && ');
  const { code, stderr } = await sh(`exec unshare -rm /bin/sh -c '${inside}' sh "$1"`, folder);
  expect(code).toBe(1);
  expect(stderr).toContain('the component cannot start: there is no /bin/sh here, which starts its process\n');
});

it.for([19, 20, 21, 22, 24, 28])('svc takes a limit of %d open files for no bug of its own', async (limit, context) => {
  const folder = freshFolder();
  writeFileSync(join(folder, 'bare.cjs'), '');
  const bare = await sh(`ulimit -n ${limit} && exec "${process.execPath}" "$1/bare.cjs"`, folder);
  context.skip(bare.code !== 0, 'needs a Node that reads its program with so few');
  writeCapsule(folder);
  const line = `cd "$1" && ulimit -n ${limit} && exec "${process.execPath}" "${root}/bin/svc.cjs" run --task go`;
  const { code, stderr } = await sh(line, folder);
  expect(stderr).not.toContain('this is a bug');
  expect(stderr).toMatch(/error\[E-(RUN|IO)-\d+\]: .*too many open files|^$/m);
  expect([0, 1, 2]).toContain(code);
});
