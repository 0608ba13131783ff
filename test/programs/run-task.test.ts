import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { onlySession, taskFile, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { runsCommand } from '../support/script-capsule.ts';
import { svc } from '../support/svc-process.ts';

const capsule = useCapsules();
const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

describe('svc run with a task beside its manifest', () => {
  it('runs it once and ends [D1-CORE-01, D1-CORE-03, D1-HUMAN-08]', async () => {
    const workspace = capsule({ files: taskFile });
    const { code, stdout, stderr } = await svc(workspace, ['run']);
    const session = onlySession(workspace);
    expect(stdout).toMatch(new RegExp(`^svc: url localhost:\\d+\\nsession: ${session}\\nstatus:  ok\\n$`));
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });

  it('gives the session a workdir, a result and a trace [D1-CORE-04, D1-CORE-07, D1-CORE-08, D1-TRACE-01, D1-TRACE-02, D1-TRACE-03]', async () => {
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [sh] } }\n',
      script: runsCommand('pwd > where.txt'),
      files: taskFile,
    });
    expect((await svc(workspace, ['run'])).code).toBe(0);
    const session = onlySession(workspace);
    const workdir = join(workspace.folder, 'workdir', session);
    expect(readFileSync(join(workdir, 'where.txt'), 'utf8').trim()).toBe(workdir);
    expect(readFileSync(join(workdir, 'out', 'result.txt'), 'utf8')).toBe('Done.');
    expect(readFileSync(join(workdir, 'task.md'), 'utf8')).toBe('Say that you are done.\n');
    const trace = readTrace(tracePath(workspace, session));
    expect(trace.map((line) => line['event_type'])).toEqual([
      'session_start',
      'task_received',
      'task_start',
      'inference',
      'shell',
      'inference',
      'task_end',
      'session_end',
    ]);
    expect(trace[0]).toMatchObject({
      tools_declared: ['sh'],
      capsule: { name: 'demo', version: '1.2.3' },
      parent_id: null,
    });
    expect(new Set(trace.map((line) => line['session_id']))).toEqual(new Set([session]));
  });

  it('adds lines under -v [D1-HUMAN-03, D1-HUMAN-04, D1-CLI-03]', async () => {
    const workspace = capsule({ files: taskFile });
    const { stdout } = await svc(workspace, ['run', '-v']);
    const session = onlySession(workspace);
    expect(stdout.split('\n').slice(1)).toEqual([
      `session: ${session}`,
      `workdir: ${join(workspace.folder, 'workdir', session)}`,
      'manifest: demo v1.2.3',
      'driver: svc-driver-script (scripted)',
      'status:  ok',
      '',
    ]);
  });

  it('counts its skills under -v, when it declares any [D1-HUMAN-07]', async () => {
    const workspace = capsule({
      manifest: 'artifacts: [{ name: style, version: 1.0.0, runtime: skill, source: ./style }]\n',
      files: {
        ...taskFile,
        'style/svc.yaml': 'name: style\nversion: 1.0.0\nruntime: skill\n',
        'style/skill.md': 'Be kind.\n',
      },
    });
    expect((await svc(workspace, ['run', '-v'])).stdout).toContain('\nskills: 1 installed\nstatus:  ok\n');
  });

  it('names the command of a process driver under -v [D1-HUMAN-06, D1-MAN-04]', async () => {
    const workspace = capsule({ files: taskFile });
    const answer = '{"type":"response","response":{"content":[{"type":"text","text":"Hi."}],"stop_reason":"end_turn"}}';
    workspace.write(
      'svc.yaml',
      `name: demo\nversion: 1.0.0\ninference:\n  transport: process\n  model: local\n  command: [sh, -c, 'read line; echo ''${answer}''; cat > /dev/null']\n`,
    );
    const { code, stdout, stderr } = await svc(workspace, ['run', '-v']);
    expect(stderr).toBe('');
    // Its arguments may hold resolved variables, which are nobody's to read.
    expect(stdout).toContain('\ndriver: sh (local)\n');
    expect(code).toBe(0);
    const session = onlySession(workspace);
    expect(readFileSync(join(workspace.folder, 'workdir', session, 'out', 'result.txt'), 'utf8')).toBe('Hi.');
  });

  it('says failed and exits 1 when the task fails', async () => {
    const workspace = capsule({ script: '[]\n', files: taskFile });
    const { code, stdout } = await svc(workspace, ['run']);
    expect(stdout).toMatch(/\nstatus: {2}failed\n$/);
    expect(code).toBe(1);
    const result = join(workspace.folder, 'workdir', onlySession(workspace), 'out', 'result.txt');
    expect(readFileSync(result, 'utf8')).toMatch(/^error: /);
  });
});

