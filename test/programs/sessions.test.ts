import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { RecordedSession } from '../../packages/record/test/journal/recorded-session.ts';
import { onlySession, taskFile, useCapsules } from '../support/capsule-folders.ts';
import { startCapsule, svc } from '../support/svc-process.ts';

const useCapsule = useCapsules();

const failing = `- { when: Fail, content: [{ type: text, text: Done. }], stop_reason: end_turn }
`;

interface Listed {
  readonly session_id: string;
  readonly status: string;
  readonly tasks: number | null;
  readonly tokens: number | null;
  readonly task: string | null;
}

function listedIn(stdout: string): Listed[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Listed);
}

describe('the state of a workspace', () => {
  it('stays out of git from the first session on, except for config.yaml', async () => {
    const workspace = useCapsule({ files: taskFile });
    const git = (...args: readonly string[]): string[] =>
      execFileSync('git', args, { cwd: workspace.folder, encoding: 'utf8' }).trimEnd().split('\n');
    git('init', '-q');
    expect((await svc(workspace, ['run'])).code).toBe(0);
    workspace.write('.svc/config.yaml', 'containment: advisory\n');
    git('add', '-A', '.svc');
    expect(git('ls-files')).toEqual(['.svc/config.yaml']);
    // Who wants it in git says so once.
    workspace.write('.svc/.gitignore', 'workdirs/\n');
    expect((await svc(workspace, ['run'])).code).toBe(0);
    expect(readFileSync(join(workspace.folder, '.svc', '.gitignore'), 'utf8')).toBe('workdirs/\n');
  });
});

describe('svc sessions', () => {
  it('lists what runs and what has ended, newest first, each with its first task', async () => {
    const workspace = useCapsule({ manifest: 'lifecycle: { task_acceptance: queue, after_task: sleep }\n', files: {} });
    const elsewhere = useCapsule({ files: taskFile });
    new RecordedSession(workspace.folder, { session: '4f1a' }).task('Do the tests pass?').model('No.').close();
    const { process, line } = await startCapsule(workspace, ['--task', 'Say that\nyou are \u202Edone.']);
    const home = { env: { HOME: workspace.home, TZ: 'UTC' } };
    const all = listedIn((await svc(workspace, ['sessions', '--json'], home)).stdout);
    expect(all.map(({ session_id: id, status }) => [id.slice(-4), status])).toEqual([
      [line.session_id.slice(-4), 'running'],
      ['4f1a', 'ok'],
    ]);
    expect(all[0]).toMatchObject({ tasks: 1, task: 'Say that\nyou are \u202Edone.' });
    // Another workspace lists it by the record of the session that runs.
    const there = listedIn((await svc(elsewhere, ['sessions', '--json'], home)).stdout);
    expect(there).toEqual([expect.objectContaining({ session_id: line.session_id, tasks: 1, status: 'running' })]);
    const { stdout } = await svc(workspace, ['sessions'], home);
    expect(stdout).toMatch(
      /^SESSION {2}CAPSULE {2}STARTED {11}STATUS {3}TASKS {2}TOKENS {2}TASK\n….{4} {4}demo {5}\S{10} \S{5} {2}running {2}1 .* Say that you are \\u\{202e\}done\.\n…4f1a /,
    );
    const narrow = await svc(workspace, ['sessions'], { env: { ...home.env, COLUMNS: '60' } });
    expect(Math.max(...narrow.stdout.split('\n').map((row) => row.length))).toBeLessThanOrEqual(60);
    process.child.kill('SIGTERM');
    await process.ended;
  });

  it('believes the end of a trace, whatever a full disk left of the holder', async () => {
    const workspace = useCapsule({ files: taskFile });
    expect((await svc(workspace, ['run'])).code).toBe(0);
    const folder = join(workspace.folder, '.svc', 'sessions', onlySession(workspace));
    writeFileSync(join(folder, 'journal.holder'), '');
    rmSync(join(folder, 'journal.jsonl'));
    const listed = listedIn((await svc(workspace, ['sessions', '--json'])).stdout);
    expect(listed.map(({ status }) => status)).toEqual(['ok']);
    expect((await svc(workspace, ['trace', 'steps'])).stderr).toMatch(/trace\.capture: none, on a disk that was full/);
  });

  it('lists the failed ones alone, and those of some days alone', async () => {
    const workspace = useCapsule({ script: failing, files: taskFile });
    new RecordedSession(workspace.folder, { session: '4f1a' }).task('Do the tests pass?').model('No.').close();
    expect((await svc(workspace, ['run'])).code).toBe(1);
    const failed = listedIn((await svc(workspace, ['sessions', '--failed', '--json'])).stdout);
    expect(failed.map(({ status, task }) => [status, task])).toEqual([['failed', 'Say that you are done.\n']]);
    // The other one is of 2025.
    const recent = listedIn((await svc(workspace, ['sessions', '--since', '2d', '--json'])).stdout);
    expect(recent.map(({ session_id: id }) => id)).toEqual(failed.map(({ session_id: id }) => id));
    const wrong = await svc(workspace, ['sessions', '--since', 'monday']);
    expect(wrong).toMatchObject({ code: 1, stdout: '' });
    expect(wrong.stderr).toMatch(/^error\[E-RUN-090\]: `--since` must be an age such as 2d, not `monday`\nhint: /);
  });

  it('lists the newest 20, and says how many more there are', async () => {
    const workspace = useCapsule();
    for (let index = 0; index < 23; index += 1)
      new RecordedSession(workspace.folder, {
        session: `4f1${index.toString(36)}`.replaceAll(/[g-z]/g, '0') + index,
      }).close();
    const { stdout, stderr } = await svc(workspace, ['sessions']);
    expect(stdout.trimEnd().split('\n')).toHaveLength(21);
    expect(stderr).toBe('up to 3 older: svc sessions --all\n');
    expect((await svc(workspace, ['sessions', '--all'])).stdout.trimEnd().split('\n')).toHaveLength(24);
  });

  it('says so where it has none, and fails with exit code 2 for a name that fits several', async () => {
    const workspace = useCapsule();
    const none = await svc(workspace, ['sessions']);
    expect(none).toMatchObject({ code: 0, stdout: '' });
    const folder = join(workspace.folder, '.svc', 'sessions');
    expect(none.stderr).toBe(`no session runs or is recorded in ${folder}\n`);
    const failed = await svc(workspace, ['sessions', '--failed']);
    expect(failed.stderr).toBe(`no such session runs or is recorded in ${folder}\n`);
    for (const session of ['14f1a', '24f1a']) new RecordedSession(workspace.folder, { session }).close();
    const several = await svc(workspace, ['trace', 'steps', '4f1a']);
    expect(several.code).toBe(2);
    expect(several.stderr).toMatch(
      /^error\[E-RUN-091\]: 4f1a fits more than one session: ses_0+14f1a, ses_0+24f1a|ses_0+24f1a, ses_0+14f1a/,
    );
  });
});
