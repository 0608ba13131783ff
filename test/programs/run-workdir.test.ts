import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { startCapsule, svc } from '../support/svc-process.ts';

const capsule = useCapsules();

describe('the workdir of --workdir', () => {
  it.each(['.', '..', '/', '.svc', '.svc/fresh', '../home', '../home/.svc/cache'])(
    'fails when it is %s: the agent could alter the manifest, the trace or what svc runs',
    async (workdir) => {
      const workspace = capsule({ files: taskFile });
      const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', workdir]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^error\[E-RUN-029\]: the workdir .* would give the agent what svc itself keeps/);
      expect(existsSync(join(workspace.folder, '.svc'))).toBe(false);
    },
  );

  it('shows the layout that works where it is the folder of the manifest', async () => {
    const workspace = capsule({ files: taskFile });
    const { stderr } = await svc(workspace, ['run', '--workdir', '.']);
    expect(stderr).toContain(
      '\nhint: to work on the folder of the manifest, leave --workdir out and add capabilities: { project: { path: . } } to svc.yaml: the agent sees the folder as project/\n',
    );
    writeFileSync(
      join(workspace.folder, 'svc.yaml'),
      `${readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')}capabilities: { project: { path: . } }\n`,
    );
    expect(await svc(workspace, ['run', '-p'])).toMatchObject({ code: 0, stdout: 'Done.\n', stderr: '' });
  });

  it.each(['.', 'dist', 'node_modules/made', '..'])(
    'fails when it is %s of the installation: the agent could alter svc itself',
    async (place) => {
      const workspace = capsule({ files: taskFile });
      const workdir = join(import.meta.dirname, '..', '..', place);
      const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', workdir]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^error\[E-RUN-029\]: the workdir .* would give the agent what svc itself keeps/);
      expect(existsSync(join(workspace.folder, '.svc'))).toBe(false);
    },
  );

  it('fails when it is a link to nowhere', async () => {
    const workspace = capsule({ files: taskFile });
    symlinkSync('nowhere', join(workspace.folder, 'work'));
    const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', 'work']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error\[E-IO-001\]: the directory .* cannot be made/);
  });

  it('may be used again, but not with a link where the agent has its home', async () => {
    const workspace = capsule({ files: taskFile });
    const outside = join(workspace.folder, 'outside');
    mkdirSync(outside);
    mkdirSync(join(workspace.folder, 'work'));
    symlinkSync(outside, join(workspace.folder, 'work', '.svc'));
    const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', 'work']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^error\[E-IO-001\]: \.svc\/home\/tmp cannot be made in .*: a link or a file is in its place/,
    );
    expect(readdirSync(outside)).toEqual([]);
  });

  it('becomes the accessible workdir itself', async () => {
    const workspace = capsule({ files: taskFile });
    expect((await svc(workspace, ['run', '--workdir', 'work'])).code).toBe(0);
    expect(readFileSync(join(workspace.folder, 'work', 'out', 'result.txt'), 'utf8')).toBe('Done.');
  });
});

describe('two runs that are given one workdir', () => {
  /** The first stays up with its task done. */
  const staying = { files: taskFile, manifest: 'lifecycle: { task_acceptance: queue, after_task: sleep }' };

  it.each([
    ['the same folder', 'work', 'is also that of'],
    ['a link to it', 'link', 'is also that of'],
    ['a folder in it', 'work/deep', 'is not apart from PLACE/work, the workdir of'],
    ['a folder around it', 'around', 'is not apart from PLACE/around/work, the workdir of'],
  ])('warn the second of the first when its own is %s', async (_, second, words) => {
    const workspace = capsule(staying);
    symlinkSync('work', join(workspace.folder, 'link'));
    const first = await startCapsule(workspace, ['--workdir', second === 'around' ? 'around/work' : 'work']);
    const other = await startCapsule(workspace, ['--workdir', second]);
    const { session_id: id, name, version, pid, workdir } = first.line;
    const place = `the workdir ${other.line.workdir} ${words.replace('PLACE', join(workdir, second === 'around' ? '../..' : '..'))}`;
    first.process.child.kill('SIGTERM');
    other.process.child.kill('SIGTERM');
    expect((await first.process.ended).stderr).toBe('');
    expect((await other.process.ended).stderr).toBe(
      `warning[W-RUN-060]: ${place} ${name}@${version}, session ${id}, process ${pid}, which is running\n` +
        `hint: each replaces the files of the other: name another directory with --workdir, or end that session with svc stop ${id}\n`,
    );
  });

  it('warn of nothing when the other has ended, lies beside, or was given none', async () => {
    const workspace = capsule(staying);
    const beside = await startCapsule(workspace, ['--workdir', 'work-2']);
    const own = await startCapsule(workspace);
    const ended = await startCapsule(workspace, ['--workdir', 'work']);
    ended.process.child.kill('SIGTERM');
    await ended.process.ended;
    const again = await startCapsule(workspace, ['--workdir', 'work']);
    for (const { process } of [beside, own, again]) process.child.kill('SIGTERM');
    for (const { process } of [beside, own, ended, again]) expect((await process.ended).stderr).toBe('');
  });
});

describe('a home that cannot be written', () => {
  it.skipIf(process.platform !== 'linux').each([['run'], ['run', '--explain-scope'], ['doctor'], ['ps']])(
    'leaves no run hanging where directories cannot be made: %s %s',
    async (...args) => {
      const workspace = capsule({ files: taskFile });
      const { code } = await svc(workspace, args, { env: { HOME: '/proc/nohome' } });
      expect(code).toBe(args.length === 1 && args[0] === 'run' ? 1 : 0);
    },
  );

  it('gives a coded error before any output, and leaves a whole trace', async () => {
    const workspace = capsule({ files: taskFile });
    mkdirSync(join(workspace.home, '.svc'), { recursive: true });
    writeFileSync(join(workspace.home, '.svc/running'), '');
    const { code, stdout, stderr } = await svc(workspace, ['run', '--json']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error\[E-IO-001\]: the session cannot be listed in .*\/\.svc\/running/);
    const sessions = join(workspace.folder, '.svc', 'sessions');
    const [session = ''] = readdirSync(sessions);
    const trace = readTrace(join(sessions, session, 'trace.jsonl'));
    expect(trace.at(-1)).toMatchObject({ event_type: 'session_end', status: 'trapped' });
    expect((await svc(workspace, ['ps'], { env: { HOME: '/dev/null' } })).code).toBe(0);
  });

  it('ends a run with what to set, before anything is made', async () => {
    const workspace = capsule({ files: taskFile });
    const { code, stderr } = await svc(workspace, ['run'], { env: { HOME: '/dev/null' } });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `error[E-IO-001]: HOME is "/dev/null", and svc can keep nothing there: /dev/null cannot be written: a part of the path is not a directory
hint: set HOME to a folder that this user may write in: HOME=/tmp/home svc ..., or docker run -e HOME=/tmp/home
`,
    });
    expect(existsSync(join(workspace.folder, '.svc'))).toBe(false);
  });
});
