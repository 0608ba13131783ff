import { execFileSync } from 'node:child_process';
import { appendFileSync, chownSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import { RecordedSession } from '../../packages/record/test/journal/recorded-session.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { mcpArtifact, oddBehaviour, oddServerProgram } from '../support/mcp-artifact.ts';
import { runs, calls, says, script } from '../support/scripted-turns.ts';
import { startCapsule, svc, SvcProcess } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';
import type { Workspace } from '../support/workspace.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));
const capsule = useCapsules();
const shell = 'capabilities: { shell: { allow: [sh] } }\n';
const line = `${'0123456789'.repeat(9)}\n`;
/** 18,200 bytes, more than a result holds. */
const long = `i=0; while [ $i -lt 200 ]; do echo ${line.trim()}; i=$((i+1)); done`;

/** A session that never was, with these logs. */
function recorded(workspace: Workspace, logs: Readonly<Record<string, string>>): RecordedSession {
  const session = new RecordedSession(workspace.folder, { session: '4f1a' })
    .task('Do the tests pass?')
    .model('I run them.', ['sh', 'sh'])
    .shell('npm test', 'short')
    .shell('npm run lint', 'long')
    .model('No.')
    .taskEnd('No.')
    .close();
  const folder = join(session.folder, 'logs');
  mkdirSync(folder, { mode: 0o700 });
  for (const [name, text] of Object.entries(logs)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  return session;
}

function objects(stdout: string): Record<string, unknown>[] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((each) => JSON.parse(each) as Record<string, unknown>);
}

describe('svc logs', () => {
  it('shows the whole outputs of commands and servers, each under the step that wrote it', async () => {
    const workspace = capsule({
      manifest: `artifacts: [{ name: odd, version: 1.0.0, source: ./odd }]\n${shell}`,
      script: script(
        runs('echo short'),
        runs(`${long}; echo oh >&2`),
        calls([['call_3', 'odd__long', {}]]),
        runs(`(${long}) >&2`),
        says('Done.'),
      ),
      files: {
        'task.md': 'Go.\n',
        ...mcpArtifact('odd', oddServerProgram(), 'behaviour.json'),
        'work/behaviour.json': oddBehaviour(['long']),
      },
    });
    expect((await svc(workspace, ['run', '--workdir', 'work'])).code).toBe(0);
    const { stdout } = await svc(workspace, ['logs']);
    expect(stdout).toBe(
      [
        '== #4 sh, standard output, 18.2 KB ==\n',
        line.repeat(200),
        '== #6 odd__long, answer, 204.8 KB ==\n',
        `${'y'.repeat(200 * 1024)}\n`,
        '== #8 sh, standard error, 18.2 KB ==\n',
        line.repeat(200),
      ].join(''),
    );
    // What is the only log of a step goes into a pipe as it was written.
    for (const step of ['4', '#4']) expect((await svc(workspace, ['logs', step])).stdout).toBe(line.repeat(200));
    const stderr = await svc(workspace, ['logs', '--stderr']);
    expect(stderr.stdout).toBe(line.repeat(200));
    const listed = objects((await svc(workspace, ['logs', '--list', '--json'])).stdout);
    expect(listed.map(({ modified_at_ms: _at, ...rest }) => rest)).toEqual([
      {
        file: '2-sh-stdout.log',
        source: 'command',
        name: 'sh',
        output: 'stdout',
        call: 2,
        step: 4,
        bytes: 18_200,
      },
      {
        file: 'mcp-1-odd__long.log',
        source: 'mcp',
        name: 'odd__long',
        output: 'answer',
        call: 1,
        step: 6,
        bytes: 204_800,
      },
      {
        file: '3-sh-stderr.log',
        source: 'command',
        name: 'sh',
        output: 'stderr',
        call: 3,
        step: 8,
        bytes: 18_200,
      },
    ]);
    const none = await svc(workspace, ['logs', '2']);
    expect(none).toMatchObject({ code: 1, stdout: '' });
    expect(none.stderr).toMatch(
      /^error\[E-RUN-125\]: step 2 of the session ses_\w+ has no log\nhint: an output of up to 16 KiB is whole in its step: svc trace show ses_\w+ 2\n$/,
    );
    expect((await svc(workspace, ['logs', '99'])).stderr).toMatch(/^error\[E-RUN-075\]: .* has no step 99\n/);
  });

  it('writes each piece as an object, cut between characters', async () => {
    const workspace = capsule();
    const text = `a${'\u20AC'.repeat(30_000)}\u001B[2J`;
    recorded(workspace, { '2-sh-stdout.log': text });
    // Read whole: a chunk of a pipe may end within a character too.
    const options = { cwd: workspace.folder, env: { HOME: workspace.home }, encoding: 'utf8' } as const;
    const pieces = objects(execFileSync(process.execPath, [program, 'logs', '4f1a#3', '--json'], options));
    expect(pieces.map(({ text: _text, ...rest }) => rest)).toEqual([
      { step: 3, source: 'command', name: 'sh', output: 'stdout', file: '2-sh-stdout.log', offset: 0 },
      { step: 3, source: 'command', name: 'sh', output: 'stdout', file: '2-sh-stdout.log', offset: 65_536 },
    ]);
    expect(pieces.map((piece) => piece['text']).join('') === text).toBe(true);
  });

  it('makes what others wrote harmless in a pipe, and shows it behind the gutter on a terminal', async (context) => {
    const workspace = capsule();
    recorded(workspace, {
      '2-sh-stdout.log': 'a\u001B]52;c;aGk=\u0007b\r== #9 sh, standard output, 1 B ==\n\u202Eevil\n',
      'hook-audit.log': 'seen\n',
      'egress.jsonl': '{"host":"example.com"}\n',
      'strange\n.txt': 'not of svc\n',
    });
    const { stdout } = await svc(workspace, ['logs', '4f1a']);
    expect(stdout).toBe(
      [
        '== #3 sh, standard output, 57 B ==',
        'ab',
        '== #9 sh, standard output, 1 B ==',
        'evil',
        '== hook audit, output, 5 B ==',
        'seen',
        '== connections, 23 B ==',
        '{"host":"example.com"}',
        '',
      ].join('\n'),
    );
    context.skip(!hasPseudoTerminals(), 'needs python3');
    const terminal = new TerminalProcess(workspace, ['logs', '4f1a#3']);
    expect(await terminal.ended).toBe(0);
    expect(terminal.terminal.rows.filter((row) => row !== '')).toEqual([
      '== #3 sh, standard output, 57 B ==',
      '\u2502 ab',
      '\u2502 == #9 sh, standard output, 1 B ==',
      '\u2502 evil',
    ]);
    expect(terminal.terminal.acts).toEqual([]);
  });

  it('reads through no link, and nothing of another user', async (context) => {
    const workspace = capsule();
    const session = recorded(workspace, { '1-sh-stdout.log': 'first\n' });
    writeFileSync(join(workspace.folder, 'secret'), 'secret\n');
    symlinkSync(join(workspace.folder, 'secret'), join(session.folder, 'logs', '2-sh-stdout.log'));
    const linked = await svc(workspace, ['logs', '4f1a']);
    expect(linked).toMatchObject({ code: 1, stdout: '' });
    expect(linked.stderr).toMatch(/^error\[E-RUN-072\]: .*2-sh-stdout\.log is a link\n/);
    renameSync(join(session.folder, 'logs'), join(workspace.folder, 'elsewhere'));
    symlinkSync(join(workspace.folder, 'elsewhere'), join(session.folder, 'logs'));
    expect((await svc(workspace, ['logs', '4f1a'])).stderr).toMatch(
      /^error\[E-RUN-072\]: .*logs is a link or a file\n/,
    );
    context.skip(process.getuid?.() !== 0, 'only root can give files away');
    const other = capsule();
    const theirs = recorded(other, { '1-sh-stdout.log': 'first\n' });
    chownSync(join(theirs.folder, 'logs', '1-sh-stdout.log'), 12_345, 12_345);
    expect((await svc(other, ['logs', '4f1a'])).stderr).toMatch(/^error\[E-RUN-072\]: .*belongs to user 12345\n/);
    chownSync(join(theirs.folder, 'logs'), 12_345, 12_345);
    expect((await svc(other, ['logs', '4f1a'])).stderr).toMatch(/^error\[E-RUN-072\]: .*logs belongs to user 12345\n/);
  });

  it('says so where there is no log, and ends well when its reader goes away', async () => {
    const workspace = capsule();
    const session = recorded(workspace, {});
    expect(await svc(workspace, ['logs', '4f1a'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: `the session ses_${'4f1a'.padStart(32, '0')} has no log: svc trace show ses_${'4f1a'.padStart(32, '0')}#<step> has shorter outputs whole\n`,
    });
    writeFileSync(join(session.folder, 'logs', '1-sh-stdout.log'), line.repeat(200_000));
    const noStderr = `the session ses_${'4f1a'.padStart(32, '0')} has no log of standard error: svc trace show ses_${'4f1a'.padStart(32, '0')}#<step> has shorter outputs whole\n`;
    expect(await svc(workspace, ['logs', '4f1a', '--stderr'])).toMatchObject({ code: 0, stdout: '', stderr: noStderr });
    expect(await svc(workspace, ['logs', '4f1a', '--stderr', '--list'])).toMatchObject({
      code: 0,
      stderr: 'the session has no log of standard error\n',
    });
    const reading = new SvcProcess(workspace, ['logs', '4f1a']);
    await reading.printed(/0123/);
    reading.child.stdout?.destroy();
    expect(await reading.ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('follows a session until it ends', async () => {
    const workspace = capsule({
      manifest: `lifecycle: { task_acceptance: queue, after_task: sleep }\n${shell}`,
      script: script(
        runs(`${long}; while [ ! -e go ]; do sleep 0.05; done; echo and the end`),
        runs(`(${long}) >&2`),
        says('Done.'),
      ),
      files: {},
    });
    const { process: running, line: started } = await startCapsule(workspace, ['--task', 'Go.']);
    const following = new SvcProcess(workspace, ['logs', '-f']);
    // The size is the one that it has by then.
    await following.printed(/== #2 sh, standard output, \d+\.\d KB ==\n0123/);
    appendFileSync(join(workspace.folder, 'workdir', started.session_id, 'go'), '');
    await following.printed(/and the end\n== #4 sh, standard error/);
    running.child.kill('SIGTERM');
    const { code, stdout } = await following.ended;
    await running.ended;
    expect(code).toBe(0);
    expect(stdout.replace(/^== .* ==\n/gm, '')).toBe(`${line.repeat(200)}and the end\n${line.repeat(200)}`);
  });
});
