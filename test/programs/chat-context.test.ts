import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { chatEnvironment, killRunning, stopped } from '../support/chat-terminal.ts';
import { FirstMinute } from '../support/first-minute.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';
import { calls, type FakeReply, says } from '@svc/testing/fake-reply.ts';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function chatting(
  replies: readonly (string | FakeReply)[],
  ...flags: readonly string[]
): Promise<{ readonly minute: FirstMinute; readonly chat: TerminalProcess }> {
  const minute = new FirstMinute({ ceiling: 'sealed' });
  cleanups.push(async () => await minute.dispose());
  await minute.plays(...replies.map((reply) => (typeof reply === 'string' ? says(reply) : reply)));
  const env = chatEnvironment(minute);
  const chat = new TerminalProcess(minute.workspace, ['chat', ...flags], { columns: 120, env });
  cleanups.push(() => killRunning(minute.home));
  cleanups.push(() => chat.child.kill('SIGKILL'));
  await chat.shows(/^>$/);
  return { minute, chat };
}

/** Resolves once so many tasks have ended. */
async function ended(chat: TerminalProcess, count: number): Promise<void> {
  const ends = (): number => chat.terminal.rows.filter((row) => /^(?:- done|\u2717 failed)/.test(row)).length;
  await expect.poll(ends, { timeout: 60_000 }).toBe(count);
}

