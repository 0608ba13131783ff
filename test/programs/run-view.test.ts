import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

import { onlySession, taskFile, useCapsules } from '../support/capsule-folders.ts';
import { asks, runs, says, script } from '../support/scripted-turns.ts';
import { svc } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess, type TerminalOptions } from '../support/terminal-process.ts';
import { hasTmux, TmuxWindow } from '../support/tmux-window.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const cleanups: (() => void)[] = [];
const skipped = !hasPseudoTerminals();
const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

function run(workspace: Workspace, args: readonly string[], options?: TerminalOptions): TerminalProcess {
  const running = new TerminalProcess(workspace, args, options);
  cleanups.push(() => running.child.kill('SIGKILL'));
  return running;
}

/** A shell that runs `svc run` and then reads what it left unread. */
const shell = [
  'bash',
  '-c',
  '"$0" "$1" run; read -r -t 1 rest; echo "the shell got [$rest]"',
  process.execPath,
  program,
];
/** Whole: what a shell prints may come in pieces. */
const shellGot = /^the shell got \[.*\]$/;

const asker = 'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n';
const question = script(asks('Which colour?'), says('It is painted.'));

describe.skipIf(skipped)('the view of svc run (skipped without python3)', () => {
  it('takes a typed line as the answer of the question that waits, and leaves nothing for the shell', async () => {
    const running = run(capsule({ manifest: asker, script: question, files: taskFile }), [], { command: shell });
    await running.shows(/^answer>$/);
    running.type('dark blue');
    await running.shows(/^answer> dark blue$/);
    running.type('\r');
    const rows = await running.shows(shellGot);
    expect(rows.filter((row) => /^[?$*>-]|^answer|^│|^the/.test(row)).map((row) => row.replace(/ in .*/, ''))).toEqual([
      '? asked for:',
      '│ Which colour?',
      'answer> dark blue',
      '│ It is painted.',
      '- done',
      'the shell got []',
    ]);
    expect(await running.ended).toBe(0);
  });

  it('reads keys again behind a task that was typed at the terminal', async () => {
    const running = run(capsule({ manifest: asker, script: question }), [], {
      command: ['bash', '-c', '"$0" "$1" run --task -; echo "ended with $?"', process.execPath, program],
    });
    await running.shows(/^reading the task from this terminal/);
    running.type('Paint it.\r\u0004');
    await running.shows(/^answer>$/);
    running.type('dark blue\r');
    const rows = await running.shows(/^ended with 0$/);
    expect(rows.filter((row) => /^answer|^│ It/.test(row))).toEqual(['answer> dark blue', '│ It is painted.']);
    expect(await running.ended).toBe(0);
    expect(running.modes.at(-1)).toBe(running.modes[0]);
  });

  it.each([
    ['standard input is a pipe', 'echo "Paint it." | "$0" "$1" run --task -'],
    ['standard input is closed', '"$0" "$1" run --task "Paint it." </dev/null'],
    ['it runs in the background', 'set -m; "$0" "$1" run --task "Paint it." & wait'],
  ])('says how a question is answered where %s', async (_where, line) => {
    const workspace = capsule({ manifest: asker, script: question });
    const running = run(workspace, [], { command: ['bash', '-c', line, process.execPath, program] });
    const asks = / waiting for you, \d+ s · .*svc answer (?<session>[0-9a-f]{4})$/;
    const rows = await running.shows(asks);
    const session = rows.map((row) => asks.exec(row)?.groups?.['session']).find((found) => found !== undefined);
    expect((await svc(workspace, ['answer', session ?? '', 'dark blue'])).code).toBe(0);
    const shown = await running.shows(/^status: {2}ok$/);
    expect(shown).toContain('- answered elsewhere:');
  });

  it('shows the last line of a command that runs, without secrets, while it runs', async () => {
    const command = 'echo begun; echo built 3 of 7 with $SERVICE_KEY; sleep 60';
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [sh] }, env: { allow: [SERVICE_KEY] } }\n',
      script: script(runs(command), says('Done.')),
      files: taskFile,
    });
    const running = run(workspace, [], { command: shell, env: { SERVICE_KEY: 'open-sesame-1' } });
    await running.shows(/^┊ built 3 of 7 with \[secret\]$/);
    running.type('\u001B');
    const rows = await running.shows(shellGot);
    expect(rows.filter((row) => /^[│┊] built/.test(row))).toEqual([]);
  });

  it('shows how a long output ends, and where all of it is', async () => {
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [sh] } }\n',
      script: script(runs('seq 1 5000; echo done'), says('Counted.')),
      files: taskFile,
    });
    const running = run(workspace, ['run']);
    expect(await running.ended).toBe(0);
    const rows = running.terminal.rows.filter((row) => /^[│║]/.test(row));
    const [, session = '', step = ''] = /^║ … the whole output: svc logs ([0-9a-f]{4}) (\d)$/.exec(rows[0] ?? '') ?? [];
    expect(rows.slice(1)).toEqual(['║ 4997', '║ 4998', '║ 4999', '║ 5000', '║ done', '│ Counted.']);
    expect((await svc(workspace, ['logs', session, step])).stdout.slice(-10)).toBe('5000\ndone\n');
  });

  it('makes no answer of a line that was begun before the question came, until Enter is pressed again', async () => {
    const go = `go-${process.pid}`;
    const workspace = capsule({
      manifest: `${asker}capabilities: { shell: { allow: [sh] } }\n`,
      script: script(runs(`until [ -e ${go} ]; do sleep 0.1; done`), asks('Which colour?'), says('It is painted.')),
      files: taskFile,
    });
    const running = run(workspace, [], { command: shell });
    await running.shows(/ until .*, \d+ s/);
    running.type('re');
    await running.shows(/^> re$/);
    writeFileSync(join(workspace.folder, 'workdir', onlySession(workspace), go), '');
    await running.shows(/^answer> re$/);
    running.type('d\r');
    await running.shows(/^! the question came after this line was begun: Enter again answers it/);
    await running.shows(/^answer> red$/);
    running.type('\r');
    const rows = await running.shows(shellGot);
    expect(rows.filter((row) => /^answer|^│ It/.test(row))).toEqual(['answer> red', '│ It is painted.']);
    expect(await running.ended).toBe(0);
  });

  it('keeps what is typed while nothing asks, and says what to do with it', async () => {
    const running = run(
      capsule({
        manifest: 'capabilities: { shell: { allow: [sh] } }\n',
        script: script(runs('sleep 30'), says('Done.')),
        files: taskFile,
      }),
      [],
      { command: shell },
    );
    await running.shows(/ sleep 30, \d+ s .* Esc cancels$/);
    running.type('hello\r');
    await running.shows(/^nothing waits for an answer; svc chat [0-9a-f]{4} talks to the capsule$/);
    running.type('\u001B');
    await running.shows(/ Esc cancels$/);
    await running.sends(/\[J/);
    running.type('\u001B');
    const rows = await running.shows(shellGot);
    expect(rows).toContain('the shell got []');
    expect(rows.some((row) => row.startsWith('- canceled in '))).toBe(true);
  });

  it.each([
    ['its own end', '', 0],
    ['Esc', '\u001B', 1],
    ['Ctrl+C', '\u0003', 1],
  ])('gives the terminal back as it was after %s', async (_name, keys, code) => {
    const slow = script(runs(keys === '' ? 'true' : 'sleep 30'), says('Done.'));
    const manifest = 'capabilities: { shell: { allow: [sh] } }\n';
    const running = run(capsule({ manifest, script: slow, files: taskFile }), ['run']);
    if (keys !== '') {
      await running.shows(/ sleep 30, \d+ s/);
      running.type(keys);
    }
    expect(await running.ended).toBe(code);
    expect(running.modes.at(-1)).toBe(running.modes[0]);
    const off = running.raw.lastIndexOf('\u001B[?2004l');
    expect(off).toBeGreaterThan(running.raw.lastIndexOf('\u001B[?2004h'));
    expect(running.raw.lastIndexOf('\u001B[?25h')).toBeGreaterThan(running.raw.lastIndexOf('\u001B[?25l'));
    for (const cleared of ['\u001B[2J', '\u001B[3J']) expect(running.raw).not.toContain(cleared);
  });

  it('says why a session failed that ends well, as a task was canceled before', async () => {
    const workspace = capsule({
      manifest: 'lifecycle: { task_acceptance: queue, after_task: sleep }\n',
      script: '- { when: Hang, delay_ms: 600000, content: [{ type: text, text: Late. }], stop_reason: end_turn }\n',
    });
    const running = run(workspace, ['run']);
    await running.shows(/^waiting for a message at /);
    await svc(workspace, ['send', onlySession(workspace), 'Hang.']);
    await running.shows(/ Esc cancels$/);
    running.type('\u001B');
    await running.shows(/^- canceled in /);
    running.type('\u0003');
    expect(await running.ended).toBe(0);
    const rows = running.terminal.rows.filter((row) => row !== '');
    expect(rows.slice(-2)).toEqual([
      'the status is failed for what tasks came to before: 0 failed, 1 canceled',
      'status:  failed',
    ]);
  });

  it('leaves no row of the status behind after Ctrl+C of svc "task"', async () => {
    const slow = script(runs('sleep 30'), says('Done.'));
    const running = run(capsule({ manifest: 'capabilities: { shell: { allow: [sh] } }\n', script: slow }), [
      '--trust',
      'sleep well',
    ]);
    await running.shows(/ sleep 30, \d+ s/);
    running.type('\u0003');
    expect(await running.ended).toBe(1);
    const { rows } = running.terminal;
    expect(rows.filter((row) => / sleep 30, |Esc cancels/.test(row))).toEqual([]);
    const own = rows.filter((row) => row !== '').map((row) => row.replace(/ in .*| ses_.*| {3,}/, ''));
    expect(own.slice(-4)).toEqual([
      'stopping; once more to end at once',
      '$ sleep 30canceled',
      '- canceled',
      'session:',
    ]);
  });

  it('shows no live row and no colour where it must not', async () => {
    const workspace = capsule({ manifest: asker, script: question, files: taskFile });
    const running = run(workspace, ['run'], { env: { ACCESSIBLE: '1' } });
    await running.shows(/^\? asked for:$/);
    running.type('blue\r');
    expect(await running.ended).toBe(0);
    expect(running.terminal.rows).toContain('said: It is painted.');
    expect(running.raw).not.toContain('\u001B[J');
    expect(running.raw).not.toContain('\u001B[?2026h');
  });
});

