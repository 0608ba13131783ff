import { expect, it } from 'vitest';

import type { DoorName } from '@svc/artifacts/manifest/door-names.ts';
import { calls, says } from '../../../test/support/fake-driver.ts';
import { postBytes, RawSocket } from '../../../test/support/raw-socket.ts';
import { fakeTool, passed } from '../../../test/support/session-fixture.ts';
import { connectMcp } from './mcp-client.ts';
import { useA2aCapsules, type A2aCapsule, type A2aOptions } from './a2a-capsule.ts';

const open = useA2aCapsules();

const ask = fakeTool('ask', async (_args, context) => {
  const answer = await context.requestInput('Which?');
  return passed(answer.kind === 'answered' ? answer.text : 'nothing');
});

/** Ids by the order in which they come: a door draws on the same chance as they do. */
function numbered(text: string, ids: string[]): string {
  return text.replaceAll(/(tsk|ctx)_[0-9a-f]{32}/g, (id, kind: string) => {
    if (!ids.includes(id)) ids.push(id);
    return `${kind}_${String(ids.indexOf(id)).padStart(32, '0')}`;
  });
}

/** What the capsule's own clients receive in one and the same conversation, byte for byte except for the dates. */
async function conversation(options: A2aOptions, meanwhile: (capsule: A2aCapsule) => Promise<void>): Promise<string[]> {
  const turns = [calls(['ask', {}]), says('Blue.'), says('Second.')];
  const capsule = (await open({ turns, tools: [ask], ...options })).run();
  await meanwhile(capsule);
  const received: string[] = [];
  const ids: string[] = [];
  const rpc = async (method: string, params: unknown): Promise<string> => {
    const socket = await RawSocket.open(capsule.port);
    socket.send(postBytes(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), ['Connection: close']));
    received.push(await socket.untilClosed());
    return received.at(-1) ?? '';
  };
  const message = (text: string): unknown => ({ message: { messageId: 'm', role: 'user', parts: [{ text }] } });
  const watch = await RawSocket.open(capsule.port);
  watch.send(postBytes(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'stream/watch', params: {} })));
  await watch.until('connection-ack');
  const sent = await rpc('message/send', message('Choose.'));
  const id = /tsk_[0-9a-f]{32}/.exec(sent)?.[0] ?? '';
  await watch.until('input-required');
  await meanwhile(capsule);
  await rpc('tasks/get', { id });
  await rpc('message/send', message('blue'));
  await watch.until('session ended');
  await meanwhile(capsule);
  await rpc('tasks/get', { id });
  await rpc('tasks/cancel', { id });
  await rpc('message/stream', message('Again.'));
  await rpc('SendMessage', message('x'));
  await rpc('ListTasks', {});
  await rpc('session/stop', {});
  received.push(watch.received);
  watch.close();
  return received.map((text) => numbered(text.replaceAll(/^date: .*\r\n/gim, ''), ids));
}

it('the capsule’s own protocol is the same to the byte with every door open and in use', async () => {
  const closed = await conversation({ serve: [] }, async () => {});
  const used = await conversation({ serve: ['a2a', 'mcp', 'openai'] }, async (capsule) => {
    const client = await connectMcp(capsule, { revision: '2025-11-25' });
    await client.listTools();
    await client.close();
    await fetch(`${capsule.url}/v1/models`);
    const { tasks } = await capsule.result('ListTasks', { includeArtifacts: true, historyLength: 10 });
    for (const task of tasks) {
      await fetch(`${capsule.url}/v1/responses/resp_${task.id}`);
      await capsule.result('GetTask', { id: task.id });
    }
  });
  expect(used).toEqual(closed);
  expect(closed.join('')).toContain('"state":"completed"');
  expect(closed.filter((text) => text.includes('-32601'))).toHaveLength(2);
});

it('the keys of the capsule’s own card come first, with the same bytes [D1-CARD-01, D1-CARD-03, D1-CARD-05]', async () => {
  const cardOf = async (serve: readonly DoorName[]): Promise<string> => {
    const capsule = await open({ serve });
    return await (await fetch(`${capsule.url}/.well-known/agent-card.json`)).text();
  };
  const own = await cardOf([]);
  const [before = '', after = ''] = own.slice(0, -1).split('"streaming":true');
  const more = await cardOf(['a2a']);
  expect(more.startsWith(`${before}"streaming":true,`)).toBe(true);
  const { capabilities, ...rest } = JSON.parse(more) as Record<string, unknown>;
  expect(more).toContain(`}${after.slice(1)},"description":`);
  expect(Object.keys(rest)).toEqual([
    ...Object.keys(JSON.parse(own) as object).filter((key) => key !== 'capabilities'),
    'description',
    'supportedInterfaces',
    'defaultInputModes',
    'defaultOutputModes',
    'skills',
  ]);
  expect(Object.keys(capabilities as object)).toEqual([
    'tools',
    'shell',
    'network',
    'streaming',
    'pushNotifications',
    'extendedAgentCard',
    'extensions',
  ]);
});