describe('the task', () => {
  it('has the contents of the file that --task names [D1-CLI-01]', async () => {
    const workspace = capsule({ files: { ...taskFile, 'other.txt': 'The other one.\n' } });
    await svc(workspace, ['run', '--task', 'other.txt']);
    expect(readFileSync(join(workspace.folder, 'workdir', onlySession(workspace), 'task.md'), 'utf8')).toBe(
      'The other one.\n',
    );
  });

  it('has any other value verbatim [D1-CLI-02]', async () => {
    const workspace = capsule({ files: taskFile });
    const text = '  Say "hi",\nthen stop. ';
    expect((await svc(workspace, ['run', '--task', text])).stderr).toBe('');
    expect(readFileSync(join(workspace.folder, 'workdir', onlySession(workspace), 'task.md'), 'utf8')).toBe(text);
  });

  it('stays text when it looks like a missing file, with a warning before the model is asked [D1-CLI-02]', async () => {
    const workspace = capsule();
    const [said, seen] = ['stderr.txt', 'seen.txt'].map((name) => join(workspace.folder, name));
    const answer = '{"type":"response","response":{"content":[{"type":"text","text":"Hi."}],"stop_reason":"end_turn"}}';
    workspace.write('ask.sh', `read line\ncp ${said} ${seen}\necho '${answer}'\ncat > /dev/null\n`);
    const command = `[sh, ${join(workspace.folder, 'ask.sh')}]`;
    workspace.write(
      'svc.yaml',
      `name: demo\nversion: 1.0.0\ninference: { transport: process, model: local, command: ${command} }\n`,
    );
    const stderr = openSync(said ?? '', 'w');
    const child = spawn(process.execPath, [program, 'run', '--task', './x.md'], {
      cwd: workspace.folder,
      env: { PATH: process.env['PATH'], HOME: workspace.home, SVC_CONTAINMENT_CEILING: 'advisory' },
      stdio: ['ignore', 'ignore', stderr],
    });
    closeSync(stderr);
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(readFileSync(seen ?? '', 'utf8')).toContain('warning[W-RUN-001]: there is no file ./x.md');
    expect(readFileSync(join(workspace.folder, 'workdir', onlySession(workspace), 'task.md'), 'utf8')).toBe('./x.md');
  });

  it('has to come from somewhere when no message may bring it', async () => {
    const workspace = capsule({ manifest: 'lifecycle: { task_acceptance: none }\n' });
    const { code, stdout, stderr } = await svc(workspace, ['run']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^error\[E-RUN-024\]: there is no task and lifecycle\.task_acceptance is none\nhint: give one with --task/,
    );
    expect(existsSync(join(workspace.folder, 'workdir'))).toBe(false);
  });
});

describe('the environment', () => {
  const manifest = 'capabilities: { shell: { allow: [sh] }, env: { allow: [GREETING] } }\n';

  it('has the .env file of the workspace below the process environment [D1-AUTH-02, D1-MAN-26]', async () => {
    const workspace = capsule({
      manifest,
      script: runsCommand('echo "$GREETING $HIDDEN" > said.txt'),
      files: { ...taskFile, '.env': 'GREETING=from-file\nHIDDEN=from-file\n' },
    });
    await svc(workspace, ['run']);
    expect(readFileSync(join(workspace.folder, 'workdir', onlySession(workspace), 'said.txt'), 'utf8')).toBe(
      'from-file \n',
    );
  });

  it('has only the injected variables under --no-env-file [D1-CLI-08, D1-AUTH-01, D1-MAN-07, D1-ERR-09]', async () => {
    const workspace = capsule({ files: { ...taskFile, '.env': 'MODEL_KEY=from-file\n' } });
    workspace.write(
      'svc.yaml',
      readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8').replace(
        '  model: scripted\n',
        '  model: scripted\n  api_key: ${MODEL_KEY}\n  endpoint: http://localhost:1\n',
      ),
    );
    expect((await svc(workspace, ['run'])).code).toBe(0);
    const refused = await svc(workspace, ['run', '--no-env-file']);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('error[E-MAN-003]');
    expect((await svc(workspace, ['run', '--no-env-file'], { env: { MODEL_KEY: 'injected' } })).code).toBe(0);
  });
});
