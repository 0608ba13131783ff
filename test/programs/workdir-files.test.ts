import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { runs, says, script } from '../support/scripted-turns.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

const told = 'move it away, or name another directory with --workdir';

async function run(workspace: Workspace, task: string): ReturnType<typeof svc> {
  return await svc(workspace, ['run', '--workdir', 'work', '--task', task]);
}

function read(workspace: Workspace, path: string): string {
  return readFileSync(join(workspace.folder, 'work', path), 'utf8');
}

describe('what is in a workdir before svc has been there', () => {
  it.each([
    ['task.md', { 'work/task.md': 'Mine.' }, 'was not written by svc'],
    ['out/result.txt', { 'work/out/result.txt': 'Mine.' }, 'was not written by svc'],
    ['out', { 'work/out': 'Mine.' }, 'is not a directory'],
  ])('stays: %s of the user makes the run fail before anything runs', async (path, files, why) => {
    const workspace = capsule({ files });
    const { code, stdout, stderr } = await run(workspace, 'Go.');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    const workdir = join(workspace.folder, 'work');
    expect(stderr).toContain(
      `error[E-RUN-053]: ${path} in the workdir ${workdir} ${why}, and would be replaced\nhint: ${told}\n`,
    );
    expect(read(workspace, path)).toBe('Mine.');
    expect(readdirSync(workdir)).toEqual([path.split('/')[0]]);
  });

  it('makes the run fail all at once', async () => {
    const workspace = capsule({ files: { 'work/task.md': 'Mine.', 'work/out': 'Mine too.' } });
    const { stderr } = await run(workspace, 'Go.');
    expect(stderr.match(/^error\[E-RUN-053\]: (task\.md|out) in/gm)).toEqual([
      'error[E-RUN-053]: task.md in',
      'error[E-RUN-053]: out in',
    ]);
  });

  it('stays where it is a link, which may lead to the results of a build', async () => {
    const workspace = capsule({ files: { 'work/file': '', 'built/kept': 'Mine.' } });
    symlinkSync('../built', join(workspace.folder, 'work/out'));
    const { code, stderr } = await run(workspace, 'Go.');
    expect(code).toBe(1);
    expect(stderr).toContain('E-RUN-053');
    expect(readlinkSync(join(workspace.folder, 'work/out'))).toBe('../built');
  });

  it('stays as it is where it is nothing that svc writes, or the very task', async () => {
    const workspace = capsule({ files: { 'work/task.md': 'Go.', 'work/out/built.js': 'Mine.', 'work/file': 'Mine.' } });
    const before = lstatSync(join(workspace.folder, 'work/task.md')).ino;
    const { code, stderr } = await svc(workspace, ['run', '--workdir', 'work', '--task', 'work/task.md']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(lstatSync(join(workspace.folder, 'work/task.md')).ino).toBe(before);
    expect([read(workspace, 'out/built.js'), read(workspace, 'file')]).toEqual(['Mine.', 'Mine.']);
    expect(read(workspace, 'out/result.txt')).toBe('Done.');
    const again = await run(workspace, 'Something else.');
    expect(again.stderr).toContain('error[E-RUN-053]: task.md in the workdir');
  });
});

describe('a second run in the same workdir', () => {
  it('replaces what svc wrote without a word', async () => {
    const workspace = capsule();
    expect(await run(workspace, 'One.')).toMatchObject({ code: 0, stderr: '' });
    expect(await run(workspace, 'Two.')).toMatchObject({ code: 0, stderr: '' });
    expect(read(workspace, 'task.md')).toBe('Two.');
    expect(readdirSync(join(workspace.folder, 'work')).toSorted()).toEqual(['.svc', 'out', 'task.md']);
  });

  it('works for another capsule of the same user too', async () => {
    const [one, other] = [capsule(), capsule()];
    const workdir = join(one.folder, 'work');
    const env = { HOME: join(one.folder, '..', 'home') };
    expect(await svc(one, ['run', '--workdir', workdir, '--task', 'One.'], { env })).toMatchObject({ code: 0 });
    const second = await svc(other, ['run', '--workdir', workdir, '--task', 'Two.'], { env });
    expect(second).toMatchObject({ code: 0, stderr: '' });
  });

  it('goes on in the fresh workdir of an earlier one', async () => {
    const workspace = capsule();
    expect(await svc(workspace, ['run', '--task', 'One.'])).toMatchObject({ code: 0 });
    const [first = ''] = readdirSync(join(workspace.folder, 'workdir'));
    const second = await svc(workspace, ['run', '--workdir', join('workdir', first), '--task', 'Two.']);
    expect(second).toMatchObject({ code: 0, stderr: '' });
  });

  it('moves aside what was changed since, and reports its new name', async () => {
    const workspace = capsule();
    await run(workspace, 'One.');
    writeFileSync(join(workspace.folder, 'work/task.md'), 'My own words.');
    writeFileSync(join(workspace.folder, 'work/task.md.1'), 'Taken.');
    rmSync(join(workspace.folder, 'work/out'), { recursive: true });
    mkdirSync(join(workspace.folder, 'work/elsewhere'));
    symlinkSync('elsewhere', join(workspace.folder, 'work/out'));
    const { code, stderr } = await run(workspace, 'Two.');
    const workdir = join(workspace.folder, 'work');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        `warning[W-RUN-053]: task.md in the workdir ${workdir} is not as svc left it: it is now task.md.2\n` +
        `warning[W-RUN-053]: out in the workdir ${workdir} is not as svc left it: it is now out.1\n`,
    });
    expect([read(workspace, 'task.md'), read(workspace, 'task.md.1'), read(workspace, 'task.md.2')]).toEqual([
      'Two.',
      'Taken.',
      'My own words.',
    ]);
    expect(readlinkSync(join(workdir, 'out.1'))).toBe('elsewhere');
    expect(existsSync(join(workdir, 'elsewhere/result.txt'))).toBe(false);
    expect(read(workspace, 'out/result.txt')).toBe('Done.');
  });

  it('starts in spite of what an agent left in the place of a result that never came', async () => {
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [sh] }, resources: { workdir_max_bytes: 1000 } }\n',
      script: script(runs('mkdir out; echo forged > out/result.txt; head -c 5000 /dev/zero > big'), says('Done.')),
    });
    expect((await run(workspace, 'One.')).code).toBe(2);
    rmSync(join(workspace.folder, 'work/big'));
    const { stderr } = await run(workspace, 'Two.');
    expect(stderr).toContain('is not as svc left it: it is now out/result.txt.1\n');
    expect(read(workspace, 'out/result.txt.1')).toBe('forged\n');
  });

  it('takes no word of the workdir itself for what svc wrote', async () => {
    const workspace = capsule();
    await run(workspace, 'One.');
    const record = join(workspace.folder, '.svc/workdirs');
    const forged = capsule({ files: { 'work/task.md': 'One.', 'work/out/result.txt': 'Done.' } });
    const [name = ''] = readdirSync(record);
    mkdirSync(join(forged.folder, 'work/.svc/workdirs'), { recursive: true });
    writeFileSync(join(forged.folder, 'work/.svc/workdirs', name), readFileSync(join(record, name)));
    expect((await run(forged, 'Two.')).stderr).toContain('E-RUN-053');
  });
});