describe.skipIf(!hasTmux())('the view of svc run in tmux (skipped without tmux)', () => {
  it.each([80, 120])('leaves each of 2,000 lines once in the scrollback, %i columns wide', async (columns) => {
    const lines = Array.from({ length: 2000 }, (_, index) => `line ${index} of the answer\n`);
    const says = script({
      content: [{ type: 'text', text: lines.join('') }],
      chunks: lines,
      stop_reason: 'end_turn',
    });
    const workspace = capsule({ script: says, files: taskFile });
    const env = { HOME: workspace.home, SVC_CONTAINMENT_CEILING: 'advisory' };
    const window = new TmuxWindow({ name: `view-${columns}`, columns, cwd: workspace.folder, env });
    cleanups.push(() => window.close());
    window.run(`"${process.execPath}" "${program}" run; echo "ended: $?"; exec sleep 600`);
    for (let looks = 0; !window.screen.some((row) => /^ended: \d/.test(row)); looks += 1) {
      window.resize([columns - (looks % 3) * 10, 24]);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const shown = window.history;
    expect(shown).toContain('ended: 0');
    const answer = shown.filter((row) => row.startsWith('\u2502 line '));
    expect(answer).toEqual(lines.map((line) => `\u2502 ${line.trimEnd()}`));
    expect(shown.filter((row) => /Esc cancels|turn 1,/.test(row))).toEqual([]);
  });
});
