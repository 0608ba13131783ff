import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import { writeRunningRecord } from '@svc/record/sessions/running-record.ts';
import { RecordedSession, sessionId, startedAt } from '../../packages/record/test/journal/recorded-session.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { liveRecord } from '../support/running-record.ts';
import { startCapsule, svc, SvcProcess } from '../support/svc-process.ts';
import { hasPseudoTerminals } from '../support/terminal-process.ts';
import type { Workspace } from '../support/workspace.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));
const capsule = useCapsules();
const longAgo = new Date(startedAt);

/** A session that has ended, with a workdir of its own. */
function ended(workspace: Workspace, session: string): RecordedSession {
  const recorded = new RecordedSession(workspace.folder, { session }).task('Go.').model('Done.').close();
  workspace.write(`workdir/${sessionId(session)}/out/result.txt`, 'Done.\n');
  workspace.write(`.svc/workdirs/${sessionId(session)}.json`, '{}\n');
  return recorded;
}

const at = (workspace: Workspace, path: string): string => join(workspace.folder, path);
const namesIn = (workspace: Workspace, path: string): string[] => readdirSync(at(workspace, path)).toSorted();

interface Pruned {
  readonly kind: string;
  readonly name: string;
  readonly paths: readonly string[];
  readonly outcome: string;
}

async function pruned(workspace: Workspace, ...args: readonly string[]): Promise<Pruned[]> {
  const { stdout, stderr, code } = await svc(workspace, ['prune', '--json', ...args]);
  expect({
    code,
    stderr: stderr.replaceAll(/^(?:removed|there is nothing to remove|1 session may still be starting:) .*\n/gm, ''),
  }).toEqual({
    code: 0,
    stderr: '',
  });
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Pruned);
}

