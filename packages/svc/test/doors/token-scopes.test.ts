import { describe, expect, it } from 'vitest';

import type { Scope } from '../../src/listener/scopes.ts';
import { type A2aCapsule, useA2aCapsules, userMessage } from './a2a-capsule.ts';
import { says } from '../../../../test/support/fake-driver.ts';
import { TokenHome } from './token-home.ts';

const open = useA2aCapsules();

const message = { messageId: 'm', role: 'user', parts: [{ text: 'x' }] };
const none = 'tsk_00000000000000000000000000000000';

/** Every method and route, with its params and the scopes of which one lets it pass; null for what needs none. */
const calls: readonly (readonly [name: string, path: string, params: unknown, passes: readonly Scope[] | null])[] = [
  ['message/send', '/', { message }, ['send']],
  ['message/stream', '/', { message }, ['send']],
  ['stream/watch', '/', {}, ['read']],
  ['tasks/get', '/', { id: none }, ['read']],
  ['tasks/cancel', '/', { id: none }, ['send', 'stop']],
  ['tasks/answer', '/', { id: none, wait: 'q1', text: 'x' }, ['answer']],
  ['session/stop', '/', {}, ['stop']],
  ['no/such', '/', {}, null],
  ['constructor', '/', {}, null],
  ['GET', '/resources/files', null, ['read']],
  ['GET', '/resources/files/a.txt', null, ['read']],
  ['GET', '/resources/peer/handle', null, ['read']],
  ['GET', '/.well-known/agent-card.json', null, null],
  ['SendMessage', '/a2a', userMessage('x', {}), ['send']],
  ['SendStreamingMessage', '/a2a', userMessage('x', {}), ['send']],
  ['GetTask', '/a2a', { id: none }, ['read']],
  ['ListTasks', '/a2a', {}, ['read']],
  ['SubscribeToTask', '/a2a', { id: none }, ['read']],
  ['CancelTask', '/a2a', { id: none }, ['send', 'stop']],
  ['GetExtendedAgentCard', '/a2a', {}, ['read']],
  ['CreateTaskPushNotificationConfig', '/a2a', {}, ['read']],
  ['GetTaskPushNotificationConfig', '/a2a', {}, ['read']],
  ['ListTaskPushNotificationConfigs', '/a2a', {}, ['read']],
  ['DeleteTaskPushNotificationConfig', '/a2a', {}, ['read']],
  ['NoSuch', '/a2a', {}, null],
  ['POST', '/a2a/message:send', {}, ['send']],
  ['POST', '/a2a/message:stream', {}, ['send']],
  ['GET', '/a2a/tasks', null, ['read']],
  ['GET', '/a2a/tasks/x', null, ['read']],
  ['POST', '/a2a/tasks/x:cancel', {}, ['send', 'stop']],
  ['GET', '/a2a/tasks/x:subscribe', null, ['read']],
  ['POST', '/a2a/tasks/x/pushNotificationConfigs', {}, ['read']],
  ['GET', '/a2a/tasks/x/pushNotificationConfigs', null, ['read']],
  ['GET', '/a2a/tasks/x/pushNotificationConfigs/y', null, ['read']],
  ['GET', '/a2a/extendedAgentCard', null, ['read']],
  ['GET', '/a2a/nothing', null, null],
];

async function statusOf(
  capsule: A2aCapsule,
  token: string,
  [method, path, params]: (typeof calls)[number],
): Promise<number> {
  const isGet = method === 'GET';
  const headers = {
    authorization: `Bearer ${token}`,
    'svc-events': '1',
    'content-type': 'application/json',
    'a2a-version': '1.0',
  };
  const abort = new AbortController();
  const response = await fetch(`${capsule.url}${path}`, {
    method: isGet ? 'GET' : 'POST',
    headers,
    signal: abort.signal,
    ...(isGet ? {} : { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: params ?? undefined }) }),
  });
  const text = response.headers.get('content-type') === 'text/event-stream' ? '' : await response.text();
  abort.abort();
  if (response.status === 403) {
    const error = path.startsWith('/a2a/') ? { code: 403, status: 'PERMISSION_DENIED' } : 'scope_missing';
    expect(JSON.parse(text)).toMatchObject({ error });
  }
  return response.status;
}

describe('a token with one scope', () => {
  it.each(['read', 'send', 'answer', 'stop'] as const)(
    'that is %s reaches what the table says, and hears 403 of the rest',
    async (scope) => {
      const home = new TokenHome();
      const token = await home.add('one', { scopes: [scope] });
      const capsule = await open({ turns: [says('ok'), says('ok'), says('ok'), says('ok')], callers: home.callers() });
      capsule.run();
      for (const call of calls) {
        const [name, path, , passes] = call;
        const isForbidden = (await statusOf(capsule, token, call)) === 403;
        expect({ name, path, isForbidden }).toEqual({
          name,
          path,
          isForbidden: passes !== null && !passes.includes(scope),
        });
      }
    },
  );

  it('is answered by a status that says which', async () => {
    const home = new TokenHome();
    const token = await home.add('one', { scopes: ['read'] });
    const capsule = await open({ callers: home.callers() });
    const response = await capsule.post(
      '{"jsonrpc":"2.0","id":1,"method":"session/stop"}',
      { authorization: `Bearer ${token}` },
      '/',
    );
    expect([response.status, await response.text()]).toEqual([
      403,
      '{"error":"scope_missing","message":"This token lacks the scope stop."}',
    ]);
  });

  it('answers no question with a message that names a task, whether there is one or not', async () => {
    const home = new TokenHome();
    const [sends, answers] = [
      await home.add('sends', { scopes: ['send'] }),
      await home.add('answers', { scopes: ['send', 'answer'] }),
    ];
    const capsule = await open({ callers: home.callers() });
    const call = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: userMessage('x', { taskId: none }),
    });
    expect((await capsule.post(call, { authorization: `Bearer ${sends}` })).status).toBe(403);
    const found = await capsule.post(call, { authorization: `Bearer ${answers}` });
    expect([found.status, await found.json()]).toMatchObject([200, { error: { code: -32001 } }]);
  });
});

describe('the listener token, and a client that has to show none', () => {
  it.each([
    ['operator-token', 'operator-token'],
    [null, 'anything'],
  ])('keep all that they had: %s', async (listenerToken, shown) => {
    const home = new TokenHome();
    const capsule = await open({
      turns: [says('ok'), says('ok'), says('ok'), says('ok')],
      callers: home.callers({ listenerToken }),
    });
    capsule.run();
    for (const call of calls) expect([call[0], await statusOf(capsule, shown, call)]).not.toContain(403);
  });
});
