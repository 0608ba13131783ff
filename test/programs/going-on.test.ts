import { appendFileSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { calls as makesCalls, runs, says as scripted, script } from '../support/scripted-turns.ts';
import { chainedLines, recordsOf } from '../support/forged-journal.ts';
import { chatEnvironment, killRunning, runningIn, stopped } from '../support/chat-terminal.ts';
import { FirstMinute } from '../support/first-minute.ts';
import { svc } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess, type TerminalOptions } from '../support/terminal-process.ts';
import type { Workspace } from '../support/workspace.ts';
import { calls, says } from '@svc/testing/fake-reply.ts';

const capsule = useCapsules();
const cleanups: (() => unknown)[] = [];
const skipped = !hasPseudoTerminals();

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function terminal(workspace: Workspace, args: readonly string[], options?: TerminalOptions): TerminalProcess {
  const running = new TerminalProcess(workspace, args, { columns: 120, ...options });
  cleanups.push(() => killRunning(workspace.home));
  cleanups.push(() => running.child.kill('SIGKILL'));
  return running;
}

interface Asked {
  readonly messages: readonly {
    readonly role: string;
    readonly content: string | null;
    readonly tool_calls?: readonly { readonly function: { readonly name: string } }[];
  }[];
}

/** What the model was asked last, without the system prompt: who said what. */
function lastRequest({ model }: FirstMinute): readonly (readonly [string, string])[] {
  const { messages } = (model?.requests.at(-1)?.json ?? { messages: [] }) as Asked;
  return messages
    .filter(({ role }) => role !== 'system')
    .map(({ role, content, tool_calls: made = [] }) => {
      const text = (content ?? '').replace(/^<untrusted-content[^\n]*\n|\n<\/untrusted-content>$/g, '');
      return [role, [text, ...made.map((call) => call.function.name)].filter((part) => part !== '').join(' ')] as const;
    });
}

async function firstMinute(): Promise<FirstMinute> {
  const minute = new FirstMinute({ ceiling: 'sealed' });
  cleanups.push(async () => await minute.dispose());
  return minute;
}

