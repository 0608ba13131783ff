import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { says } from '@svc/testing/fake-reply.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { chatEnvironment, killRunning, runningIn, stopped } from '../support/chat-terminal.ts';
import { FirstMinute } from '../support/first-minute.ts';
import { says as scripted, script } from '../support/scripted-turns.ts';
import { startCapsule, svc } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function chatIn(workspace: Workspace, args: readonly string[], env: Readonly<Record<string, string>>): TerminalProcess {
  const chat = new TerminalProcess(workspace, args, { columns: 120, env });
  cleanups.push(() => killRunning(workspace.home));
  cleanups.push(() => chat.child.kill('SIGKILL'));
  return chat;
}

/** A chat without a manifest about a folder with a file. */
async function chatting(...replies: readonly string[]): Promise<{ minute: FirstMinute; chat: TerminalProcess }> {
  const minute = new FirstMinute({ ceiling: 'sealed' });
  cleanups.push(async () => await minute.dispose());
  minute.write({ 'cart.txt': 'two apples\n', '.env': 'TOKEN=x\n' });
  await minute.plays(...replies.map((reply) => says(reply)));
  const chat = chatIn(minute.workspace, ['chat'], chatEnvironment(minute));
  await chat.shows(/^>$/);
  return { minute, chat };
}

async function done(chat: TerminalProcess, count: number): Promise<void> {
  const ends = (): number => chat.terminal.rows.filter((row) => /^- (?:done|canceled)/.test(row)).length;
  await expect.poll(ends, { timeout: 60_000 }).toBe(count);
}

interface Said {
  readonly role: string;
  readonly content: string;
}

function said({ model }: FirstMinute): readonly Said[] {
  const asked = model?.requests.at(-1)?.json as { messages: readonly Said[] } | undefined;
  return (asked?.messages ?? [])
    .filter(({ role }) => role !== 'system')
    .map(({ role, content }) => ({ role, content }));
}

type Answer = { readonly status: number; readonly result?: { id: string }; readonly error?: unknown };

