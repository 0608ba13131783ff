import { expect, it } from 'vitest';

import { calls, hangs, says, type Turn } from '../../../test/support/fake-driver.ts';
import { fakeTool, passed } from '../../../test/support/session-fixture.ts';
import { type A2aCapsule, lineOf, useA2aCapsules, userMessage, type Json } from './a2a-capsule.ts';

const open = useA2aCapsules();

const ask = fakeTool('ask', async (_args, context) => passed((await context.requestInput('Which?')).kind));
const atOnce = { configuration: { returnImmediately: true } };

async function running(...turns: readonly Turn[]): Promise<A2aCapsule> {
  return (await open({ turns, tools: [ask] })).run();
}

async function sent(capsule: A2aCapsule, more: Json = {}, params: Json = {}): Promise<Json> {
  return (await capsule.result('SendMessage', { ...userMessage('x', more), ...params }))['task'] as Json;
}

const card = async (): Promise<Json> => {
  const capsule = await open();
  return (await (await fetch(`${capsule.url}/.well-known/agent-card.json`)).json()) as Json;
};

/** Requirements of the Technology Compatibility Kit by their ids, which `docs/conformance/a2a.md` says more of. */
const rows: Readonly<Record<string, () => Promise<void>>> = {
  'CARD-STRUCT-001 a card has the fields that are required, and no empty list': async () => {
    const {
      name,
      description,
      version,
      supportedInterfaces,
      capabilities,
      defaultInputModes,
      defaultOutputModes,
      skills,
    } = await card();
    for (const text of [name, description, version]) expect(text).not.toBe('');
    for (const list of [supportedInterfaces, defaultInputModes, defaultOutputModes, skills])
      expect(list).not.toEqual([]);
    expect(capabilities).toMatchObject({ streaming: true, pushNotifications: false });
    for (const skill of skills) expect(skill).toMatchObject({ id: expect.any(String), tags: [expect.any(String)] });
  },
  'CARD-CACHE-001 CARD-CACHE-002 a card says how long it may be kept, and which it is': async () => {
    const capsule = await open();
    const { headers } = await fetch(`${capsule.url}/.well-known/agent-card.json`);
    expect([headers.get('cache-control'), headers.get('etag')]).toEqual([
      'max-age=60',
      expect.stringMatching(/^".+"$/),
    ]);
  },
  'CORE-SEND-001 a message becomes a task': async () => {
    expect(await sent(await running(says('ok')))).toMatchObject({
      id: expect.any(String),
      status: { state: 'TASK_STATE_COMPLETED' },
    });
  },
  'CORE-SEND-002 CORE-MULTI-006 a message to a task that is over is refused': async () => {
    const capsule = await running(says('ok'));
    const { id } = await sent(capsule);
    expect(await capsule.code('SendMessage', userMessage('more', { taskId: id }))).toBe(-32004);
    expect(await capsule.code('SendStreamingMessage', userMessage('more', { taskId: id }))).toBe(-32004);
  },
  'CORE-SEND-003 a media type that is not taken is refused': async () => {
    const parts = [{ text: 'tck', mediaType: 'application/x-unsupported-tck-type' }];
    expect(await (await open()).code('SendMessage', userMessage('', { parts }))).toBe(-32005);
  },
  'CORE-EXECUTION-MODE-001 CORE-EXECUTION-MODE-002 a call waits unless it says otherwise': async () => {
    const capsule = await running(says('ok'), hangs);
    expect(await sent(capsule)).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } });
    expect((await sent(capsule, {}, atOnce))['status'].state).toMatch(/SUBMITTED|WORKING/);
  },
  'CORE-STREAM-001 CORE-STREAM-003 STREAM-ORDER-001 a stream begins with the task and ends with its last status':
    async () => {
      const capsule = await running(says('ok'));
      const stream = await capsule.stream('SendStreamingMessage', userMessage('x'));
      const lines = (await stream.whole()).map(lineOf);
      expect([lines[0], lines.at(-1)]).toEqual(['task SUBMITTED', 'status COMPLETED']);
    },
  'STREAM-ORDER-003 STREAM-ORDER-004 all streams have the same events, and one that closes disturbs no other':
    async () => {
      const capsule = await running(calls(['ask', {}]), says('ok'));
      const { id } = await sent(capsule);
      const [one, other, gone] = await Promise.all(
        [1, 2, 3].map((call) => capsule.stream('SubscribeToTask', { id }, call)),
      );
      await gone?.response.body?.cancel().catch(() => {});
      await sent(capsule, { taskId: id });
      expect(await other?.whole()).toEqual(await one?.whole());
      expect(one?.lines.at(-1)).toBe('status COMPLETED');
    },
  'STREAM-SUB-001 STREAM-SUB-002 a subscription begins with the task as it is and ends with it': async () => {
    const capsule = await running(calls(['ask', {}]), says('ok'));
    const { id } = await sent(capsule);
    const stream = await capsule.stream('SubscribeToTask', { id });
    expect(stream.lines).toEqual(['task INPUT_REQUIRED']);
    await capsule.result('CancelTask', { id });
    await stream.whole();
    expect(stream.lines.at(-1)).toBe('status CANCELED');
  },
  'STREAM-SUB-003 a subscription to a task that is over is refused, and to one that is not there': async () => {
    const capsule = await running(says('ok'));
    const { id } = await sent(capsule);
    expect(await capsule.code('SubscribeToTask', { id })).toBe(-32004);
    expect(await capsule.code('SubscribeToTask', { id: 'none' })).toBe(-32001);
  },
  'CORE-GET-001 CORE-GET-002 a task is given by its id, and one that is not there is refused': async () => {
    const capsule = await running(says('ok'));
    const task = await sent(capsule);
    expect(await capsule.result('GetTask', { id: task['id'] })).toEqual(task);
    expect(await capsule.code('GetTask', { id: 'none' })).toBe(-32001);
  },
  'CORE-HIST-001 to CORE-HIST-006 a history is as long as is asked for, the newest of it, without the key for none':
    async () => {
      const capsule = await running(calls(['ask', {}]), says('ok'));
      const asked = await sent(capsule, {}, { configuration: { historyLength: 1 } });
      expect(asked['history']).toMatchObject([{ parts: [{ text: 'Which?' }] }]);
      const task = await sent(capsule, { taskId: asked['id'] }, { configuration: { historyLength: 0 } });
      expect(task).not.toHaveProperty('history');
      const texts = async (historyLength?: number): Promise<unknown> =>
        ((await capsule.result('GetTask', { id: task['id'], historyLength }))['history'] as Json[]).map(
          (each) => each['role'],
        );
      expect(await texts()).toEqual(['ROLE_USER', 'ROLE_AGENT', 'ROLE_USER']);
      expect(await texts(2)).toEqual(['ROLE_AGENT', 'ROLE_USER']);
    },
  'CORE-LIST-001 to CORE-LIST-005 a list is sorted, has its token always and no artifacts unasked': async () => {
    const capsule = await running(says('1'), says('2'));
    const ids = [(await sent(capsule))['id'], (capsule.fixture.clock.advance(5), await sent(capsule))['id']];
    const list = await capsule.result('ListTasks', {});
    expect(list).toMatchObject({ pageSize: 50, totalSize: 2, nextPageToken: '' });
    expect(list['tasks'].map((task: Json) => task['id'])).toEqual(ids.toReversed());
    expect(JSON.stringify(list)).not.toContain('artifacts');
  },
  'CORE-CANCEL-001 CORE-CANCEL-002 CORE-CANCEL-003 a task is canceled once, and none that is not there': async () => {
    const capsule = await running(hangs);
    const { id } = await sent(capsule, {}, atOnce);
    expect(await capsule.result('CancelTask', { id })).toMatchObject({ status: { state: 'TASK_STATE_CANCELED' } });
    expect(await capsule.code('CancelTask', { id })).toBe(-32002);
    expect(await capsule.code('CancelTask', { id: 'none' })).toBe(-32001);
  },
  'CORE-MULTI-001 CORE-MULTI-002 CORE-MULTI-003 a context is made or kept, a task always made': async () => {
    const capsule = await running(says('1'), says('2'));
    const one = await sent(capsule);
    const other = await sent(capsule, { contextId: one['contextId'] });
    expect([other['contextId'], other['id'] === one['id']]).toEqual([one['contextId'], false]);
  },
  'CORE-MULTI-004 CORE-MULTI-005 a task is named by its own id and context alone': async () => {
    const capsule = await running(calls(['ask', {}]), says('ok'));
    const { id, contextId } = await sent(capsule);
    expect(await capsule.code('SendMessage', userMessage('y', { taskId: 'made up' }))).toBe(-32001);
    expect(await capsule.code('SendMessage', userMessage('y', { taskId: id, contextId: 'other' }))).toBe(-32602);
    expect(await sent(capsule, { taskId: id })).toMatchObject({ id, contextId });
  },
  'CORE-CAP-001 CORE-CAP-003 what the card does not declare is refused by its name': async () => {
    const capsule = await open();
    expect(await capsule.code('CreateTaskPushNotificationConfig', { taskId: 't', url: 'https://example.com' })).toBe(
      -32003,
    );
    expect(await capsule.code('GetExtendedAgentCard', {})).toBe(-32004);
  },
  'VER-SERVER-002 VER-SERVER-003 another version is refused, and none is 0.3': async () => {
    const capsule = await open();
    for (const version of ['99.0', '']) {
      const { error } = await capsule.answer('GetTask', { id: 'x' }, { 'a2a-version': version });
      expect(error).toMatchObject({ code: -32009, data: [{ reason: 'VERSION_NOT_SUPPORTED' }] });
    }
  },
  'JSONRPC-FMT-001 JSONRPC-ERR-001 to JSONRPC-ERR-003 an answer is JSON-RPC, and an error has its code, text and details':
    async () => {
      const capsule = await open();
      expect(await capsule.answer('GetTask', { id: 'none' })).toEqual({
        jsonrpc: '2.0',
        id: 7,
        error: {
          code: -32001,
          message: 'Task not found',
          data: [
            {
              '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
              reason: 'TASK_NOT_FOUND',
              domain: 'a2a-protocol.org',
              metadata: { taskId: 'none' },
            },
          ],
        },
      });
    },
  'JSONRPC-SSE-001 a stream is of event streams, each event a whole answer': async () => {
    const capsule = await running(says('ok'));
    const { response } = await capsule.stream('SendStreamingMessage', userMessage('x'));
    expect(response.headers.get('content-type')).toBe('text/event-stream');
  },
  'JSONRPC-SSE-002 a body of another type is refused by its name': async () => {
    const response = await (await open()).post('{}', { 'content-type': 'text/plain' });
    expect([response.status, await response.json()]).toMatchObject([
      415,
      { jsonrpc: '2.0', id: null, error: { code: -32005 } },
    ]);
  },
  'DM-SERIAL-001 to DM-SERIAL-004 names are in camel case, states by their names, times in UTC': async () => {
    const task = await sent(await running(says('ok')));
    expect(JSON.stringify(task)).not.toMatch(/"[a-z]+_[a-z_]+":/);
    expect(task['status'].timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  },
  'AUTH-SERVER-002 who shows no token is refused, and told how to show it': async () => {
    const capsule = await open({ token: 'open-sesame-4711' });
    const refused = await capsule.post('{}', { authorization: '' });
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  },
};

it.each(Object.entries(rows))('%s', async (_requirement, holds) => {
  await expect(holds()).resolves.toBeUndefined();
});
