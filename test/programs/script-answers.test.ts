import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { scriptLineSchemas, type RunResult } from '@svc/svc/run/script/run-result.ts';
import { onlySession, taskFile, useCapsules } from '../support/capsule-folders.ts';
import { isGone } from '../support/is-gone.ts';
import { pipedSvc } from '../support/piped-run.ts';
import { runsCommand } from '../support/script-capsule.ts';
import { runs, says, script } from '../support/scripted-turns.ts';
import { svc } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

function saying(text: string): Workspace {
  return capsule({ script: script(says(text)) });
}

function taskOf(workspace: Workspace): string {
  return readFileSync(join(workspace.folder, 'workdir', onlySession(workspace), 'task.md'), 'utf8');
}

/** Works until it is stopped; `begun` is there once it does. */
function busy(): Workspace {
  const workspace = capsule({ manifest: 'capabilities: { shell: { allow: [sh, touch, sleep] } }\n' });
  workspace.write('script.yaml', runsCommand(`touch ${join(workspace.folder, 'begun')}; sleep 60`));
  return workspace;
}

async function begun({ folder }: Workspace): Promise<void> {
  while (!existsSync(join(folder, 'begun'))) await sleep(20);
}

/** A shell in the folder of a capsule, where `svc` is a function. */
async function shell(workspace: Workspace, text: string): Promise<{ code: number | null; output: string }> {
  const child = spawn('bash', ['-c', `svc() { "${process.execPath}" "${program}" "$@"; }\n${text}`], {
    cwd: workspace.folder,
    env: { PATH: process.env['PATH'], HOME: workspace.home, SVC_CONTAINMENT_CEILING: 'advisory' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (piece: string) => (output += piece));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

/** What svc wrote to the terminal, except for where its rows may go on. */
function printed({ raw }: TerminalProcess): string {
  return ['\u001B[?7l', '\u001B[?7h', '\r'].reduce((text, part) => text.replaceAll(part, ''), raw);
}

describe('svc -p', () => {
  it('says that an answer is not whole', async () => {
    const text = "- { content: [{ type: text, text: 'One, two' }], stop_reason: max_tokens }\n";
    const { code, stdout, stderr } = await svc(capsule({ script: text }), ['-p', 'Count.', '--trust']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'One, two\n' });
    expect(stderr).toMatch(/^warning\[W-RUN-171\]: the answer is not whole: .*\nhint: raise inference\.max_tokens/m);
  });

  it.each([
    ['Done.', 'Done.\n'],
    ['Two\nlines\n', 'Two\nlines\n'],
    ['\u001B[31mred\u0007 \u202Eturned', '\u001B[31mred\u0007 \u202Eturned\n'],
  ])('prints the answer %j as it is, and one line feed at its end', async (answer, stdout) => {
    expect(await pipedSvc(saying(answer), ['-p', 'Go'])).toEqual({ code: 0, stdout, stderr: '' });
  });

  it.each(['', ' \n'])('fails where the answer is %j, which is no text', async (answer) => {
    const { code, stdout, stderr } = await pipedSvc(saying(answer), ['-p', 'Go']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error\[E-RUN-186\]: the model ended its answer without any text\nhint: /);
  });

  it('works as svc run -p', async () => {
    expect(await pipedSvc(saying('Yes.'), ['run', '-p', 'Go'])).toMatchObject({ code: 0, stdout: 'Yes.\n' });
    expect(await pipedSvc(saying('Yes.'), ['--output', 'text', '-p', 'Go'])).toMatchObject({ stdout: 'Yes.\n' });
  });

  it.each([
    [['-p', 'Say hi'], undefined, 'Say hi'],
    [['-p', 'Say hi'], 'some data\n', 'Say hi\n\nsome data\n'],
    [['-p', 'Say hi'], ' \n', 'Say hi'],
    [['-p', '-'], 'Say hi\n', 'Say hi\n'],
    [['-p'], 'Say hi\n', 'Say hi\n'],
    [['-p'], undefined, 'Say that you are done.\n'],
    [['-p'], '', 'Say that you are done.\n'],
    [['-p', '--task', 'other.txt'], undefined, 'Another.\n'],
    [['-p', '--task', 'other.txt'], 'some data\n', 'Another.\n\n\nsome data\n'],
    [['-p', '--task', '-'], 'Say hi\n', 'Say hi\n'],
    [['--output', 'text', '--task', 'Say hi'], 'some data', 'Say hi\n\nsome data'],
  ])('%j with %j on standard input gives the task %j', async (args, input, task) => {
    const workspace = capsule({ files: { ...taskFile, 'other.txt': 'Another.\n' } });
    const end = await pipedSvc(workspace, args, input === undefined ? {} : { input });
    expect(end).toEqual({ code: 0, stdout: 'Done.\n', stderr: '' });
    expect(taskOf(workspace)).toBe(task);
  });

  it('gives the text of a file to nobody who did not name it with --task', async () => {
    const workspace = capsule({ files: { 'notes.md': 'Secret.' } });
    const { code, stderr } = await pipedSvc(workspace, ['-p', 'notes.md']);
    expect(stderr).toBe(
      'warning[W-RUN-001]: -p takes a text: the model is given the words notes.md as its task\nhint: to read a file: --task notes.md\n',
    );
    expect({ code, task: taskOf(workspace) }).toEqual({ code: 0, task: 'notes.md' });
  });

  it('leaves a task that names no file as it is, and warns', async () => {
    const workspace = capsule();
    const { code, stdout, stderr } = await pipedSvc(workspace, ['-p', '--task', './x.md']);
    expect({ code, stdout, task: taskOf(workspace) }).toEqual({ code: 0, stdout: 'Done.\n', task: './x.md' });
    expect(stderr).toMatch(/^warning\[W-RUN-001\]: there is no file \.\/x\.md/);
  });

  it('says what it waits for when a pipe has no end', async () => {
    const workspace = capsule();
    const child = spawn(process.execPath, [program, '-p', 'Go', '--trust'], {
      cwd: workspace.folder,
      env: { PATH: process.env['PATH'], HOME: workspace.home, SVC_CONTAINMENT_CEILING: 'advisory' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const [said] = (await once(child.stderr, 'data')) as [Buffer];
    expect(said.toString()).toMatch(/^warning\[W-RUN-065\]: waiting for the end of standard input/);
    const closed = once(child, 'close');
    child.stdin.end();
    expect(await closed).toEqual([0, null]);
  });

  it('ends with its task where the manifest has the capsule stay up', async () => {
    const manifest = 'lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: sleep }\n';
    expect(await pipedSvc(capsule({ manifest }), ['-p', 'Go'])).toEqual({ code: 0, stdout: 'Done.\n', stderr: '' });
  });

  it('asks for a task where messages may bring one', async () => {
    const manifest = 'lifecycle: { task_acceptance: single }\n';
    expect(await pipedSvc(capsule({ manifest }), ['-p'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^error\[E-RUN-024\]: there is no task, and nobody can send one to svc -p\n/),
    });
  });

  it.each([
    [['-p', 'Go', '--max-cost', '0.50'], '--max-cost needs the prices of models'],
    [['-p', 'Go', '--max-tokens', 'many'], 'must be a whole number'],
    [['-p', 'Go', '--timeout', '5'], '--timeout must be a time such as 90s, 5m or 2h'],
    [['-p', 'Go', '--timeout', '0s'], '--timeout must be a time'],
    [['-p', 'Go', '--timeout', '600h'], '--timeout must be a time'],
    [['-p', 'Go', '--task', 'Stop'], 'give the task with -p or with --task, not with both'],
    [['-p', 'Go', '--json'], '--json goes with svc run: --output json writes one object for a script'],
    [['-p', 'Go', '--replay'], '--replay does not go with -p and --output'],
    [['-p', 'Go', '--explain-scope'], '--explain-scope does not go with -p and --output'],
    [['-p', 'Go', '-v'], '-v goes with svc run, without -p and --output'],
    [['-v'], '-v goes with svc run, without -p and --output; svc --version says which version this is'],
    [['-p', 'Go', '--output', 'yaml'], 'text, json, stream-json'],
    [['run', '--task', 'Go', '--timeout', '5m'], '--timeout and --max-tokens go with -p or --output'],
    [['run', '--task', 'Go', '--max-cost', '0.50'], '--max-cost needs the prices of models'],
  ])('refuses the command line %j with 2 and starts nothing', async (args, problem) => {
    const workspace = capsule();
    const { code, stdout, stderr } = await pipedSvc(workspace, args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(problem);
    expect(existsSync(join(workspace.folder, 'workdir'))).toBe(false);
  });

  it.each(['text', 'json', 'stream-json'])('exits with 141 when nobody reads its %s', async (output) => {
    const { output: said } = await shell(
      saying('Hi.'),
      `svc -p Go --trust --output ${output} | true; echo "\${PIPESTATUS[0]}"`,
    );
    expect(said).toBe('141\n');
  });

  it('ends its task as soon as nobody reads the stream', async () => {
    const unread = 'until [ -e ../../unread ]; do sleep 0.05; done';
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [sh, touch] } }\n',
      script: script(runs('true'), runs(unread), runs('touch far.txt'), says('Done.')),
    });
    const reader = '{ head -n 1 > /dev/null; exec < /dev/null; touch unread; }';
    const command = `svc -p Go --trust --output stream-json | ${reader}; echo "\${PIPESTATUS[0]}"`;
    expect((await shell(workspace, command)).output).toMatch(/141\n$/);
    expect(existsSync(join(workspace.folder, 'workdir', onlySession(workspace), 'far.txt'))).toBe(false);
  });
});

describe('svc -p --output json', () => {
  it('prints one object with the answer', async () => {
    const workspace = saying('Done.');
    const { code, stdout, stderr } = await pipedSvc(workspace, ['-p', 'Go', '--output', 'json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^[^\n]+\n$/);
    const result = scriptLineSchemas.result.parse(JSON.parse(stdout)) as RunResult;
    const session = onlySession(workspace);
    expect(result).toEqual({
      type: 'result',
      session,
      task: expect.stringMatching(/^tsk_/),
      status: 'ok',
      state: 'completed',
      answer: 'Done.',
      reason: null,
      turns: 1,
      usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number), cache_read_tokens: null },
      cost: null,
      duration_ms: expect.any(Number),
      files: null,
      refused: [],
      result_file: join(workspace.folder, 'workdir', session, 'out', 'result.txt'),
    });
    expect(readFileSync(result.result_file ?? '', 'utf8')).toBe('Done.');
  });

  it('has its result even when a second signal ends it at once', async () => {
    const workspace = capsule({ manifest: 'capabilities: { shell: { allow: [sh, touch, sleep] } }\n' });
    // It does not end when it is asked to.
    const command = `trap "" TERM; touch ${join(workspace.folder, 'begun')}; while true; do sleep 1; done`;
    workspace.write('script.yaml', runsCommand(command));
    const meanwhile = async (pid: number): Promise<void> => {
      await begun(workspace);
      // The first that comes later than the same stop ends it.
      while (!isGone(pid)) {
        process.kill(pid, 'SIGTERM');
        await sleep(50);
      }
    };
    const { code, stdout, stderr } = await pipedSvc(workspace, ['-p', 'Go', '--output', 'json'], { meanwhile });
    const result = scriptLineSchemas.result.parse(JSON.parse(stdout)) as RunResult;
    expect(code).toBe(143);
    expect(result).toMatchObject({ status: 'trapped', answer: null, reason: { code: 'E-RUN-080' } });
    expect(stderr).toContain('error[E-RUN-080]: svc ended before its session did\n');
  });
});

describe('svc -p --output stream-json', () => {
  it('prints the session, each frame, what each turn used and one result at its end', async () => {
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [sh] } }\n',
      script: script(runs('echo hello'), says('Done.')),
    });
    const { code, stdout } = await pipedSvc(workspace, ['-p', 'Go', '--output', 'stream-json']);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly type: keyof typeof scriptLineSchemas; readonly event?: string });
    for (const line of lines) scriptLineSchemas[line.type].parse(line);
    expect(lines.map(({ type, event }) => event ?? type)).toEqual([
      'session',
      'status',
      'usage',
      'artifact',
      'status',
      'usage',
      'text',
      'status',
      'result',
    ]);
    expect(lines.at(0)).toMatchObject({ session: onlySession(workspace), name: 'demo', version: '1.2.3' });
    expect(lines.at(-1)).toMatchObject({ status: 'ok', answer: 'Done.', turns: 2 });
    expect(code).toBe(0);
  });

  it('ends with the result when there is no session at all', async () => {
    const args = ['-p', 'Go', '--output', 'stream-json', '--manifest', 'other.yaml'];
    const { code, stdout } = await pipedSvc(capsule(), args);
    expect(JSON.parse(stdout)).toMatchObject({ type: 'result', session: null, reason: { code: 'E-IO-001' } });
    expect(code).toBe(1);
  });
});