async function ask(url: string, params: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const response = await fetch(`http://${url}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'svc-events': '1', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/command', params }),
  });
  return { status: response.status, ...((await response.json()) as object) };
}

describe.skipIf(!hasPseudoTerminals())('a line with ! in a chat (skipped without python3)', () => {
  it('runs a command held as the capsule is, shows all of it, and asks no model', async () => {
    const { minute, chat } = await chatting('One.');
    const line = "!cat cart.txt; cat .env; awk 'BEGIN { for (i = 1; i < 21; i++) print i }'; echo x > new || true";
    chat.type(`${line}\r`);
    await done(chat, 1);
    const rows = chat.terminal.rows;
    expect(rows).toContain(`> ${line}`);
    expect(rows.filter((row) => row.startsWith('\u2551 ')).map((row) => row.slice(2))).toEqual(
      expect.arrayContaining(['two apples', ...Array.from({ length: 20 }, (_, index) => String(index + 1))]),
    );
    expect(rows.join('\n')).not.toContain('TOKEN=x');
    expect(readdirSync(minute.folder).toSorted()).toEqual(['.env', 'cart.txt']);
    expect(rows.find((row) => row.startsWith('- done'))).toMatch(/^- done in [\d.]+ m?s$/);
    expect(minute.model?.requests).toHaveLength(0);
    chat.type('hello\r');
    await done(chat, 2);
    expect(said(minute)).toEqual([{ role: 'user', content: 'hello' }]);
    expect(await stopped(chat)).toBe(0);
    const [session = ''] = minute.sessions;
    expect(await minute.svc(['run', '--replay', session])).toMatchObject({ code: 0 });
    const { stdout } = await minute.svc(['trace', 'show', session]);
    expect(stdout).toContain('> !cat cart.txt');
    expect(minute.ofSession('journal.jsonl')).toContain('"command":"shown"');
  }, 40_000);

  it('has the model read what !! gave, in this session and in one that goes on with it', async () => {
    const { minute, chat } = await chatting('One.', 'Two.');
    minute.write({ 'AGENTS.md': 'Be short.\n' });
    chat.type('!!cat cart.txt\r');
    await done(chat, 1);
    chat.type('how many?\r');
    await done(chat, 2);
    const [told, heard, asked] = said(minute);
    expect(told?.content).toMatch(
      /^\[I have run this command myself, and tell you what it gave\.\]\n\n<untrusted-content [^]*\nstdout:\ntwo apples\n/,
    );
    expect(heard).toEqual({ role: 'assistant', content: '[I have read it.]' });
    expect(asked).toEqual({ role: 'user', content: 'how many?' });
    chat.type('!!echo and pears\r');
    await done(chat, 3);
    chat.type('!echo unseen\r');
    await done(chat, 4);
    expect(await stopped(chat)).toBe(0);
    const [session = ''] = minute.sessions;
    expect(await minute.svc(['run', '--replay', session])).toMatchObject({ code: 0 });
    expect(await minute.svc(['-p', '--continue', 'and now?'])).toMatchObject({ code: 0, stdout: 'Two.\n' });
    const after = said(minute);
    expect(after.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
    ]);
    expect(after[4]?.content).toMatch(/^\[I have run this command myself[^]*\nstdout:\nand pears\n/);
    expect(JSON.stringify(after)).not.toContain('unseen');
  }, 40_000);

  it('ends with Ctrl+C, however long it would take', async () => {
    const { minute, chat } = await chatting('One.');
    chat.type('!echo begun; tail -f cart.txt\r');
    await chat.shows(/two apples$/);
    chat.type('\u0003');
    await chat.shows(/^- canceled in /);
    chat.type('!echo next\r');
    await chat.shows(/^\u2551 next$/);
    expect(await stopped(chat)).toBe(0);
    expect(minute.model?.requests).toHaveLength(0);
  }, 40_000);

  it('goes on for longer than a call of the model may', async () => {
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [sh, sleep] } }\nlifecycle: { shell_grace_secs: 1 }\n',
      script: script(scripted('One.')),
    });
    const chat = chatIn(workspace, ['chat', '--trust'], {});
    await chat.shows(/^>$/);
    chat.type('!sleep 2; echo late\r');
    await chat.shows(/^\u2551 late$/);
    await done(chat, 1);
    expect(await stopped(chat)).toBe(0);
  }, 40_000);

  it('writes no control character of a command to the terminal', async () => {
    const { chat } = await chatting();
    chat.type(String.raw`!printf 'a\033]0;owned\007\033[2Jb\r> forged\n'` + '\r');
    await chat.shows(/^\u2551 > forged$/);
    await done(chat, 1);
    expect(chat.terminal.rows).toContain('\u2551 ab');
    expect(await stopped(chat)).toBe(0);
  }, 40_000);

  it('lists itself, and says what an empty one lacks', async () => {
    const { chat } = await chatting();
    chat.type('/\r');
    await chat.shows(/^ {2}!<command> {6}run it in the shell of the capsule/);
    await chat.shows(/^ {2}!!<command> {5}the same, and the model reads what it gave/);
    chat.type('!\r');
    await chat.shows(/^run what: !<command>/);
    expect(await stopped(chat)).toBe(0);
  }, 40_000);

  it('asks nobody for what the rules ask about, and is denied what they deny', async () => {
    const workspace = capsule({
      manifest: [
        'capabilities: { shell: { allow: [sh, echo] }, containment: scoped }',
        'approvals: { rules: [ask: { command: [echo, "**"] }, deny: { command: [echo, secret] }] }',
        '',
      ].join('\n'),
      script: script(scripted('One.')),
    });
    const chat = chatIn(workspace, ['chat', '--trust'], { SVC_CONTAINMENT_CEILING: 'sealed' });
    await chat.shows(/^>$/);
    chat.type('!echo open\r');
    await chat.shows(/^\u2551 open$/);
    chat.type('!echo secret\r');
    await chat.shows(/the rules of the operator deny this call \(approvals\.rules\[1\]\)/);
    await done(chat, 2);
    expect(chat.terminal.rows).not.toContain('\u2551 secret');
    expect(await stopped(chat)).toBe(0);
    const shown = await svc(workspace, ['trace', 'show']);
    expect(shown.stdout).toMatch(
      /\n> !echo secret\n\$ echo secret +refused\n.*the rules of the operator deny this call/,
    );
    const steps = await svc(workspace, ['trace', 'steps']);
    expect(steps.stdout).toMatch(/ sh +echo secret +refused/);
  }, 40_000);

  it('says that a capsule has no shell, or knows no person', async () => {
    const without = capsule({ script: script(scripted('One.')) });
    const chat = chatIn(without, ['chat', '--trust'], {});
    await chat.shows(/^>$/);
    chat.type('!ls\r');
    await chat.shows(/^error\[E-RUN-206\]: the command was not run: the capsule has no shell$/);
    await chat.shows(/^> !ls$/);
    chat.type('\u0003');
    expect(await stopped(chat)).toBe(0);
    const other = capsule({
      manifest: 'capabilities: { shell: { allow: [sh] } }\nlifecycle: { task_acceptance: queue, after_task: sleep }\n',
    });
    await startCapsule(other);
    const joined = chatIn(other, ['chat', runningIn(other.home)[0]?.session_id ?? ''], {});
    await joined.shows(/^>$/);
    joined.type('!ls\r');
    await joined.shows(/^error\[E-RUN-206\]: the command was not run: the capsule knows no person, as svc chat/);
  }, 40_000);
});

describe.skipIf(!hasPseudoTerminals())('tasks/command of a chat (skipped without python3)', () => {
  it('refuses everybody but the person, whatever they show', async () => {
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [sh] } }\ndoors: { serve: [a2a] }\n',
      script: script(scripted('One.'), scripted('Two.')),
    });
    const token = (await svc(workspace, ['token', 'add', 'phone', '--scope', 'read,send,answer,stop'])).stdout.trim();
    const chat = chatIn(workspace, ['chat', '--trust'], { SVC_LISTENER_TOKEN: 'the-token-of-the-listener' });
    await chat.shows(/^>$/);
    const [record] = runningIn(workspace.home) as unknown as readonly { address: string; session_id: string }[];
    const url = record?.address ?? '';
    const typed = { command: 'echo x > seen', told: true };
    const bearer = (secret: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${secret}` });
    const refused = { status: 403, error: 'person_missing' };
    expect(await ask(url, typed)).toMatchObject({ status: 401 });
    expect(await ask(url, typed, bearer(token))).toMatchObject(refused);
    expect(await ask(url, typed, bearer('the-token-of-the-listener'))).toMatchObject(refused);
    const peer = { 'x-svc-task-origin': 'peer', 'x-svc-task-trust': 'trusted' };
    expect(await ask(url, typed, { ...bearer('the-token-of-the-listener'), ...peer })).toMatchObject(refused);
    const [key = ''] = readdirSync(join(workspace.home, '.svc', 'running'))
      .filter((name) => name.endsWith('.key'))
      .map((name) => readFileSync(join(workspace.home, '.svc', 'running', name), 'utf8'));
    expect(await ask(url, { command: ' ', told: false }, bearer(key))).toMatchObject({ error: { code: -32602 } });
    expect(await ask(url, { command: 'ls' }, bearer(key))).toMatchObject({ error: { code: -32602 } });
    expect(await ask(url, { command: 'echo it is you', told: false }, bearer(key))).toMatchObject({ status: 200 });
    await chat.shows(/^\u2551 it is you$/);
    // The shell's own `!` is no second one of the chat.
    expect(await ask(url, { command: '! false && echo so it is', told: false }, bearer(key))).toMatchObject({
      status: 200,
    });
    await chat.shows(/^\u2551 so it is$/);
    // A mark on a message of any door is a word like any other.
    const sent = await fetch(`http://${url}/a2a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...bearer(token) },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: {
          message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: '!echo x > seen' }], command: 'told' },
        },
      }),
    });
    expect(sent.status).toBe(200);
    await chat.shows(/^\u2502 One\.$/);
    expect(chat.terminal.rows.filter((row) => row.startsWith('$ '))).toEqual([
      expect.stringContaining('$ echo it is you') as string,
      expect.stringContaining('$ ! false && echo so it is') as string,
    ]);
    expect(await stopped(chat)).toBe(0);
  }, 40_000);
});