describe.skipIf(skipped)('svc --continue (skipped without python3)', () => {
  it('goes on with the last task of the folder: its transcript above the prompt, its conversation before the next message', async () => {
    const minute = await firstMinute();
    minute.write({ 'notes.txt': 'the cart is broken\n' });
    await minute.plays(calls('cat', { command: 'notes.txt' }), says('The cart is broken.'), says('By the discount.'));
    expect(await minute.svc(['--write', 'what is broken?'])).toMatchObject({ code: 0 });
    const [first = ''] = minute.sessions;
    const asked = minute.model?.requests.length ?? 0;
    // Another model is set now, and the one of the session is asked.
    const env = { ...chatEnvironment(minute), SVC_MODEL: 'ollama/another' };
    const chat = terminal(minute.workspace, ['--continue'], { env });
    await chat.shows(/^>$/);
    const rows = [...chat.terminal.rows];
    const from = rows.indexOf('> what is broken?');
    expect(from).toBeGreaterThanOrEqual(0);
    expect(
      rows
        .slice(from)
        .filter((row) => /^[>\u2502\u2551$-]/.test(row))
        .map((row) => row.replace(/ {2,}.*| in .*/, '')),
    ).toEqual([
      '> what is broken?',
      '$ cat notes.txt',
      '\u2551 the cart is broken',
      '\u2502 The cart is broken.',
      '- done',
      '>',
    ]);
    await chat.shows(/\.\/shop can be changed/);
    expect(minute.model?.requests).toHaveLength(asked);
    chat.type('by what?\r');
    await chat.shows(/^\u2502 By the discount\.$/);
    expect(minute.model?.requests).toHaveLength(asked + 1);
    expect(minute.model?.requests.at(-1)?.json).toMatchObject({ model: 'qwen3:8b' });
    expect(lastRequest(minute)).toEqual([
      ['user', 'what is broken?'],
      ['assistant', 'cat'],
      ['tool', expect.stringContaining('the cart is broken')],
      ['assistant', 'The cart is broken.'],
      ['user', 'by what?'],
    ]);
    expect(await stopped(chat)).toBe(0);
    const second = minute.sessions.find((id) => id !== first) ?? '';
    for (const file of ['trace.jsonl', 'journal.jsonl'])
      expect(JSON.parse(minute.ofSession(file, second).split('\n')[0] ?? '')).toMatchObject({ continues: first });
    expect((await minute.svc(['trace', 'show', second])).stdout).toContain(`goes on with: ${first}\n`);
    // It can be run again without the one before.
    expect(await minute.svc(['run', '--replay', second])).toMatchObject({ code: 0 });
    // The one that went on is the last one now, and both transcripts stand above its prompt.
    const again = terminal(minute.workspace, ['-c'], { env });
    await again.shows(/^>$/);
    expect(again.terminal.rows.filter((row) => /^> |^\u2502 [TB]/.test(row))).toEqual([
      '> what is broken?',
      '\u2502 The cart is broken.',
      '> by what?',
      '\u2502 By the discount.',
    ]);
    expect(await stopped(again)).toBe(0);
  }, 120_000);

  it('shows the model how far a task came that was killed, and gives each of its calls a result', async () => {
    const minute = await firstMinute();
    // The task has no other program that would wait.
    const two = calls('sh', { command: 'kill -STOP $$' });
    await minute.plays(calls('sh', { command: 'echo one' }), two, says('I go on.'));
    const running = terminal(minute.workspace, ['do both'], { env: chatEnvironment(minute) });
    await running.shows(/kill -STOP/);
    // The call is shown a moment before it is recorded.
    await expect.poll(() => minute.ofSession('journal.jsonl'), { timeout: 60_000 }).toContain('/m2/t1"');
    for (const { pid } of runningIn(minute.home)) process.kill(pid, 'SIGKILL');
    await running.ended;
    const [id = ''] = minute.sessions;
    const chat = terminal(minute.workspace, ['chat', id.slice(-4)], { env: chatEnvironment(minute) });
    await chat.shows(/^- the task has no end$/);
    chat.type('go on\r');
    await chat.shows(/^\u2502 I go on\.$/);
    expect(lastRequest(minute)).toEqual([
      ['user', 'do both'],
      ['assistant', 'sh'],
      ['tool', expect.stringContaining('one')],
      ['assistant', 'sh'],
      ['tool', expect.stringContaining('outcome unknown')],
      ['assistant', '[svc was ended before I was done]'],
      ['user', 'go on'],
    ]);
    expect(await stopped(chat)).toBe(0);
  }, 120_000);

  it('joins the last session while it runs, and says if there is none', async () => {
    const minute = await firstMinute();
    await minute.plays(says('One.'));
    const none = terminal(minute.workspace, ['--continue'], { env: chatEnvironment(minute) });
    expect(await none.ended).toBe(1);
    expect(none.terminal.rows.join('')).toMatch(/error\[E-RUN-070\]: no session of .* is recorded/);
    const chat = terminal(minute.workspace, ['chat'], { env: chatEnvironment(minute) });
    await chat.shows(/^>$/);
    const joined = terminal(minute.workspace, ['--continue'], { env: chatEnvironment(minute) });
    await joined.shows(/^>$/);
    chat.type('hello\r');
    await joined.shows(/^> hello$/);
    joined.type('\u0004');
    expect(await joined.ended).toBe(0);
    expect(await stopped(chat)).toBe(0);
    expect(minute.sessions).toHaveLength(1);
  }, 120_000);

  it('refuses a folder that has moved or is a link, a journal that is damaged, and one without texts', async () => {
    const minute = await firstMinute();
    await minute.plays(says('One.'));
    await minute.svc(['--capture', 'meta', '-p', 'first']);
    const [meta = ''] = minute.sessions;
    await minute.svc(['-p', 'second']);
    const second = minute.sessions.find((id) => id !== meta) ?? '';
    const refused = async (args: readonly string[], cwd = minute.folder): Promise<string> => {
      const chat = terminal(minute.workspace, args, { env: chatEnvironment(minute), cwd, columns: 400 });
      expect(await chat.ended).toBe(1);
      return chat.terminal.rows.join('\n');
    };
    expect(await refused(['chat', meta])).toMatch(/error\[E-RUN-200\]: .* keeps no texts/);
    const moved = `${minute.folder}-moved`;
    renameSync(minute.folder, moved);
    expect(await refused(['chat', second], minute.base)).toMatch(/error\[E-RUN-201\]: .* is not there/);
    symlinkSync(moved, minute.folder);
    expect(await refused(['chat', second], minute.base)).toMatch(/error\[E-RUN-201\]: .* is a link to /);
    const journal = join(minute.home, '.svc', 'adhoc', '.svc', 'sessions', second, 'journal.jsonl');
    appendFileSync(journal, 'x\n');
    expect(await refused(['chat', second], minute.base)).toContain('error[E-RUN-073]');
  }, 120_000);

  it('grants no more than the flags that were given say, and nothing for a journal that commands could have written', async () => {
    const minute = await firstMinute();
    await minute.plays(says('One.'));
    await minute.svc(['--write', '--allow', 'node', '--net', 'example.com', '-p', 'first']);
    const [id = ''] = minute.sessions;
    const chat = terminal(minute.workspace, ['--continue'], { env: chatEnvironment(minute) });
    await chat.shows(/can be changed \u00B7 example\.com/);
    expect(await stopped(chat)).toBe(0);
    const journal = join(minute.home, '.svc', 'adhoc', '.svc', 'sessions', id, 'journal.jsonl');
    const text = readFileSync(journal, 'utf8').replace('"trusted":true', '"trusted":false');
    writeFileSync(journal, chainedLines(recordsOf(text)));
    const distrusted = terminal(minute.workspace, ['chat', id], { env: chatEnvironment(minute) });
    await distrusted.shows(/read only \u00B7 no network/);
    expect(distrusted.terminal.rows.join(' ')).toContain('W-RUN-072');
    expect(await stopped(distrusted)).toBe(0);
  }, 120_000);
});

