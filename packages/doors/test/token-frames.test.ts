import { describe, expect, it } from 'vitest';

import type { NumberedFrame } from '@svc/protocol/frames.ts';
import { calls, says, type Turn } from '../../../test/support/fake-driver.ts';
import { fakeTool, passed } from '../../../test/support/session-fixture.ts';
import type { Scope } from '../src/callers/scopes.ts';
import { type A2aCapsule, type Json, useA2aCapsules } from './a2a-capsule.ts';
import { TokenHome } from './token-home.ts';

const open = useA2aCapsules();

/** Every kind of frame that belongs to a task; a new one needs a row here, and a turn that makes it. */
const kinds: Readonly<Record<NumberedFrame['event'], true>> = {
  status: true,
  thinking: true,
  text: true,
  artifact: true,
};

/** A task of three turns, which thinks, speaks, asks and is over. */
function lively(begun: Promise<void> = Promise.resolve()): readonly Turn[] {
  return [
    async (_request, call) => {
      await begun;
      call.onThinking('hm');
      call.onText('Let me ask.');
      return calls(['ask', {}]);
    },
    says('Done.'),
  ];
}

const ask = fakeTool('ask', async (_args, context) => {
  const asked = await context.requestInput('Which colour?');
  return passed(asked.kind);
});

const message = (text: string): Json => ({ message: { messageId: text, role: 'user', parts: [{ text }] } });
const rpc = (method: string, params: Json): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

/** Answers every question of the capsule as it comes. */
function answerAll({ fixture: { session } }: A2aCapsule): void {
  session.activity.subscribe((activity) => {
    if (activity.kind !== 'question') return;
    const { question } = activity;
    queueMicrotask(() => session.board.answer(question, { text: 'red', sender: null }));
  });
}

/** What a `message/stream` brings whose task waits behind one of another client, and comes after a third one: kinds of frames, by task. */
async function streamed(scopes: readonly Scope[] | 'operator', headers: Record<string, string>): Promise<Set<string>> {
  const home = new TokenHome();
  const ann = await home.add('ann', { scopes: ['read', 'send', 'answer', 'stop'] });
  const reader = scopes === 'operator' ? 'operator-token' : await home.add('reader', { scopes });
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const turns = [...lively(), ...lively(begun), ...lively()];
  const capsule = await open({ turns, tools: [ask], callers: home.callers() });
  answerAll(capsule);
  capsule.run();
  const names = new Map<unknown, string>();
  for (const name of ['before', 'beside']) {
    const sent = await capsule.post(rpc('message/send', message(name)), bearer(ann), '/');
    const { id } = ((await sent.json()) as Json)['result'];
    names.set(id, name);
    const isOver = ({ data }: { data: Json }): boolean =>
      data['id'] === id && data['final'] === true && 'status' in data;
    if (name === 'before') await capsule.fixture.frame(isOver);
  }
  await expect.poll(() => capsule.fixture.driver.requests.length).toBe(3);
  const answer = await capsule.post(rpc('message/stream', message('own')), { ...bearer(reader), ...headers }, '/');
  begin();
  const text = await answer.text();
  const frames = [...text.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(([, event, data = '']) => {
    const { id } = JSON.parse(data) as Json;
    return id === undefined ? `${event}` : `${names.get(id) ?? 'own'} ${event}`;
  });
  expect(new Set(capsule.fixture.frames.map(({ event }) => event))).toEqual(new Set(Object.keys(kinds)));
  return new Set(frames);
}

const of = (...tasks: readonly string[]): Set<string> =>
  new Set(tasks.flatMap((task) => Object.keys(kinds).map((kind) => `${task} ${kind}`)));

/** What may ask for a replay, or for more than the frames. */
const asked: readonly Record<string, string>[] = [
  {},
  { 'last-event-id': '0' },
  { 'last-event-id': '9223372036854775000' },
  { 'last-event-id': '0', 'svc-events': '1' },
];

describe('a message/stream', () => {
  it.each([[['send']], [['send', 'answer']], [['send', 'stop']], [['send', 'answer', 'stop']]] as const)(
    'has with a token of %j the frames of its own task alone, and no replay',
    async (scopes) => {
      for (const headers of asked)
        expect({ headers, frames: await streamed(scopes, headers) }).toEqual({ headers, frames: of('own') });
    },
  );

  it.each([[['send', 'read']], ['operator']] as const)(
    'has with a token of %j those of every task until the first is over, and the replay that it asks for',
    async (scopes) => {
      expect(await streamed(scopes, {})).toEqual(of('beside'));
      expect(await streamed(scopes, { 'last-event-id': '0' })).toEqual(of('before', 'beside'));
    },
  );
});