describe('svc prune', () => {
  it.skipIf(process.getuid?.() !== 0)(
    'says that nothing of a session is gone where the file system is read-only (needs root, to mount one)',
    async () => {
      const workspace = capsule();
      ended(workspace, 'a1');
      const [sessions, workdir] = [at(workspace, '.svc'), at(workspace, 'workdir')];
      for (const place of [sessions, workdir]) {
        execFileSync('mount', ['--bind', place, place]);
        execFileSync('mount', ['-o', 'remount,ro,bind', place]);
      }
      try {
        const { code, stderr } = await svc(workspace, ['prune', '--keep', '0', '--yes']);
        expect(code).toBe(1);
        expect(stderr).toMatch(
          /^error\[E-IO-001\]: 1 of them cannot be removed: all of \S+, .* is left: the file system is read-only\nhint: work in a directory that can be written to\n/m,
        );
      } finally {
        for (const place of [sessions, workdir]) execFileSync('umount', [place]);
      }
    },
  );

  it.skipIf(process.getuid?.() !== 0)(
    'keeps what is mounted in a session, as svc trace rm does, and names the place (needs root, to mount something)',
    async () => {
      const workspace = capsule();
      for (const session of ['a1', 'a2']) ended(workspace, session);
      mkdirSync(at(workspace, 'victim'));
      writeFileSync(at(workspace, 'victim/file'), 'x');
      const places = ['a1', 'a2'].map((session) => at(workspace, `.svc/sessions/${sessionId(session)}/mounted`));
      for (const place of places) {
        mkdirSync(place);
        execFileSync('mount', ['--bind', at(workspace, 'victim'), place]);
      }
      const removed = await svc(workspace, ['trace', 'rm', sessionId('a2')]);
      const left = await svc(workspace, ['prune', '--keep', '0', '--older', '1h', '--yes']);
      const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
      for (const mount of mounts.filter((line) => line.includes(workspace.folder)))
        execFileSync('umount', [mount.split(' ')[1] ?? '']);
      expect([removed.code, left.code]).toEqual([1, 1]);
      expect(removed.stderr).toMatch(
        /: \S+\/\.svc\/sessions\/ses_0+a2\/mounted is left: something is mounted there, or uses it\n/,
      );
      expect(left.stderr).toMatch(
        /is left: \.svc\/sessions\/\.svc-pruned-ses_0+a1\.\S+\/mounted: something is mounted there, or uses it\n/,
      );
      expect(readFileSync(at(workspace, 'victim/file'), 'utf8')).toBe('x');
    },
  );

  it('removes sessions beyond those that are kept, with their workdirs, and lists them first when asked', async () => {
    const workspace = capsule();
    for (const session of ['a1', 'a2', 'a3']) ended(workspace, session);
    // Their clocks show the same time: the greater id counts as the newer one.
    const listed = await svc(workspace, ['prune', '--keep', '2', '--dry-run'], { env: { TZ: 'UTC' } });
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    expect(listed.stdout).toMatch(
      /^WHAT {5}FROM {14}SIZE {4}NAME\nsession {2}2025-10-09 08:53 {2}\d\.\d KB {2}ses_0+a1\n$/,
    );
    expect(namesIn(workspace, '.svc/sessions')).toHaveLength(3);
    expect(await pruned(workspace, '--keep', '2', '--yes')).toMatchObject([
      {
        kind: 'session',
        name: sessionId('a1'),
        paths: [
          `.svc/sessions/${sessionId('a1')}`,
          `workdir/${sessionId('a1')}`,
          `.svc/workdirs/${sessionId('a1')}.json`,
        ],
        outcome: 'removed',
      },
    ]);
    const left = [sessionId('a2'), sessionId('a3')];
    expect(namesIn(workspace, '.svc/sessions')).toEqual(left);
    expect(namesIn(workspace, 'workdir')).toEqual(left);
    expect(namesIn(workspace, '.svc/workdirs')).toEqual(left.map((id) => `${id}.json`));
    expect(await svc(workspace, ['prune'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: `there is nothing to remove in ${workspace.folder}\n`,
    });
    expect(await pruned(workspace, '--keep', '0', '--older', '9999w', '--yes')).toEqual([]);
    expect(await pruned(workspace, '--keep', '0', '--older', '30d', '--dry-run')).toHaveLength(2);
  });

  it('removes nothing without an answer, or --yes where nobody can be asked', async () => {
    const workspace = capsule();
    ended(workspace, 'a1');
    const refused = await svc(workspace, ['prune', '--keep', '0']);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      /^error\[E-RUN-126\]: svc prune would remove 1 thing, \d\.\d KB, and there is nobody to ask\nhint: the same command with --dry-run lists them/,
    );
    expect((await svc(workspace, ['prune', '--keep', 'x', '--yes'])).code).toBe(2);
    expect(namesIn(workspace, '.svc/sessions')).toHaveLength(1);
  });

  it.skipIf(!hasPseudoTerminals()).each([
    ['n', 1],
    ['y', 0],
  ])('asks on a terminal, and takes %s for an answer (skipped without python3)', async (answer, left) => {
    const workspace = capsule();
    ended(workspace, 'a1');
    // Waits for the question, answers it, and copies what is shown.
    const script = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
shown = b''
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    shown += piece
    if shown.rstrip().endswith(b'[y/N]'):
        os.write(terminal, sys.argv[1].encode() + b'\\n')
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;
    const child = spawn('python3', ['-c', script, answer, process.execPath, program, 'prune', '--keep', '0'], {
      cwd: workspace.folder,
      env: { PATH: process.env['PATH'], HOME: workspace.home, TERM: 'xterm', LANG: 'C.UTF-8' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let shown = '';
    child.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(shown).toMatch(/session {2}2025-10-09 .*\r\nremove 1 thing, \d\.\d KB of \S+\? \[y\/N\] /);
    expect(shown).toContain(answer === 'y' ? 'removed 1 of 1' : 'nothing was removed');
    expect(namesIn(workspace, '.svc/sessions')).toHaveLength(left);
  });

  it('never touches what runs, what --workdir named, sessions of recorded tests and tests themselves', async () => {
    const workspace = capsule({
      manifest: 'lifecycle: { task_acceptance: queue, after_task: sleep }\n',
      files: taskFile,
    });
    for (const session of ['a1', 'a2']) ended(workspace, session);
    workspace.write('mine/notes.txt', 'mine\n');
    rmSync(at(workspace, `workdir/${sessionId('a1')}/out`), { recursive: true });
    // Works in the workdir of a session that has ended.
    const { process: running, line } = await startCapsule(workspace, ['--workdir', `workdir/${sessionId('a1')}`]);
    const exported = ['trace', 'export', 'a2'.padStart(4, '0'), '-o', 'session.zip'];
    expect((await svc(workspace, exported)).code).toBe(0);
    workspace.write('tests/greets/expect.yaml', '');
    writeFileSync(at(workspace, 'tests/greets/session.zip'), readFileSync(at(workspace, 'session.zip')));
    expect(await pruned(workspace, '--keep', '0', '--yes')).toMatchObject([
      { name: sessionId('a1'), paths: [`.svc/sessions/${sessionId('a1')}`], outcome: 'removed' },
    ]);
    expect(namesIn(workspace, 'workdir')).toEqual([sessionId('a1'), sessionId('a2')]);
    expect(namesIn(workspace, '.svc/sessions')).toEqual([sessionId('a2'), line.session_id].toSorted());
    expect(existsSync(at(workspace, 'tests/greets/session.zip'))).toBe(true);
    expect(existsSync(at(workspace, 'mine/notes.txt'))).toBe(true);
    running.child.kill('SIGTERM');
    await running.ended;
  });

  it('keeps a session whose child runs, and one that may be starting', async () => {
    const workspace = capsule();
    const parent = ended(workspace, 'a1');
    const child = join(parent.folder, 'children', 'c1', '.svc', 'sessions', sessionId('c1'));
    mkdirSync(child, { recursive: true });
    const cancelTimer = writeRunningRecord(workspace.home, liveRecord({ session_id: sessionId('c1') }));
    mkdirSync(at(workspace, `.svc/sessions/${sessionId('a2')}`));
    expect(await pruned(workspace, '--keep', '0', '--dry-run')).toEqual([]);
    cancelTimer();
    utimesSync(at(workspace, `.svc/sessions/${sessionId('a2')}`), longAgo, longAgo);
    expect((await pruned(workspace, '--keep', '0', '--dry-run')).map(({ name }) => name)).toEqual([
      sessionId('a1'),
      sessionId('a2'),
    ]);
  });

  it('removes workdirs without a session, capsules that nothing runs from, and the cache on request', async () => {
    const workspace = capsule();
    const orphan = `workdir/${sessionId('b1')}`;
    const [used, unused] = ['used-1.0.0-0123456789abcdef', 'unused-1.0.0-0123456789abcdef'];
    for (const path of [orphan, `.svc/capsules/${used}`, `.svc/capsules/${unused}`]) {
      workspace.write(`${path}/file`, '1234');
      utimesSync(at(workspace, path), longAgo, longAgo);
    }
    workspace.write('workdir/mine/file', '1234');
    rmSync(join(workspace.home, '.svc/cache'), { recursive: true });
    mkdirSync(join(workspace.home, '.svc/cache/components'), { recursive: true });
    writeFileSync(join(workspace.home, '.svc/cache/components/c'), '12345');
    const servers = ['npx/made-server-0a1b', 'uvx/other-server-2c3d'].map((name) =>
      join(workspace.home, '.svc/cache', name),
    );
    for (const server of servers) {
      mkdirSync(server, { recursive: true });
      writeFileSync(join(server, 'cli'), '123');
    }
    const cancelTimer = writeRunningRecord(workspace.home, liveRecord({ name: 'used', version: '1.0.0' }));
    const { stdout, stderr } = await svc(workspace, ['prune', '--caches', '--yes', '--json']);
    expect(stderr).toMatch(/^warning\[W-RUN-127\]: ~\/\.svc\/cache stays: 1 sessions of this user run\n/);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Pruned),
    ).toMatchObject([
      { kind: 'workdir', name: sessionId('b1'), bytes: 4, outcome: 'removed' },
      { kind: 'capsule', name: unused, bytes: 4, outcome: 'removed' },
    ]);
    cancelTimer();
    expect(await pruned(workspace, '--caches', '--yes')).toMatchObject([
      { kind: 'capsule', name: used },
      { kind: 'cache', name: 'components', bytes: 5, paths: ['~/.svc/cache/components'] },
      { kind: 'cache', name: 'made-server-0a1b', bytes: 3, paths: ['~/.svc/cache/npx/made-server-0a1b'] },
      { kind: 'cache', name: 'other-server-2c3d', bytes: 3, paths: ['~/.svc/cache/uvx/other-server-2c3d'] },
    ]);
    expect(namesIn(workspace, 'workdir')).toEqual(['mine']);
    expect(readdirSync(join(workspace.home, '.svc/cache')).toSorted()).toEqual(['npx', 'uvx']);
    for (const folder of ['npx', 'uvx']) expect(readdirSync(join(workspace.home, '.svc/cache', folder))).toEqual([]);
  });

  it('removes the servers of svc --mcp that no session which stays has used', async () => {
    const workspace = capsule();
    const adhoc = join(workspace.home, '.svc', 'adhoc');
    const empty = join(workspace.home, 'empty');
    mkdirSync(empty);
    new RecordedSession(adhoc, { session: 'a1' }).task('Go.').model('Done.').close();
    const servers = ['before', 'since', 'now'].map((_, index) => String(index).repeat(32));
    for (const [index, name] of servers.entries()) {
      mkdirSync(join(adhoc, 'servers', name), { recursive: true });
      writeFileSync(join(adhoc, 'servers', name, 'svc.yaml'), '{}');
      const used = new Date(startedAt + (index - 1) * 1000 + 500);
      if (index < 2) utimesSync(join(adhoc, 'servers', name), used, used);
    }
    const removed = async (keep: number): Promise<readonly unknown[]> => {
      const { stdout, code } = await svc(workspace, ['prune', '--keep', String(keep), '--yes', '--json'], {
        cwd: empty,
      });
      expect(code).toBe(0);
      return stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => {
          const { kind, name, outcome } = JSON.parse(line) as Pruned;
          return [kind, name, outcome];
        });
    };
    expect(await removed(20)).toEqual([['server', servers[0], 'removed']]);
    expect(await removed(0)).toEqual([
      ['session', sessionId('a1'), 'removed'],
      ['server', servers[1], 'removed'],
    ]);
    expect(readdirSync(join(adhoc, 'servers'))).toEqual([servers[2]]);
  });

  it('follows no link, and leaves what belongs to others', async (context) => {
    const workspace = capsule();
    ended(workspace, 'a1');
    workspace.write('outside/precious', 'precious');
    symlinkSync(at(workspace, 'outside'), at(workspace, `workdir/${sessionId('a1')}/link`));
    symlinkSync(at(workspace, 'outside'), at(workspace, `.svc/sessions/${sessionId('a2')}`));
    symlinkSync(at(workspace, 'outside'), at(workspace, `workdir/${sessionId('a3')}`));
    const { stdout, stderr } = await svc(workspace, ['prune', '--keep', '0', '--yes', '--json']);
    expect(stderr).toMatch(/^error\[E-RUN-072\]: .*ses_0+a2 is a link or a file\n/);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(readFileSync(at(workspace, 'outside/precious'), 'utf8')).toBe('precious');
    expect(namesIn(workspace, 'workdir')).toEqual([sessionId('a3')]);
    context.skip(process.getuid?.() !== 0, 'only root can give folders away');
    const other = capsule();
    const { folder } = ended(other, 'a1');
    chownSync(folder, 12_345, 12_345);
    const refused = await svc(other, ['prune', '--keep', '0', '--yes']);
    expect(refused.stderr).toMatch(/^error\[E-RUN-072\]: .*belongs to user 12345\n.*\nthere is nothing to remove/s);
    expect(existsSync(folder)).toBe(true);
  });

  it('removes the workdir, however young, of a session whose removal was broken off before it came to that', async () => {
    const workspace = capsule();
    const { folder } = ended(workspace, 'a1');
    ended(workspace, 'a2');
    renameSync(folder, at(workspace, `.svc/sessions/.svc-pruned-${sessionId('a1')}.AAAAAAAAAAAA`));
    rmSync(at(workspace, `.svc/sessions/${sessionId('a2')}`), { recursive: true });
    await pruned(workspace, '--keep', '0', '--yes');
    expect(namesIn(workspace, '.svc/sessions')).toEqual([]);
    expect(namesIn(workspace, 'workdir')).toEqual([sessionId('a2')]);
  });

  it('leaves each session whole or gone when it is killed, and the next one removes the rest', async () => {
    const workspace = capsule();
    const files = 150;
    // On a busy machine a removal may be over before it is killed.
    let leftSome = false;
    for (let round = 0; round < 10 && !(leftSome && round >= 3); round += 1) {
      for (let index = 0; index < 6; index += 1) {
        const { folder } = ended(workspace, `${round}${index}`);
        mkdirSync(join(folder, 'logs'));
        for (let file = 0; file < files; file += 1) writeFileSync(join(folder, 'logs', `${file}`), 'x');
      }
      const pruning = new SvcProcess(workspace, ['prune', '--keep', '0', '--yes', '--json']);
      // Killed in the middle of a removal whose report comes after it.
      await pruning.printed(/"removed"/);
      pruning.child.kill('SIGKILL');
      await pruning.ended;
      leftSome ||= namesIn(workspace, '.svc/sessions').length > 0;
      for (const name of namesIn(workspace, '.svc/sessions').filter((each) => each.startsWith('ses_'))) {
        expect(namesIn(workspace, `.svc/sessions/${name}/logs`)).toHaveLength(files);
        expect(existsSync(at(workspace, `workdir/${name}/out/result.txt`))).toBe(true);
      }
    }
    expect(leftSome).toBe(true);
    await pruned(workspace, '--keep', '0', '--yes');
    expect(namesIn(workspace, '.svc/sessions')).toEqual([]);
    expect(namesIn(workspace, 'workdir')).toEqual([]);
  });

  it('says of sessions that were just killed until when they stay', async () => {
    const workspace = capsule();
    const killed = ['a1', 'a2'].map((session) => new RecordedSession(workspace.folder, { session }).task('Go.').folder);
    const now = Date.now();
    const rows = async (...args: readonly string[]): Promise<string> =>
      (await svc(workspace, ['prune', '--yes', ...args], { env: { TZ: 'UTC' } })).stderr;
    const at = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').slice(0, 16);
    for (const folder of killed) {
      for (const path of [folder, join(folder, 'journal.jsonl')]) utimesSync(path, now / 1000, now / 1000);
    }
    const nothing = `there is nothing to remove in ${workspace.folder}\n`;
    expect(await rows()).toBe(nothing);
    expect(await rows('--keep', '1')).toBe(
      `1 session may still be starting: it can be removed after ${at(now + 3_660_000)}, or with svc trace rm ${sessionId('a1')}\n${nothing}`,
    );
    expect(await rows('--keep', '0')).toBe(
      `2 sessions may still be starting: they can be removed after ${at(now + 3_660_000)}, or with svc trace rm (${sessionId('a2')} and 1 more)\n${nothing}`,
    );
    expect((await svc(workspace, ['trace', 'rm', sessionId('a1')])).code).toBe(0);
    for (const path of [killed[1] ?? '', join(killed[1] ?? '', 'journal.jsonl')])
      utimesSync(path, now / 1000 - 3_700, now / 1000 - 3_700);
    expect(await rows('--keep', '0')).toMatch(/^removed 1 of 1, /);
  });

  it('may be run twice at once', async () => {
    const workspace = capsule();
    for (let index = 0; index < 12; index += 1) ended(workspace, `a${index}`);
    const ends = await Promise.all(
      [1, 2, 3].map(async () => await svc(workspace, ['prune', '--keep', '0', '--yes', '--json'])),
    );
    expect(ends.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(namesIn(workspace, '.svc/sessions')).toEqual([]);
    expect(namesIn(workspace, 'workdir')).toEqual([]);
  });
});
