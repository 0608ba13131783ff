import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { readTrace } from '../../src/trace/read.ts';
import { runsCommand, scriptCapsule, type ScriptCapsule } from '../support/script-capsule.ts';
import { message, rpc, startCapsule, svc, SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const workspaces: Workspace[] = [];

afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

function capsule(options: ScriptCapsule = {}): Workspace {
  const workspace = scriptCapsule(options);
  workspaces.push(workspace);
  return workspace;
}

function tracePath(workspace: Workspace, sessionId: string): string {
  return join(workspace.folder, '.svc', 'sessions', sessionId, 'trace.jsonl');
}

function onlySession(workspace: Workspace): string {
  const [session, ...others] = readdirSync(join(workspace.folder, 'workdir'));
  expect(others).toEqual([]);
  return session ?? '';
}

const taskFile = { 'task.md': 'Say that you are done.\n' };

describe('svc run with a task beside its manifest', () => {
  it('runs it once and ends [D1-CORE-01, D1-CORE-02, D1-CORE-03, D1-CORE-06, D1-HUMAN-01, D1-HUMAN-02, D1-HUMAN-08, D1-NAME-01, D1-OUTCOME-01]', async () => {
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

  it('adds lines under -v [D1-HUMAN-03, D1-HUMAN-04, D1-HUMAN-05, D1-CLI-03]', async () => {
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
    expect(stdout).toContain('\ndriver: sh -c ');
    expect(stdout).toContain('(local)\n');
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

describe('svc run --json', () => {
  it('writes exactly one line, as soon as the listener is up [D1-CORE-09, D1-CLI-04, D1-CLI-05, D1-CLI-26, D1-LIMIT-04]', async () => {
    const workspace = capsule({ files: taskFile });
    const { code, stdout, stderr } = await svc(workspace, ['run', '--json', '-v']);
    expect(stdout.split('\n')).toHaveLength(2);
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });

  it('tells where and what is running [D1-RESULT-01, D1-RESULT-03, D1-RESULT-04, D1-RESULT-05, D1-RESULT-06, D1-RESULT-07, D1-MAN-01, D1-MAN-11]', async () => {
    const workspace = capsule();
    const { process, line } = await startCapsule(workspace);
    expect(line).toEqual({
      url: expect.stringMatching(/^localhost:\d+$/),
      pid: process.child.pid,
      session_id: onlySession(workspace),
      name: 'demo',
      version: '1.2.3',
      workdir: join(workspace.folder, 'workdir', line.session_id),
    });
    const card = await (await fetch(`http://${line.url}/.well-known/agent-card.json`)).json();
    expect(card).toMatchObject({ name: 'demo', version: '1.2.3', url: line.url, session_id: line.session_id });
    await rpc(line.url, 'message/send', message('Go on.'));
    expect((await process.ended).code).toBe(0);
    expect(readTrace(tracePath(workspace, line.session_id))[0]).toMatchObject({ session_id: line.session_id });
  });

  it('keeps localhost under --bind 0.0.0.0 and accepts other machines [D1-RESULT-02, D1-CLI-06, D1-CLI-07]', async () => {
    const workspace = capsule();
    const { process, line } = await startCapsule(workspace, ['--bind', '0.0.0.0']);
    expect(line.url).toMatch(/^localhost:\d+$/);
    const port = line.url.split(':')[1];
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((address) => address?.family === 'IPv4' && !address.internal);
    const answers = await fetch(`http://${outside?.address ?? '127.0.0.1'}:${port}/.well-known/agent-card.json`);
    expect(answers.status).toBe(200);
    process.child.kill('SIGTERM');
    const { code, stderr } = await process.ended;
    expect(stderr).toContain('warning[W-SEC-031]');
    expect(code).toBe(0);
  });
});

describe('the task', () => {
  it('is the contents of the file that --task names [D1-CLI-01]', async () => {
    const workspace = capsule({ files: { ...taskFile, 'other.txt': 'The other one.\n' } });
    await svc(workspace, ['run', '--task', 'other.txt']);
    expect(readFileSync(join(workspace.folder, 'workdir', onlySession(workspace), 'task.md'), 'utf8')).toBe(
      'The other one.\n',
    );
  });

  it('is any other value verbatim [D1-CLI-02]', async () => {
    const workspace = capsule({ files: taskFile });
    const text = '  Say "hi",\nthen stop. ';
    expect((await svc(workspace, ['run', '--task', text])).stderr).toBe('');
    expect(readFileSync(join(workspace.folder, 'workdir', onlySession(workspace), 'task.md'), 'utf8')).toBe(text);
  });

  it('is warned about when it looks like a missing file', async () => {
    const workspace = capsule({ files: taskFile });
    const { code, stderr } = await svc(workspace, ['run', '--task', './tsk.md']);
    expect(stderr).toContain('warning[W-RUN-001]: there is no file ./tsk.md');
    expect(code).toBe(0);
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

describe('the port', () => {
  it('is exactly network.internal_port, and a taken one is E-RUN-010 [D1-MAN-17, D1-CLI-24, D1-CLI-25, D1-ERR-01, D1-ERR-14]', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as { port: number };
    const workspace = capsule({ manifest: `network: { internal_port: ${port} }\n` });
    const refused = await svc(workspace, ['run', '--json']);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^error\[E-RUN-010\]: port \d+ of network\.internal_port is already bound\nhint: /);
    expect(existsSync(join(workspace.folder, 'workdir'))).toBe(false);
    holder.close();
    await once(holder, 'close');
    const { process, line } = await startCapsule(workspace);
    expect(line.url).toBe(`localhost:${port}`);
    process.child.kill('SIGTERM');
    expect((await process.ended).code).toBe(0);
  });

  it('has to be on an address of this machine', async () => {
    const workspace = capsule();
    const { code, stdout, stderr } = await svc(workspace, ['run', '--bind', '192.0.2.1']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error\[E-RUN-011\]: the listener cannot bind 192\.0\.2\.1/);
  });
});

describe('a launch that fails', () => {
  it('leaves stdout empty, in both modes [D1-CLI-22]', async () => {
    const workspace = capsule({ manifest: 'lifecycle: { queue_depth: -1 }\ncapabilites: {}\n' });
    for (const args of [['run'], ['run', '--json']]) {
      const { code, stdout, stderr } = await svc(workspace, args);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain('error[E-MAN-003]');
      expect(stderr).toContain('svc.yaml:9');
    }
    expect(existsSync(join(workspace.folder, 'workdir'))).toBe(false);
  });

  it('says so when there is no manifest', async () => {
    const workspace = capsule();
    const { code, stderr } = await svc(workspace, ['run', '--manifest', 'nowhere/svc.yaml']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error\[E-IO-001\]: cannot read nowhere\/svc\.yaml/);
  });

  it('tells a wrong flag from a failure by exit code 2', async () => {
    const workspace = capsule();
    const { code, stdout, stderr } = await svc(workspace, ['run', '--jsn']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('--json');
  });
});

describe('the environment', () => {
  const manifest = 'capabilities: { shell: { allow: [sh] }, env: { allow: [GREETING] } }\n';

  it('is loaded from the .env file of the workspace, below the process environment [D1-AUTH-02, D1-MAN-26]', async () => {
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

  it('is only the injected one under --no-env-file [D1-CLI-08, D1-AUTH-01]', async () => {
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

describe('the containment floor', () => {
  it.each([
    ['the manifest', 'capabilities: { containment: scoped }\n', {}, []],
    ['the workspace', '', { '.svc/config.yaml': 'containment: sealed\n' }, []],
    ['the flag', '', {}, ['--containment', 'scoped']],
    [
      'the manifest, which the flag cannot lower',
      'capabilities: { containment: sealed }\n',
      {},
      ['--containment', 'advisory'],
    ],
  ])(
    'of %s is refused before anything is made [D1-CLI-12, D1-CLI-18, D1-CLI-19, D1-CLI-21, D1-ERR-02, D1-ERR-03, D1-ERR-04, D1-ERR-05]',
    async (_where, manifest, files, args) => {
      const workspace = capsule({ manifest, files: { ...taskFile, ...files } });
      const { code, stdout, stderr } = await svc(workspace, ['run', ...args]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(
        /^error\[E-CAP-003\]: .*declared (scoped|sealed), achieved advisory .*\nhint: lower the floor/,
      );
      expect(existsSync(join(workspace.folder, 'workdir'))).toBe(false);
      expect(existsSync(join(workspace.folder, 'svc.lock'))).toBe(false);
    },
  );
});

describe('the doors of a capsule', () => {
  it('are the card, POST / and the resource planes [D1-CORE-05, D1-HTTP-01, D1-HTTP-02, D1-HTTP-03]', async () => {
    const workspace = capsule({
      manifest: 'lifecycle: { task_acceptance: queue, after_task: sleep }\nexports: { files: { root: out } }\n',
      files: taskFile,
    });
    const { process, line } = await startCapsule(workspace);
    const watch = new SvcProcess(workspace, ['watch', line.url]);
    await watch.printed(/session ended/);
    const card = await fetch(`http://${line.url}/.well-known/agent-card.json`);
    expect(await card.json()).toMatchObject({ serves: { planes: ['files'] } });
    expect(await rpc(line.url, 'tasks/get')).toMatchObject({ result: { status: { state: 'completed' } } });
    const listing = (await (await fetch(`http://${line.url}/resources/files`)).json()) as Record<string, unknown>;
    expect(listing).toMatchObject({ root: 'out', mode: 'read-only', generation: 1 });
    expect(listing['entries']).toMatchObject([{ path: 'result.txt', size_bytes: 5 }]);
    const read = await fetch(`http://${line.url}/resources/files/result.txt`);
    expect(await read.text()).toBe('Done.');
    expect((await fetch(`http://${line.url}/elsewhere`)).status).toBe(404);
    process.child.kill('SIGTERM');
    expect((await process.ended).code).toBe(0);
    const events = readTrace(tracePath(workspace, line.session_id)).map((event) => event['event_type']);
    expect(events.slice(-3)).toEqual(['resource_list', 'resource_read', 'session_end']);
  });

  it('stay shut on an export root that leaves the workdir by a link [D1-ERR-06]', async () => {
    const workspace = capsule({ manifest: 'exports: { files: { root: out } }\n', files: taskFile });
    const work = join(workspace.folder, 'work');
    mkdirSync(work);
    symlinkSync('/etc', join(work, 'out'));
    const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', work]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error\[E-CAP-007\]: exports\.files\.root "out" resolves outside the accessible workdir/);
  });
});

describe('a running capsule', () => {
  const queue = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';

  it('is listed, followed and stopped [D1-CLI-16, D1-CLI-17, D1-MAN-13]', async () => {
    const workspace = capsule({ manifest: queue, files: taskFile });
    const { process, line } = await startCapsule(workspace);
    const listed = await svc(workspace, ['ps', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject({ session_id: line.session_id, url: line.url, name: 'demo' });
    const watch = new SvcProcess(workspace, ['watch', line.session_id.slice(-8)]);
    await watch.printed(/\[completed\] session ended/);
    const stopped = await svc(workspace, ['stop']);
    expect(stopped.stderr).toBe(`stopped ${line.session_id}: 0 tasks canceled\n`);
    expect((await process.ended).code).toBe(0);
    const watched = await watch.ended;
    expect(watched.code).toBe(0);
    // A replay from 0 has no frame with id 0, which is the first turn's.
    expect(watched.stdout).toBe('Done.\n[completed] session ended\n');
    expect(watched.stderr).toBe('the capsule closed its stream\n');
    expect((await svc(workspace, ['ps'])).stderr).toBe('no capsule is running\n');
  });

  it('ends with 1 when a signal cancels its task', async () => {
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [sh] } }\n',
      script: runsCommand('true', 'exec sleep 1000'),
      files: taskFile,
    });
    const { process, line } = await startCapsule(workspace);
    const watch = new SvcProcess(workspace, ['watch']);
    await watch.printed(/\[working\] inference turn 2/);
    process.child.kill('SIGTERM');
    expect((await process.ended).code).toBe(1);
    await watch.ended;
    expect(watch.stdout).toContain('[canceled] task canceled\n');
    expect(readTrace(tracePath(workspace, line.session_id)).at(-1)).toMatchObject({
      event_type: 'session_end',
      status: 'failed',
    });
  });

  it('loses its watcher with the last id it saw when it is killed', async () => {
    const workspace = capsule({ manifest: queue, files: taskFile });
    const { process } = await startCapsule(workspace);
    const watch = new SvcProcess(workspace, ['watch']);
    await watch.printed(/session ended/);
    process.child.kill('SIGKILL');
    const { code, stderr } = await watch.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error\[E-IO-003\]: the connection to localhost:\d+ was lost; the last event id seen was 2\nhint: run the command again to reattach\n$/,
    );
    expect((await svc(workspace, ['ps'])).stderr).toBe('no capsule is running\n');
  });
});

describe('a published capsule', () => {
  it('runs from the store, with its workdir below the current directory', async () => {
    const workspace = capsule({ files: taskFile });
    const packed = await svc(workspace, ['build', '.']);
    expect(packed.code).toBe(0);
    const elsewhere = capsule();
    const archive = join(workspace.folder, 'demo-1.2.3.zip');
    const bytes = readFileSync(archive);
    const store = join(elsewhere.home, '.svc', 'artifacts', 'demo', '1.2.3');
    mkdirSync(store, { recursive: true });
    writeFileSync(join(store, 'demo-1.2.3.zip'), bytes);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    writeFileSync(join(store, 'demo-1.2.3.zip.sha256'), `${sha256}  demo-1.2.3.zip\n`);
    rmSync(join(elsewhere.folder, 'svc.yaml'));
    const args = ['run', '--capsule', 'demo', '--capsule-version', '1.2.3'];
    for (let round = 0; round < 2; round += 1) {
      const { code, stderr, stdout } = await svc(elsewhere, args);
      expect(stderr).toBe('');
      expect(stdout).toMatch(/\nstatus: {2}ok\n$/);
      expect(code).toBe(0);
    }
    expect(readdirSync(join(elsewhere.folder, 'workdir'))).toHaveLength(2);
  });

  it('has to be named whole, and to exist', async () => {
    const workspace = capsule();
    expect((await svc(workspace, ['run', '--capsule', 'demo'])).code).toBe(2);
    const missing = await svc(workspace, ['run', '--capsule', 'demo', '--capsule-version', '9.9.9']);
    expect(missing).toMatchObject({ code: 1, stdout: '' });
    expect(missing.stderr).toMatch(/^error\[E-REG-001\]: demo@9\.9\.9 /);
  });
});

describe('a disk that refuses (needs root, to mount one)', () => {
  const isRoot = process.getuid?.() === 0;

  it.skipIf(!isRoot)('the trace in the middle of a task ends the session as trapped, every line whole', async () => {
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [sh] } }\n',
      script: runsCommand(`: ${'x'.repeat(100_000)}`),
      files: taskFile,
    });
    await withSmallDisk(workspace, async (small) => {
      const { code, stdout, stderr } = await svc(workspace, ['run']);
      expect(stderr).toMatch(/^error\[E-IO-002\]: the trace .* cannot be written: no space left on the device\nhint: /);
      expect(stdout).toMatch(/\nstatus: {2}trapped\n$/);
      expect(code).toBe(2);
      const lines = readFileSync(join(small, onlySession(workspace), 'trace.jsonl'), 'utf8').split('\n');
      expect(lines.slice(0, -1).map((line) => (JSON.parse(line) as { event_type: string }).event_type)).toEqual([
        'session_start',
        'task_received',
        'task_start',
        'inference',
        'session_end',
      ]);
      expect(lines.at(-1)).toBe('');
    });
  });

  it.skipIf(!isRoot)('the trace at its start leaves stdout empty', async () => {
    const workspace = capsule();
    await withSmallDisk(workspace, async () => {
      const { code, stdout, stderr } = await svc(workspace, ['run', '--json', '--task', 'x'.repeat(100_000)]);
      expect(stderr).toMatch(/^error\[E-IO-002\]: the trace .* cannot be written: no space left on the device\n/);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    });
  });

  it.skipIf(!isRoot)('a workdir on a read-only file system is a coded error before anything is said', async () => {
    const workspace = capsule({ files: taskFile });
    const sealed = join(workspace.folder, 'sealed');
    mkdirSync(sealed);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro,size=64k', 'tmpfs', sealed]);
    try {
      const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', join(sealed, 'work')]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^error\[E-IO-001\]: the directory .* cannot be made: the file system is read-only/);
    } finally {
      execFileSync('umount', [sealed]);
    }
  });
});

/** Puts the traces of a workspace on a file system of 64 KiB while `use` runs. */
async function withSmallDisk(workspace: Workspace, use: (small: string) => Promise<void>): Promise<void> {
  const small = join(workspace.folder, 'small');
  mkdirSync(small);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small]);
  try {
    mkdirSync(join(workspace.folder, '.svc'));
    symlinkSync(small, join(workspace.folder, '.svc', 'sessions'));
    await use(small);
  } finally {
    execFileSync('umount', [small]);
  }
}

describe('svc build', () => {
  it('refuses a tool whose input schema could never be used', async () => {
    const workspace = capsule({
      files: {
        'tool/svc.yaml':
          'name: broken\nversion: 1.0.0\nruntime: tool\ninput_schema: { type: object, properties: { a: { type: strng } } }\n',
        'tool/component.wasm': '\0asm\r\0\u0001\0',
      },
    });
    const { code, stdout, stderr } = await svc(workspace, ['build', 'tool']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error\[E-MAN-003\]: input_schema of broken cannot be used: /);
    expect(readdirSync(workspace.folder)).not.toContain('broken-1.0.0.zip');
  });
});

describe('the workdir of --workdir', () => {
  it.each(['.', '..', '/'])(
    'is refused when it is %s: the agent could alter the manifest and the trace',
    async (workdir) => {
      const workspace = capsule({ files: taskFile });
      const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', workdir]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^error\[E-RUN-029\]: the workdir .* holds the workspace itself/);
    },
  );

  it('is itself the accessible workdir', async () => {
    const workspace = capsule({ files: taskFile });
    expect((await svc(workspace, ['run', '--workdir', 'work'])).code).toBe(0);
    expect(readFileSync(join(workspace.folder, 'work', 'out', 'result.txt'), 'utf8')).toBe('Done.');
  });
});
