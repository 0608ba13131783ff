import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';

import { onlySession, taskFile, useCapsules } from '../support/capsule-folders.ts';
import { runsCommand } from '../support/script-capsule.ts';
import { message, rpc, startCapsule, svc, SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

const shell = 'capabilities: { shell: { allow: [sh] } }\n';

/** What `svc run` had printed while its task ran, which a command of the task itself saw, and all that it printed. */
async function printed(
  ...options: readonly string[]
): Promise<{ during: string; whole: string; workspace: Workspace }> {
  const workspace = capsule({
    manifest: shell,
    script: runsCommand('cat ../../printed.txt > during.txt'),
    files: taskFile,
  });
  const { folder, home } = workspace;
  const env = { PATH: process.env['PATH'], HOME: home, SVC_CONTAINMENT_CEILING: 'advisory' };
  const command = 'exec "$@" > printed.txt';
  await promisify(execFile)('sh', ['-c', command, 'sh', process.execPath, program, 'run', ...options], {
    cwd: folder,
    env,
  });
  const during = readFileSync(join(folder, 'workdir', onlySession(workspace), 'during.txt'), 'utf8');
  return { during, whole: readFileSync(join(folder, 'printed.txt'), 'utf8'), workspace };
}

describe('what svc run prints', () => {
  it('says where the capsule is before its agent does anything, and how it ended after that [D1-HUMAN-01, D1-HUMAN-02, D1-HUMAN-08]', async () => {
    const { during, whole, workspace } = await printed();
    expect(during).toMatch(new RegExp(`^svc: url localhost:\\d+\\nsession: ${onlySession(workspace)}\\n$`));
    expect(whole).toBe(`${during}status:  ok\n`);
  });

  it('has the lines of -v there before its agent does anything too [D1-HUMAN-03, D1-HUMAN-04, D1-HUMAN-05, D1-CLI-03]', async () => {
    const { during, whole, workspace } = await printed('-v');
    const session = onlySession(workspace);
    expect(during.split('\n').slice(1)).toEqual([
      `session: ${session}`,
      `workdir: ${join(workspace.folder, 'workdir', session)}`,
      'manifest: demo v1.2.3',
      'driver: svc-driver-script (scripted)',
      '',
    ]);
    expect(whole).toBe(`${during}status:  ok\n`);
  });

  it('has with --json one line, written before its agent does anything, and nothing after it [D1-CORE-09, D1-CLI-04, D1-CLI-05]', async () => {
    const { during, whole } = await printed('--json', '-v');
    expect(JSON.parse(during)).toMatchObject({ name: 'demo' });
    expect(during.indexOf('\n')).toBe(during.length - 1);
    expect(whole).toBe(during);
  });

  it.each([
    ['ok', 0, shell, runsCommand('true')],
    ['failed', 1, shell, '[]\n'],
    [
      'trapped',
      2,
      'capabilities: { shell: { allow: [sh] }, resources: { workdir_max_bytes: 1000 } }\n',
      runsCommand('head -c 5000 /dev/zero > much'),
    ],
  ])('says %s of what ended so [D1-OUTCOME-01, D1-HUMAN-08]', async (status, exit, manifest, script) => {
    const { code, stdout } = await svc(capsule({ manifest, script, files: taskFile }), ['run']);
    expect([stdout.split('\n').slice(2), code]).toEqual([[`status:  ${status}`, ''], exit]);
  });
});

describe('a capsule', () => {
  it('runs its task.md once and ends, or stays up for messages, as its task_acceptance says [D1-CORE-01, D1-CORE-06, D1-MAN-11]', async () => {
    const once = capsule({ manifest: 'lifecycle: { task_acceptance: none }\n', files: taskFile });
    expect((await svc(once, ['run'])).stdout).toMatch(/\nstatus: {2}ok\n$/);
    expect(readFileSync(join(once.folder, 'workdir', onlySession(once), 'out', 'result.txt'), 'utf8')).toBe('Done.');
    const stays = capsule({ manifest: 'lifecycle: { task_acceptance: queue, after_task: sleep }\n', files: taskFile });
    const { process: running, line } = await startCapsule(stays);
    const watch = new SvcProcess(stays, ['watch']);
    await watch.printed(/session ended/);
    const sent = await rpc(line.url, 'message/send', message('Again.'));
    expect(sent).toMatchObject({
      result: { id: expect.stringMatching(/^tsk_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/) },
    });
    await watch.printed(/session ended[^]*session ended/);
    running.child.kill('SIGTERM');
    await running.ended;
    await watch.ended;
  });

  it('starts by svc run alone [D1-CORE-02]', async () => {
    const workspace = capsule({ files: taskFile });
    const others = [
      [],
      ['svc.yaml'],
      ['start'],
      ['build'],
      ['install'],
      ['list'],
      ['ps'],
      ['watch'],
      ['stop'],
      ['trace'],
    ];
    const ends = await Promise.all(others.map(async (args) => await svc(workspace, args)));
    expect(ends.map(({ stdout }) => stdout).join('')).not.toMatch(/svc: url|session: ses_/);
    expect(existsSync(join(workspace.folder, 'workdir'))).toBe(false);
    expect(existsSync(join(workspace.folder, '.svc', 'sessions'))).toBe(false);
    expect((await svc(workspace, ['run'])).stdout).toMatch(/^svc: url /);
  });

  it('has a port of its own from the system, beside others of the same manifest [D1-CLI-26, D1-LIMIT-04]', async () => {
    const workspace = capsule({ manifest: 'lifecycle: { task_acceptance: queue, after_task: sleep }\n' });
    const both = await Promise.all([startCapsule(workspace), startCapsule(workspace)]);
    const [one, other] = both.map(({ line }) => line.url);
    expect(one).not.toBe(other);
    for (const { process: running } of both) {
      running.child.kill('SIGTERM');
      expect((await running.ended).code).toBe(0);
    }
  });

  it('goes by the names of svc: its manifest, its folder, its variables and its headers [D1-NAME-01]', async () => {
    const workspace = capsule({
      manifest: 'lifecycle: { task_acceptance: queue, after_task: sleep }\nexports: { files: { root: out } }\n',
      files: taskFile,
    });
    const { process: running, line } = await startCapsule(workspace, [], {
      env: { SVC_LISTENER_TOKEN: 'a-token-of-its-own' },
    });
    const at = `http://${line.url}/resources/files/result.txt`;
    expect((await fetch(at)).status).toBe(401);
    const watch = new SvcProcess(workspace, ['watch'], { env: { SVC_LISTENER_TOKEN: 'a-token-of-its-own' } });
    await watch.printed(/session ended/);
    const read = await fetch(at, { headers: { authorization: 'Bearer a-token-of-its-own' } });
    expect([...read.headers.keys()].filter((name) => name.startsWith('x-'))).toEqual([
      'x-svc-containment',
      'x-svc-export-root',
      'x-svc-generation',
      'x-svc-mtime-ms',
    ]);
    expect(readdirSync(join(workspace.folder, '.svc'))).toContain('sessions');
    running.child.kill('SIGTERM');
    const { stdout } = await running.ended;
    expect(stdout).toBe(`${JSON.stringify(line)}\n`);
    await watch.ended;
  });
});