describe.skipIf(skipped)('svc chat <ended session> of a capsule (skipped without python3)', () => {
  const shell = 'capabilities: { shell: { allow: [sh] } }\n';

  it('goes on in its workdir, with its manifest as it is now, and refuses that of another capsule', async () => {
    const turns = script(runs('echo mine > kept'), scripted('Kept.'));
    const workspace = capsule({ manifest: shell, script: turns });
    expect(await svc(workspace, ['run', '--task', 'keep it'])).toMatchObject({ code: 0 });
    const [id = ''] = readdirSync(join(workspace.folder, 'workdir'));
    writeFileSync(join(workspace.folder, 'script.yaml'), script(runs('cat kept'), scripted('Still there.')));
    writeFileSync(
      join(workspace.folder, 'svc.yaml'),
      readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8').replace('1.2.3', '1.2.4'),
    );
    const chat = terminal(workspace, ['chat', id.slice(-4), '--trust']);
    await chat.shows(/^- \.\/svc\.yaml has changed since: what it grants now holds$/);
    chat.type('is it there?\r');
    await chat.shows(/^\u2502 Still there\.$/);
    expect(chat.terminal.rows.filter((row) => /^[\u2502\u2551]/.test(row))).toEqual([
      '\u2502 Kept.',
      '\u2551 mine',
      '\u2502 Still there.',
    ]);
    // A second one finds that the workdir is taken.
    const second = terminal(workspace, ['chat', id, '--trust'], { columns: 400 });
    expect(await second.ended).toBe(1);
    expect(second.terminal.rows.join(' ')).toMatch(/error\[E-RUN-033\]: session ses_\w+ \(process \d+\) works in /);
    expect(await stopped(chat)).toBe(0);
    expect(readdirSync(join(workspace.folder, 'workdir'))).toEqual([id]);
    writeFileSync(
      join(workspace.folder, 'svc.yaml'),
      readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8').replace('name: demo', 'name: other'),
    );
    const other = terminal(workspace, ['chat', id, '--trust'], { columns: 400 });
    expect(await other.ended).toBe(1);
    expect(other.terminal.rows.join(' ')).toMatch(
      /error\[E-RUN-200\]: .* is a session of demo, and \.\/svc\.yaml is that of other/,
    );
  }, 120_000);

  it('goes on in the folder that it was granted', async () => {
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [cat] }, project: { path: . } }\n',
      script: script(makesCalls([['c1', 'cat', { command: 'notes.txt' }]]), scripted('Read.')),
      files: { 'notes.txt': 'in the folder\n' },
    });
    const env = { SVC_CONTAINMENT_CEILING: 'sealed' };
    expect(await svc(workspace, ['run', '--task', 'read it'], { env })).toMatchObject({ code: 0 });
    const chat = terminal(workspace, ['--continue', '--trust'], { env });
    await chat.shows(/^>$/);
    chat.type('again\r');
    await chat.shows(/^> again$/);
    await chat.shows(/^\u2502 Read\.$/);
    expect(chat.terminal.rows.filter((row) => row === '\u2551 in the folder').length).toBeGreaterThanOrEqual(1);
    expect(await stopped(chat)).toBe(0);
  }, 120_000);
});
