import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';

import { calls, says as finishes } from '@svc/testing/fake-reply.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { readTrace } from '../support/read-trace.ts';
import { asks, runs, says, script } from '../support/scripted-turns.ts';
import { FirstMinute } from '../support/first-minute.ts';
import { startCapsule, svc } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess, type TerminalOptions } from '../support/terminal-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const cleanups: (() => unknown)[] = [];
const skipped = !hasPseudoTerminals();

/** Ended by their ids after each test: a capsule outlives the chat that started it. */
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function terminal(workspace: Workspace, args: readonly string[], options?: TerminalOptions): TerminalProcess {
  const running = new TerminalProcess(workspace, args[0] === 'chat' ? [...args, '--trust'] : args, options);
  cleanups.push(() => running.child.kill('SIGKILL'));
  cleanups.push(() => endCapsules(workspace));
  return running;
}

interface Running {
  readonly pid: number;
  readonly session_id: string;
  readonly session_directory: string;
  readonly workdir: string;
  readonly process_start: string | null;
}

function runningIn({ home }: Workspace): Running[] {
  const folder = join(home, '.svc', 'running');
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
    return names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Running);
  } catch {
    return [];
  }
}

function endCapsules(workspace: Workspace): void {
  for (const { pid } of runningIn(workspace)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}

function below(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return (children.match(/\d+/g) ?? []).map(Number);
}

/** The program on the terminal. */
function programOn({ child }: TerminalProcess): number {
  const [program = 0] = below(child.pid!);
  return program;
}

/** The processes that the program on the terminal has started. */
async function childrenOf(terminalProcess: TerminalProcess): Promise<number[]> {
  const program = programOn(terminalProcess);
  for (;;) {
    const found = below(program);
    if (found.length > 0) return found;
    await pause(5);
  }
}

async function hasEnded(pid: number): Promise<void> {
  while (existsSync(`/proc/${pid}`)) await pause(20);
}

/** Rows that are not of others, without what differs from run to run. */
function own(rows: readonly string[]): string[] {
  return rows
    .filter((row) => row !== '' && !row.startsWith('\u2502'))
    .map((row) =>
      row
        .replace(/ in [\d.]+ m?s .*/, '')
        .replace(/\u2026[0-9a-f]{4}/, '\u2026ID')
        .replace(/chat [0-9a-f]{4}|stop [0-9a-f]{4}/g, 'ID'),
    );
}

const shell = 'capabilities: { shell: { allow: [sh] } }\n';
const asker = 'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n';
const staysUp = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';

describe.skipIf(skipped)('svc chat (skipped without python3)', () => {
  it('starts the capsule of the manifest, talks to it, and ends it', async () => {
    const workspace = capsule({ script: script(says('Hello to you.')) });
    const chat = terminal(workspace, ['chat']);
    await chat.shows(/^>$/);
    chat.type('hello there\r');
    await chat.sends(/- done in .* 45 tokens/);
    chat.type('what did I say?\r');
    // More than the first: the conversation goes on.
    await chat.sends(/- done in .* 80 tokens/);
    chat.type('\u0004');
    await chat.shows(/^ {2}s stop {3}k keep it running/);
    chat.type('s');
    expect(await chat.ended).toBe(0);
    const { rows } = chat.terminal;
    expect(own(rows)).toEqual([
      'starting the capsule of ./svc.yaml \u00B7 no network \u00B7 no variables',
      'demo 1.2.3 \u00B7 advisory \u00B7 \u2026ID \u00B7 scripted',
      'Ctrl+D leaves, /help says the rest',
      '> hello there',
      '- done',
      '> what did I say?',
      '- done',
      '? stop the capsule, or keep it running?',
      'stopping the capsule',
      '- the capsule has ended',
    ]);
    expect(rows.filter((row) => row.startsWith('\u2502'))).toEqual(['\u2502 Hello to you.', '\u2502 Hello to you.']);
    expect(runningIn(workspace)).toEqual([]);
    expect(chat.modes.at(-1)).toBe(chat.modes[0]);
  });

  it('has a task begin with the skill that is named, which Tab completes, and knows no other', async () => {
    const artifacts = ['forms', 'help', 'own']
      .map((name) => `{ name: ${name}, version: 1.0.0, runtime: skill, source: ./skills/${name} }`)
      .join(', ');
    const workspace = capsule({ script: script(says('Filled.')), manifest: `artifacts: [${artifacts}]\n` });
    const head = (more: string): string => `---\ndescription: d\n${more}---\nFill $ARGUMENTS.\n`;
    workspace.write('skills/forms/SKILL.md', head('disable-model-invocation: true\nallowed-tools: Read\n'));
    workspace.write('skills/help/SKILL.md', head(''));
    workspace.write('skills/own/SKILL.md', head('user-invocable: false\n'));
    const chat = terminal(workspace, ['chat']);
    await chat.shows(/^>$/);
    chat.type('/fo\t');
    await chat.shows(/^> \/forms/);
    chat.type('this form\r');
    await chat.sends(/- done in/);
    chat.type('/skill:help\r');
    await chat.sends(/- done in/);
    chat.type('/own this\r');
    await chat.sends(/there is no command or skill \/own/);
    chat.type('/help\r');
    await chat.sends(/skills: \/forms, \/skill:help, each with a text behind it/);
    const [running] = runningIn(workspace);
    chat.type('\u0004');
    await chat.shows(/^ {2}s stop/);
    chat.type('s');
    expect(await chat.ended).toBe(0);
    const traced = readTrace(join(running?.session_directory ?? '', 'trace.jsonl'));
    const called = traced.filter(({ event_type: type }) => type === 'skill_call');
    const common = { turn: 0, tool_call_id: null, arguments: {}, is_error: false, by: 'local' };
    expect(called).toEqual([
      expect.objectContaining({ skill_name: 'forms', ...common }),
      expect.objectContaining({ skill_name: 'help', ...common }),
    ]);
    const given = traced.filter(({ event_type: type }) => type === 'task_received').map(({ text }) => text);
    expect(given).toEqual(['this form', '']);
    const replayed = await svc(workspace, ['run', '--replay', running?.session_id ?? '']);
    expect(replayed).toMatchObject({ code: 0, stdout: expect.stringContaining('the same except for ids and times') });
  });

  it('leaves the capsule running where that is wished, and joins it again', async () => {
    const workspace = capsule({ script: script(says('One.')) });
    const chat = terminal(workspace, ['chat', '--no-history']);
    await chat.shows(/^>$/);
    chat.type('first\r');
    await chat.shows(/^- done in /);
    chat.type('\u0004');
    await chat.shows(/k keep it running/);
    chat.type('k');
    expect(await chat.ended).toBe(0);
    const [running] = runningIn(workspace);
    expect(chat.terminal.rows.some((row) => /joins it, svc stop [0-9a-f]{4} ends it$/.test(row))).toBe(true);
    const again = terminal(workspace, ['chat', running!.session_id.slice(-4), '--no-history']);
    const rows = await again.shows(/^\u2502 One\.$/);
    expect(rows[rows.indexOf('\u2502 One.') - 1]).toBe('> first');
    again.type('second\r');
    await again.shows(/^> second$/);
    await again.sends(/> second[^]*- done in /);
    again.type('/stop\r');
    expect(await again.ended).toBe(0);
    expect(runningIn(workspace)).toEqual([]);
    expect(readdirSync(join(workspace.home, '.svc'))).not.toContain('history');
  });

  it('has its capsule found after it was killed: in the lists, and by the next chat of the folder', async () => {
    const workspace = capsule({ script: script(says('One.')) });
    const chat = terminal(workspace, ['chat', '--no-history']);
    await chat.shows(/^>$/);
    const [running] = runningIn(workspace);
    process.kill(programOn(chat), 'SIGKILL');
    await chat.ended;
    const end = running!.session_id.slice(-4);
    expect((await svc(workspace, ['sessions'])).stdout).toMatch(new RegExp(`\n.${end} +demo .* running `));
    expect((await svc(workspace, ['ps'])).stdout).toContain(`\n${running!.session_id}`);
    const next = terminal(workspace, ['chat', '--no-history'], { columns: 160 });
    await next.shows(/^>$/);
    expect(next.terminal.rows[0]).toMatch(
      new RegExp(
        `^demo .${end} of this folder runs already, since \\S+ \\S+: svc chat ${end} joins it, svc stop ${end} ends it$`,
      ),
    );
  });

  it('keeps what is typed for the next chat, but no answer', async () => {
    const workspace = capsule({ manifest: asker, script: script(asks('Which password?'), says('Painted.')) });
    const chat = terminal(workspace, ['chat']);
    await chat.shows(/^>$/);
    chat.type('paint it\r');
    await chat.shows(/^answer>$/);
    chat.type('/queue\r');
    await chat.shows(/^no message waits$/);
    chat.type('hunter2\r');
    await chat.shows(/^\u2502 Painted\.$/);
    chat.type('thanks\r');
    await chat.sends(/> thanks[^]*Which password\?/);
    expect(readFileSync(join(workspace.home, '.svc', 'history'), 'utf8')).toBe('"paint it"\n"/queue"\n"thanks"\n');
  });

  it('shows two who chat the same, and takes one answer to a question', async () => {
    const workspace = capsule({ manifest: asker, script: script(asks('Which colour?'), says('Painted.')) });
    const first = terminal(workspace, ['chat']);
    await first.shows(/^>$/);
    const [running] = runningIn(workspace);
    const second = terminal(workspace, ['chat', running!.session_id]);
    await second.shows(/^>$/);
    first.type('paint it\r');
    await first.shows(/^answer>$/);
    await second.shows(/^answer>$/);
    second.type('dark blue\r');
    await second.shows(/^\u2502 Painted\.$/);
    await second.shows(/^answer> dark blue$/);
    const rows = await first.shows(/^\u2502 Painted\.$/);
    expect(rows).toContain('> paint it');
    expect(rows.slice(rows.indexOf('- answered elsewhere:')).slice(0, 2)).toEqual([
      '- answered elsewhere:',
      '\u2551 dark blue',
    ]);
    expect(second.terminal.rows).toContain('> paint it');
    second.type('\u0004');
    expect(await second.ended).toBe(0);
    const end = running!.session_id.slice(-4);
    expect(second.terminal.rows).toContain(`- it keeps running: svc chat ${end} joins it, svc stop ${end} ends it`);
    expect(runningIn(workspace)).toHaveLength(1);
  });

  it('sends a message of its own while a question waits, which stays open', async () => {
    const workspace = capsule({ manifest: asker, script: script(asks('Which colour?'), says('Painted.')) });
    const chat = terminal(workspace, ['chat']);
    await chat.shows(/^>$/);
    chat.type('paint it\r');
    await chat.shows(/^answer>$/);
    chat.type('/say sweep it\r');
    await chat.shows(/^> sweep it$/);
    await chat.shows(/^ {2}waiting \(1st\)$/);
    chat.type('blue\r');
    await chat.shows(/^answer> blue$/);
    await chat.shows(/^\u2502 Painted\.$/);
    // The other task has a question of its own.
    await chat.sends(/Which colour\?[^]*Painted[^]*Which colour\?/);
    expect(chat.terminal.rows).not.toContain('- answered elsewhere:');
  });

  /** A chat in which a question comes while a message is being typed. */
  async function askedWhileTyping(draft: string): Promise<{ chat: TerminalProcess; workspace: Workspace }> {
    const go = `go-${process.pid}`;
    const workspace = capsule({
      manifest: `${shell}${asker}`,
      script: script(runs(`until [ -e ${go} ]; do sleep 0.1; done`), asks('Which colour?'), says('Painted.')),
    });
    const chat = terminal(workspace, ['chat']);
    await chat.shows(/^>$/);
    chat.type('paint it\r');
    await chat.shows(/ until .*, \d+ s/);
    chat.type(draft);
    await chat.shows(new RegExp(`^> ${draft}$`));
    writeFileSync(join(runningIn(workspace)[0]!.workdir, go), '');
    await chat.shows(/^answer>$/);
    return { chat, workspace };
  }

  it('makes no answer of a message that was being typed when a question came, and gives it back after the answer', async () => {
    const { chat } = await askedWhileTyping('delete nothing');
    expect(chat.terminal.rows).toContain('  the message that was begun comes back after the answer');
    // Enter, which was meant for the message. Behind it a key, as several lines at once are a paste.
    chat.type('\r\u0015blue\r');
    await chat.shows(/^\u2502 Painted\.$/);
    const rows = await chat.shows(/^answer> blue$/);
    expect(rows).not.toContain('answer> delete nothing');
    await chat.shows(/^> delete nothing$/);
    chat.type(' else\r');
    await chat.sends(/> delete nothing else/);
  });

  it('makes no message of an answer that was being typed when its question was answered elsewhere', async () => {
    const { chat, workspace } = await askedWhileTyping('and then');
    chat.type('dark b');
    await chat.shows(/^answer> dark b$/);
    const second = terminal(workspace, ['chat', runningIn(workspace)[0]!.session_id]);
    await second.shows(/^answer>$/);
    second.type('red\r');
    await chat.shows(/^- answered elsewhere:$/);
    await chat.shows(/^\u2502 Painted\.$/);
    chat.type('lue\r');
    await chat.shows(/^that question does not wait any more; Ctrl\+C clears the line$/);
    expect(chat.terminal.rows).toContain('answer> dark blue');
    chat.type('\u0003');
    await chat.shows(/^> and then$/);
    expect(chat.terminal.rows.filter((row) => /^> .*dark/.test(row))).toEqual([]);
  });

  it('shows what a command writes while it runs', async () => {
    const go = `go-${process.pid}`;
    const workspace = capsule({
      manifest: shell,
      script: script(runs(`echo begun; while [ ! -e ${go} ]; do sleep 0.1; done; seq 1 9`), says('Done.')),
    });
    const chat = terminal(workspace, ['chat']);
    await chat.shows(/^>$/);
    chat.type('work\r');
    // Below the transcript: the row of the call comes once it has ended.
    await chat.shows(/^\u250A begun$/);
    const { workdir } = runningIn(workspace)[0]!;
    writeFileSync(join(workdir, go), '');
    await chat.shows(/^- done in /);
    expect(chat.terminal.rows.filter((row) => row.endsWith(' begun'))).toEqual([]);
  });

  it('queues what is sent meanwhile, takes the last of it back with Esc twice, and cancels with Esc', async () => {
    const workspace = capsule({ manifest: shell, script: script(runs('sleep 60'), says('Done.')) });
    const chat = terminal(workspace, ['chat']);
    await chat.shows(/^>$/);
    chat.type('work\r');
    await chat.shows(/ sleep 60, \d+ s/);
    chat.type('and then this\r');
    await chat.shows(/1 message waits/);
    expect(chat.terminal.rows).toContain('  waiting (1st)');
    chat.type('\u001B\u001B');
    await chat.endsWith(/^> and then this$/);
    await chat.shows(/^- canceled in /);
    chat.type('\u0003');
    await chat.endsWith(/^>$/);
    chat.type('\u0004');
    await chat.shows(/k keep it running/);
    chat.type('s');
    expect(await chat.ended).toBe(0);
  });

  it('gives back a message that the capsule does not take', async () => {
    const workspace = capsule({
      manifest: `${shell}lifecycle: { task_acceptance: queue, after_task: sleep, queue_depth: 0 }\n`,
      script: script(runs('sleep 60'), says('Done.')),
    });
    const { line } = await startCapsule(workspace);
    const chat = terminal(workspace, ['chat', line.session_id]);
    await chat.shows(/^>$/);
    chat.type('work\r');
    await chat.shows(/ sleep 60, \d+ s/);
    chat.type('and then this\r');
    await chat.shows(/^! the capsule takes no message now: /);
    const rows = await chat.shows(/^> and then this$/);
    expect(rows).toContain('! the capsule takes no message now: task rejected: capsule is busy');
  });

  it('takes what is typed on while a task runs', async () => {
    const workspace = capsule({ manifest: shell, script: script(runs('sleep 60'), says('Done.')) });
    const chat = terminal(workspace, ['chat']);
    await chat.shows(/^>$/);
    chat.type('work\r');
    await chat.shows(/ sleep 60, \d+ s/);
    for (const [text, place] of [
      ['one', '1st'],
      ['two', '2nd'],
      ['three', '3rd'],
    ] as const) {
      chat.type(`${text}\r`);
      await chat.shows(new RegExp(`^ {2}waiting \\(${place}\\)$`));
    }
    expect(chat.terminal.rows.filter((row) => row.startsWith('!'))).toEqual([]);
  });

  it('sends a paste of several lines as one message, and only when Enter is pressed', async () => {
    const workspace = capsule({ script: script(says('Read.')) });
    const chat = terminal(workspace, ['chat']);
    await chat.shows(/^>$/);
    chat.type('\u001B[200~one\ntwo\nthree\u001B[201~');
    await chat.shows(/^ {2}three$/);
    expect(chat.terminal.rows).not.toContain('- done');
    chat.type('\r');
    await chat.shows(/^\u2502 Read\.$/);
    expect(own(chat.terminal.rows).slice(3, 6)).toEqual(['> one', '  two', '  three']);
  });

  it('prints the whole output of a call, saves the answer, and says what it does not know', async () => {
    const workspace = capsule({
      manifest: shell,
      script: script(runs('seq 1 20'), says('Counted.')),
    });
    const chat = terminal(workspace, ['chat']);
    await chat.shows(/^>$/);
    chat.type('count\r');
    await chat.shows(/^\u2551 \u2026 15 lines more: \/show 1$/);
    await chat.shows(/^- done in /);
    expect(chat.terminal.rows).not.toContain('\u2551 3');
    chat.type('/show 1\r');
    expect(await chat.shows(/^\u2551 3$/)).toContain('/show 1');
    chat.type('/diff\r');
    await chat.shows(/^no call has changed a file with the editor yet$/);
    chat.type('/save answer.md\r');
    await chat.shows(/^wrote .*answer\.md$/);
    expect(readFileSync(join(workspace.folder, 'answer.md'), 'utf8')).toBe('Counted.\n');
    chat.type('/save answer.md\r');
    await chat.shows(/^error\[E-IO-001\]/);
    chat.type('/grants\r');
    await chat.shows(/^ {2}shell allow: +sh$/);
    chat.type('/shwo\r');
    await chat.shows(/^there is no command or skill \/shwo; did you mean \/show\?$/);
    chat.type('/sa\t');
    await chat.shows(/^> \/sa/);
  });

  it('shows how a long output ends, and says behind what /show prints where the rest is', async () => {
    const workspace = capsule({ manifest: shell, script: script(runs('seq 1 5000; echo done'), says('Counted.')) });
    const chat = terminal(workspace, ['chat']);
    await chat.shows(/^>$/);
    chat.type('count\r');
    const rows = await chat.shows(/^- done in /);
    const at = rows.findIndex((row) => /^\u2551 \u2026 the whole output: svc logs [0-9a-f]{4} \d$/.test(row));
    expect(rows.slice(at + 1, at + 6)).toEqual(['4997', '4998', '4999', '5000', 'done'].map((row) => `\u2551 ${row}`));
    chat.type('/show\r');
    await chat.shows(/^- the rest of the output: svc logs [0-9a-f]{4} \d$/);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'saves no part of an answer on a full disk (needs root, to mount one)',
    async () => {
      const workspace = capsule({ script: script(says('x'.repeat(100_000))) });
      const small = join(workspace.folder, 'small');
      mkdirSync(small);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small]);
      try {
        const chat = terminal(workspace, ['chat']);
        await chat.shows(/^>$/);
        chat.type('go\r');
        await chat.shows(/^- done in /);
        chat.type('/save small/answer.md\r');
        await chat.shows(/no space left on the device/);
        expect(readdirSync(small)).toEqual([]);
      } finally {
        execFileSync('umount', [small]);
      }
    },
  );

  it('ends the capsule that is starting with Ctrl+C', async () => {
    const workspace = capsule({ script: script(says('x')) });
    const chat = terminal(workspace, ['chat']);
    await chat.shows(/^starting the capsule of/);
    const children = await childrenOf(chat);
    expect(children).toHaveLength(1);
    // Once it has started after all, Ctrl+C is a key: pressed again it leaves, and once more it stops.
    const presses = setInterval(() => chat.type('\u0003'), 300);
    chat.type('\u0003');
    await chat.ended;
    clearInterval(presses);
    await Promise.all(children.map(async (pid) => await hasEnded(pid)));
  }, 120_000);

  it('ends its capsule with Ctrl+C where whole lines are read', async () => {
    const workspace = capsule({ script: script(says('x')) });
    const chat = terminal(workspace, ['chat', '--plain']);
    await chat.shows(/^Ctrl\+D leaves/);
    const [running] = runningIn(workspace);
    chat.type('\u0003');
    await chat.ended;
    await hasEnded(running!.pid);
    expect(runningIn(workspace)).toEqual([]);
  });

  it('says what a command failed of, and goes on', async () => {
    const workspace = capsule({ script: script(says('Still here.')) });
    const chat = terminal(workspace, ['chat']);
    await chat.shows(/^>$/);
    const [running] = runningIn(workspace);
    const trace = join(running!.session_directory, 'trace.jsonl');
    renameSync(trace, `${trace}.aside`);
    mkdirSync(trace);
    chat.type('/tasks\r');
    await chat.shows(/^error\[E-/);
    chat.type('hello\r');
    expect(await chat.shows(/^\u2502 Still here\.$/)).toContain('> hello');
  });

  it('says that the capsule is gone, and gives the terminal back', async () => {
    const workspace = capsule({ manifest: shell + staysUp, script: script(runs('sleep 60'), says('Done.')) });
    const chat = terminal(workspace, ['chat']);
    await chat.shows(/^>$/);
    chat.type('work\r');
    await chat.shows(/ sleep 60, \d+ s/);
    endCapsules(workspace);
    expect(await chat.ended).toBe(1);
    expect(own(chat.terminal.rows).some((row) => row.startsWith('! the capsule is gone: its process has ended'))).toBe(
      true,
    );
    expect(chat.modes.at(-1)).toBe(chat.modes[0]);
  }, 60_000);

  it.each([
    ['a terminal that knows no sequences', { env: { TERM: 'dumb' } }],
    ['a screen reader', { env: { ACCESSIBLE: '1' } }],
  ])('writes whole lines for %s', async (_name, options) => {
    const workspace = capsule({ manifest: asker, script: script(asks('Which colour?'), says('Painted.')) });
    const chat = terminal(workspace, ['chat'], options);
    await chat.shows(/^Ctrl\+D leaves/);
    chat.type('paint\n');
    await chat.shows(/Which colour\?$/);
    chat.type('blue\n');
    await chat.shows(/^- done in /);
    chat.type('/quit\n');
    await chat.shows(/type stop, keep or back/);
    chat.type('stop\n');
    expect(await chat.ended).toBe(0);
    expect(chat.raw).not.toContain('\u001B[?2026h');
    expect(runningIn(workspace)).toEqual([]);
  });

  it('takes the first line behind a call for its answer where whole lines are read', async () => {
    const workspace = capsule({
      manifest: [
        'capabilities: { shell: { allow: [sh] }, containment: scoped }',
        'approvals: { answer: [terminal], rules: [ask: { command: [echo, "**"] }] }',
        '',
      ].join('\n'),
      script: script(runs('echo open'), says('Done.')),
    });
    const chat = terminal(workspace, ['chat', '--plain'], { env: { SVC_CONTAINMENT_CEILING: 'sealed' }, columns: 120 });
    await chat.shows(/^Ctrl\+D leaves/);
    chat.type('work\n');
    await chat.shows(/^run it\? y once, s in this session, a in every session, n no >/);
    // What is typed sooner answers nothing.
    await pause(400);
    chat.type('y\n');
    expect(await chat.shows(/^- done in /)).toContain('allowed');
  });

  it('talks about the current folder where no manifest is, when svc is called alone', async () => {
    const minute = new FirstMinute({ ceiling: 'advisory' });
    cleanups.push(async () => await minute.dispose());
    await minute.plays();
    const chat = terminal(minute.workspace, [], {
      columns: 120,
      env: { OLLAMA_HOST: minute.model?.endpoint ?? '', SVC_MODEL: 'ollama/qwen3:8b' },
    });
    await chat.shows(/^>$/);
    chat.type('what is this?\r');
    await chat.shows(/^\u2502 Done\.$/);
    chat.type('\u0004');
    await chat.shows(/k keep it running/);
    chat.type('s');
    expect(await chat.ended).toBe(0);
    expect(chat.terminal.rows[0]).toMatch(
      /^svc \d\S* \u00B7 qwen3:8b \(SVC_MODEL\) \u00B7 \.\/shop read only \u00B7 no network/,
    );
    // What that row has said is not said again.
    expect(chat.terminal.rows.slice(1, 8)).toContainEqual(
      expect.stringMatching(/^\u2026[0-9a-f]{4} \u00B7 Ctrl\+D leaves, /),
    );
    expect(chat.terminal.rows.filter((row) => row.includes('qwen3:8b'))).toHaveLength(1);
    expect(readdirSync(minute.folder)).toEqual([]);
  }, 60_000);

  it('talks about the folder after bare flags, completes its files, and says after each task what that was refused', async () => {
    const minute = new FirstMinute({ ceiling: 'advisory' });
    cleanups.push(async () => await minute.dispose());
    minute.write({ 'cart.txt': 'a', '.env': 'SECRET', 'e\u001b[31mvil': 'x' });
    await minute.plays(
      calls('ls', { command: '' }, 'a'),
      finishes('Which cart?'),
      calls('cat', { command: '' }, 'b'),
      finishes('That one.'),
    );
    const env = { OLLAMA_HOST: minute.model?.endpoint ?? '', SVC_MODEL: 'ollama/qwen3:8b' };
    const chat = terminal(minute.workspace, ['--write', '--context', '60000'], { columns: 120, env });
    await chat.shows(/^>$/);
    expect(chat.terminal.rows.join('\n')).toMatch(/ \.\/shop can be changed /);
    chat.type('look at @ca\t');
    await chat.shows(/^> look at @cart\.txt$/);
    chat.type('\r');
    await chat.shows(/^refused: ls \(/);
    await chat.shows(/^\u2502 Which cart\?$/);
    chat.type('the first\r');
    await chat.shows(/^refused: cat \(/);
    await chat.shows(/^\u2502 That one\.$/);
    expect(chat.terminal.rows.filter((row) => row.startsWith('refused: ls '))).toHaveLength(1);
    const asked = (): string => JSON.stringify(minute.model?.requests.at(-1)?.json);
    expect(minute.asked.system).toMatch(/^You talk with a person on a terminal, /);
    expect(asked()).toContain('look at @cart.txt');
    chat.type('/tokens\r');
    await chat.shows(/^\d[\d,]* tokens so far; \d+ % of the context is used, of 60,000 tokens$/);
    chat.type('/claer\r');
    await chat.shows(/^there is no command or skill \/claer; did you mean \/clear\?$/);
    chat.type('/clear\r');
    await chat.shows(/^- a new conversation: /);
    chat.type('and now?\r');
    await chat.shows(/^\u2502 Done\.$/);
    expect(asked()).not.toContain('look at @cart.txt');
    chat.type('/\r');
    await chat.shows(/^ {2}\/exit +the same$/);
    chat.type('/exit\r');
    await chat.shows(/k keep it running/);
    chat.type('s');
    expect(await chat.ended).toBe(0);
  }, 60_000);

  it('needs a terminal', async () => {
    const workspace = capsule({ script: script(says('x')) });
    const chat = terminal(workspace, [], {
      command: [
        'sh',
        '-c',
        '"$0" "$1" chat < /dev/null',
        process.execPath,
        new URL('../../bin/svc.cjs', import.meta.url).pathname,
      ],
    });
    expect(await chat.ended).toBe(1);
    expect(chat.terminal.rows.join('\n')).toContain('error[E-RUN-121]');
  });

  it('works in 20 columns, whatever the user types', async () => {
    const workspace = capsule({ script: script(says('A longer answer than the terminal is wide.')) });
    const chat = terminal(workspace, ['chat'], { columns: 20 });
    await chat.shows(/^>$/);
    chat.type('a message that does not fit into a row of it\r');
    await chat.shows(/^- done in /);
    const rows = chat.terminal.rows.filter((row) => row.startsWith('\u2502'));
    expect(rows).toEqual(['\u2502 A longer answer', '\u2502 than the terminal', '\u2502 is wide.']);
    expect(chat.terminal.rows.every((row) => row.length <= 20)).toBe(true);
  });

  it.each([[[]], [['--plain']]])('keeps hostile Markdown within 20 columns and inert, with %j', async (flags) => {
    const text = [
      `${'> - '.repeat(500)}deep`,
      `${'|a'.repeat(300)}|\n${'|-'.repeat(300)}|\n${`${'|b'.repeat(300)}|\n`.repeat(3)}`,
      `${'*a **b `c '.repeat(300)}\u202E\u2066turned\u001B[2J\u001B]0;t\u0007`,
      'x'.repeat(5000),
      '```sh\n- done in 3 s\n> mine\n\u009B2J',
    ].join('\n\n');
    const workspace = capsule({ script: script(says(text)) });
    const chat = terminal(workspace, ['chat', ...flags], { columns: 20 });
    await chat.shows(flags.length === 0 ? /^>$/ : /^Ctrl\+D leaves/);
    chat.type('go\r');
    await chat.shows(/^- done in \d/);
    const { rows, acts } = chat.terminal;
    expect(acts).toEqual([]);
    expect(rows.filter((row) => row.length > 20 || /[\p{Cc}\u202E\u2066]/u.test(row))).toEqual([]);
    expect(rows.filter((row) => row.startsWith('- done'))).toHaveLength(1);
    expect(rows.filter((row) => row.startsWith('> mine'))).toEqual([]);
    expect(rows.some((row) => /^(?:said:|\u2502) .*deep/.test(row))).toBe(true);
  });

  it('shows what a hostile capsule says in rows that are not its own', async () => {
    const text = '> yes\n$ rm -rf /\n- done\n\u001B[2J\u001B[Hanswer> x\rstatus:  ok\u001B]0;t\u0007\n';
    const workspace = capsule({ script: script(says(text)) });
    const chat = terminal(workspace, ['chat'], { columns: 40 });
    await chat.shows(/^>$/);
    chat.type('go\r');
    await chat.shows(/^- done in /);
    const { rows, acts } = chat.terminal;
    expect(acts).toEqual([]);
    expect(rows.filter((row) => /^(?:> yes|\$|- done$|answer|status)/.test(row))).toEqual([]);
  });
});
