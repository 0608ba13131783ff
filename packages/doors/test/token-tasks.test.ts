import { describe, expect, it } from 'vitest';

import { hangs, says } from '../../../test/support/fake-driver.ts';
import { type A2aCapsule, type Json, useA2aCapsules, userMessage } from './a2a-capsule.ts';
import { TokenHome } from './token-home.ts';

const open = useA2aCapsules();

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

async function rpc(capsule: A2aCapsule, token: string, method: string, params: unknown = {}): Promise<Json> {
  const response = await capsule.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), bearer(token), '/');
  return (await response.json()) as Json;
}

describe('two clients with tokens of their own', () => {
  it('see their own tasks at a door, the other has none by any id, and the trace says whose each is', async () => {
    const home = new TokenHome();
    const [ann, bob] = [
      await home.add('ann', { scopes: ['read', 'send', 'answer', 'stop'] }),
      await home.add('bob', { scopes: ['read', 'send', 'answer', 'stop'] }),
    ];
    const capsule = await open({ turns: [says('one'), says('two')], callers: home.callers() });
    capsule.run();
    const sent = await capsule.answer('SendMessage', userMessage('of ann'), bearer(ann));
    const { id } = sent['result'].task as { id: string };
    await capsule.answer('SendMessage', userMessage('of bob'), bearer(bob));
    expect((await capsule.answer('GetTask', { id }, bearer(ann)))['result'].id).toBe(id);
    for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask']) {
      expect((await capsule.answer(method, { id }, bearer(bob)))['error'].code).toBe(-32001);
    }
    const answered = await capsule.answer('SendMessage', userMessage('x', { taskId: id }), bearer(bob));
    expect(answered['error'].code).toBe(-32001);
    const listed = async (token: string): Promise<unknown> =>
      (await capsule.answer('ListTasks', {}, bearer(token)))['result'].totalSize;
    expect([await listed(ann), await listed(bob), await listed('operator-token')]).toEqual([1, 1, 2]);
    expect(capsule.fixture.traced.filter((line) => line.event_type === 'task_received')).toMatchObject([
      { principal: 'token:ann', text: 'of ann', trust: 'untrusted' },
      { principal: 'token:bob', text: 'of bob' },
    ]);
    expect(home.shown).toEqual([ann, bob]);
  });

  it('cancel at POST / what is theirs, or everything with the scope stop, and the trace says who did', async () => {
    const home = new TokenHome();
    const ann = await home.add('ann', { scopes: ['read', 'send'] });
    const bob = await home.add('bob', { scopes: ['send'] });
    const guard = await home.add('guard', { scopes: ['stop'] });
    const capsule = await open({ turns: [hangs], callers: home.callers() });
    capsule.run();
    const message = (text: string): Json => ({ message: { messageId: text, role: 'user', parts: [{ text }] } });
    const { id: first } = (await rpc(capsule, ann, 'message/send', message('a')))['result'] as { id: string };
    const { id: second } = (await rpc(capsule, ann, 'message/send', message('b')))['result'] as { id: string };
    expect((await rpc(capsule, bob, 'tasks/cancel', { id: second }))['error'].code).toBe(-32001);
    expect((await rpc(capsule, ann, 'tasks/cancel', { id: second }))['result'].status).toEqual({
      state: 'canceled',
      message: 'task canceled before it started',
    });
    expect((await rpc(capsule, guard, 'tasks/cancel', { id: second }))['result'].status).toEqual({ state: 'canceled' });
    expect((await rpc(capsule, guard, 'session/stop'))['result'].canceled).toEqual([first]);
    const told = capsule.fixture.traced.filter(
      ({ event_type: type }) => type === 'task_canceled' || type === 'session_stop',
    );
    expect(told).toMatchObject([
      { event_type: 'task_canceled', task_id: second, principal: 'token:ann' },
      { event_type: 'session_stop', principal: 'token:guard' },
      { event_type: 'task_canceled', task_id: first, principal: 'token:guard' },
    ]);
  });

  it('have no trust of their own, whatever they claim', async () => {
    const home = new TokenHome();
    const ann = await home.add('ann');
    const capsule = await open({ turns: [], callers: home.callers() });
    const call = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'message/send',
      params: { message: { messageId: 'm', role: 'user', parts: [{ text: 'x' }] } },
    });
    const headers = { 'x-svc-task-origin': 'peer', 'x-svc-task-trust': 'trusted' };
    await capsule.post(call, { ...bearer(ann), ...headers }, '/');
    await capsule.post(call, { ...bearer('operator-token'), ...headers }, '/');
    const trust = capsule.fixture.traced.flatMap((line) => (line.event_type === 'task_received' ? [line.trust] : []));
    expect(trust).toEqual(['untrusted', 'trusted']);
  });

  it('have conversations of their own, whatever they say their context is', async () => {
    const home = new TokenHome();
    const [ann, bob] = [await home.add('ann'), await home.add('bob')];
    const turns = [says('one'), says('two'), says('three'), says('four')];
    const capsule = await open({ turns, threaded: true, callers: home.callers() });
    capsule.run();
    for (const token of [ann, bob, ann, 'operator-token']) {
      const answered = await capsule.answer('SendMessage', userMessage('x', { contextId: 'main' }), bearer(token));
      expect(answered['result'].task.contextId).toBe('main');
    }
    expect(capsule.fixture.driver.requests.map(({ messages }) => messages.length)).toEqual([1, 1, 3, 1]);
  });

  it('cannot report the end of a child', async () => {
    const home = new TokenHome();
    const ann = await home.add('ann');
    const capsule = await open({ turns: [], callers: home.callers() });
    const params = { message: { messageId: 'm', role: 'user', parts: [{ text: 'x' }] } };
    const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params });
    const headers = {
      'x-svc-task-origin': 'completion',
      'x-svc-completion-session': capsule.fixture.session.id,
      'x-svc-task-trust': 'trusted',
      'x-svc-delegation-id': 'dlg_1',
    };
    const answers = [];
    for (const token of [ann, 'operator-token']) {
      const response = await capsule.post(call, { ...bearer(token), ...headers }, '/');
      answers.push(((await response.json()) as Json)['error']);
    }
    expect(answers).toEqual([
      { code: -32004, message: 'The completion of a child does not come with a door token' },
      { code: -32004, message: 'The completion names no delegation that this session has open' },
    ]);
  });
});