interface Asked {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

function lastAsked({ model }: FirstMinute): readonly [string, ...(readonly string[])[]] {
  const asked = model?.requests.at(-1)?.json as Asked;
  const said = asked.messages.filter(({ role }) => role !== 'system');
  return [asked.model, ...said.map(({ role, content }) => [role, content])];
}

describe.skipIf(!hasPseudoTerminals())('a chat without a manifest (skipped without python3)', () => {
  it('goes on with another model, which reads what was said to the one before', async () => {
    const { minute, chat } = await chatting(['One.', 'Two.', 'Three.'], '--write');
    chat.type('first\r');
    await chat.shows(/^\u2502 One\.$/);
    await ended(chat, 1);
    chat.type('/model nonsense\r');
    await chat.shows(/error\[E-MAN-004\]/);
    chat.type('/model ollama/other\r');
    await chat.shows(/^- goes on with other$/);
    await chat.shows(/goes on with ….* as …/);
    await chat.shows(/other \(127\.0\.0\.1:\d+\) \u00B7 \.\/shop can be changed/);
    chat.type('second\r');
    await chat.shows(/^\u2502 Two\.$/);
    expect(lastAsked(minute)).toEqual(['other', ['user', 'first'], ['assistant', 'One.'], ['user', 'second']]);
    expect(chat.terminal.rows.filter((row) => row === '> first')).toHaveLength(1);
    await ended(chat, 2);
    chat.type('/model ollama/third\r');
    await chat.shows(/third \(127\.0\.0\.1:\d+\) \u00B7 \.\/shop can be changed/);
    chat.type('third\r');
    await chat.shows(/^\u2502 Three\.$/);
    expect(lastAsked(minute)).toHaveLength(6);
    expect(await stopped(chat)).toBe(0);
    expect(readdirSync(join(minute.home, '.svc', 'running')).filter((name) => name.endsWith('.json'))).toEqual([]);
  }, 120_000);

  it('says that the model of a session is gone which it goes on with, and goes on with another', async () => {
    const { minute, chat } = await chatting(['One.']);
    chat.type('first\r');
    await ended(chat, 1);
    expect(await stopped(chat)).toBe(0);
    const env = chatEnvironment(minute);
    await minute.model?.close();
    const again = new TerminalProcess(minute.workspace, ['--continue'], { columns: 120, env });
    cleanups.push(() => again.child.kill('SIGKILL'));
    await again.shows(/^>$/);
    again.type('second\r');
    await again.shows(/^error\[E-RUN-059\]: .*connection refused \(after 4 attempts\)/);
    await again.shows(/^hint: nothing listens there: start the server of the model/);
    await again.shows(/^\u2717 failed in /);
    again.type('/model ollama/other\r');
    await again.shows(/other \(127\.0\.0\.1:\d+\)/);
    expect(await stopped(again)).toBe(0);
  }, 120_000);

  it('sums up what is longer than the model takes, once, and sends the message again', async () => {
    const full = {
      kind: 'refuse',
      status: 400,
      message: "This model's maximum context length is 8192 tokens.",
    } as const;
    const { minute, chat } = await chatting(
      [{ ...says('One.'), usage: { input: 2900, output: 100 } }, full, says('Asked for first.'), says('Two.')],
      '--context',
      '6000',
    );
    chat.type('first\r');
    await chat.shows(/^- done in .* tokens \u00B7 50 % of the context$/);
    chat.type('second\r');
    await chat.shows(
      /^- the conversation is longer than the model takes: it is summed up, and the message sent again$/,
    );
    await chat.shows(/^- the message is sent again, and goes on from these notes;/);
    await chat.shows(/^\u2502 Two\.$/);
    const [, ...said] = lastAsked(minute);
    expect(said).toHaveLength(1);
    expect(said[0]?.[1]).toMatch(/^\[Notes of the conversation so far[^]*\n\nAsked for first\.\n\n[^]*\n\nsecond$/);
    expect(await stopped(chat)).toBe(0);
  }, 120_000);

  it('does not sum up a first message that is longer than the model takes', async () => {
    const full = {
      kind: 'refuse',
      status: 400,
      message: "This model's maximum context length is 8192 tokens.",
    } as const;
    const { minute, chat } = await chatting([full]);
    chat.type('first\r');
    await chat.shows(/^\u2717 failed in /);
    expect(await stopped(chat)).toBe(0);
    expect(minute.model?.requests).toHaveLength(1);
    expect(chat.terminal.rows.filter((row) => /summed up|notes/.test(row))).toEqual([]);
  }, 120_000);

  it('goes on from notes that the model wrote, once, and keeps the conversation where there are none', async () => {
    const { minute, chat } = await chatting(['One.', '', 'Asked for first.', 'Two.', 'Three.']);
    chat.type('first\r');
    await ended(chat, 1);
    chat.type('/compact\r');
    await chat.shows(/^! there are no notes: the conversation stays as it is$/);
    chat.type('/compact\r');
    await chat.shows(/^- the next message goes on from these notes/);
    chat.type('second\r');
    await ended(chat, 4);
    const [, ...said] = lastAsked(minute);
    expect(said).toHaveLength(1);
    expect(said[0]?.[1]).toMatch(/^\[Notes of the conversation so far[^]*\n\nAsked for first\.\n\n[^]*\n\nsecond$/);
    chat.type('third\r');
    await chat.shows(/^\u2502 Three\.$/);
    expect(
      lastAsked(minute)
        .slice(1)
        .map(([, text]) => text),
    ).toEqual([said[0]?.[1], 'Two.', 'third']);
    expect(await stopped(chat)).toBe(0);
  }, 120_000);

  it('shows what an edit of the real editor changed, with the numbers of its lines and two lines around', async () => {
    const edit = { command: 'patch', path: 'project/cart.txt', old_text: 'three\n', new_text: 'drei\ndrei\n' };
    const { minute, chat } = await chatting([calls('svc-tool-editor', edit, 'call_1'), 'Done it.'], '--write');
    minute.write({ 'cart.txt': 'one\ntwo\nthree\nfour\nfive\nsix\n' });
    chat.type('mend it\r');
    await ended(chat, 1);
    const at = chat.terminal.rows.findIndex((row) => row.startsWith('~ project/cart.txt'));
    expect(chat.terminal.rows[at]).toMatch(/ \+2 -1 /);
    expect(chat.terminal.rows.slice(at + 1, at + 8).map((row) => row.slice(2))).toEqual([
      '1   one',
      '2   two',
      '3 - three',
      '3 + drei',
      '4 + drei',
      '5   four',
      '6   five',
    ]);
    chat.type('/diff\r');
    await expect.poll(() => chat.terminal.rows.filter((row) => row.endsWith('3 - three')).length).toBe(2);
    expect(await stopped(chat)).toBe(0);
  }, 120_000);
});