describe('a session with limits of a script', () => {
  it('runs again with them', async () => {
    const workspace = saying('Done.');
    await pipedSvc(workspace, ['-p', 'Go', '--max-tokens', '11']);
    const { code, stdout } = await svc(workspace, ['run', '--replay']);
    expect(stdout).toMatch(/: the same except for ids and times\n$/);
    expect(code).toBe(0);
  });
});

describe.skipIf(!hasPseudoTerminals())('on a terminal', () => {
  it('svc -p shows the answer behind the gutter and without escape sequences', async () => {
    const shown = new TerminalProcess(saying('\u001B[2Jerror[E-RUN-059]: forged\nnext'), ['-p', 'Go', '--trust']);
    expect(await shown.ended).toBe(0);
    expect(printed(shown)).toBe('│ error[E-RUN-059]: forged\n│ next\n');
  });

  it('svc run says where the answer stands, right before the status', async () => {
    const workspace = capsule({ files: taskFile });
    const shown = new TerminalProcess(workspace, ['run'], { columns: 200 });
    expect(await shown.ended).toBe(0);
    const lines = shown.terminal.rows.filter((row) => row !== '');
    expect(lines.slice(-2)).toEqual([`result: workdir/${onlySession(workspace)}/out/result.txt`, 'status:  ok']);
  });

  it('svc run names no answer where nothing was answered', async () => {
    const workspace = busy();
    workspace.write('task.md', 'Go.');
    const shown = new TerminalProcess(workspace, ['run']);
    await begun(workspace);
    shown.child.kill('SIGTERM');
    expect(await shown.ended).toBe(1);
    expect(shown.raw).not.toContain('result:');
  });
});
