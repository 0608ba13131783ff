import { describe, expect, it } from 'vitest';

import { hangs, says } from '../../../test/support/fake-driver.ts';
import { RawSocket } from '../../../test/support/raw-socket.ts';
import { useA2aCapsules, userMessage, type Json } from './a2a-capsule.ts';

const open = useA2aCapsules();

describe('a malformed request', () => {
  const call = (more: Json): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: {}, ...more });
  const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);

  it.each([
    ['no JSON', '{', -32700, null],
    ['nothing', '', -32700, null],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22]), -32700, null],
    ['a list', '[]', -32600, null],
    ['a batch', `[${call({})}]`, -32600, null],
    ['no id', JSON.stringify({ jsonrpc: '2.0', method: 'GetTask' }), -32600, null],
    ['an id that is null', call({ id: null }), -32600, null],
    ['an id that no double holds', call({}).replace('"id":1', '"id":9007199254740993'), -32600, null],
    ['an id of 257 characters', call({ id: 'x'.repeat(257) }), -32600, null],
    ['another version of JSON-RPC', call({ jsonrpc: '1.0' }), -32600, 1],
    ['no method', call({ method: undefined }), -32600, 1],
    ['an unknown method', call({ method: 'Get' }), -32601, 1],
    ['the name of an inherited property', call({ method: 'toString' }), -32601, 1],
    ['a method in another case', call({ method: 'getTask' }), -32601, 1],
    ['lists within lists', call({ params: { id: nested(64) } }), -32600, 1],
  ])('gets its code: %s', async (_what, body, code, id) => {
    const capsule = await open();
    const response = await capsule.post(body);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id, error: { code } });
  });

  it('holds 64 levels and an id of 256 characters', async () => {
    const capsule = await open();
    const body = call({ id: 'x'.repeat(256), params: { id: 'tsk_0', deep: nested(63) } });
    expect(await (await capsule.post(body)).json()).toMatchObject({ id: 'x'.repeat(256), error: { code: -32001 } });
  });

  it.each([
    ['text/plain', 415],
    ['application/jsonp', 415],
    ['application/json; charset=utf-8', 200],
    ['application/a2a+json', 200],
  ])('has a type: %s is answered with %i', async (type, status) => {
    const capsule = await open();
    expect((await capsule.post(call({}), { 'content-type': type })).status).toBe(status);
  });

  it('speaks version 1.0, in the header or the query', async () => {
    const capsule = await open();
    const codeOf = async (headers: Record<string, string>, path = '/a2a'): Promise<number> => {
      const answer = (await (await capsule.post(call({ params: { id: 'tsk_0' } }), headers, path)).json()) as Json;
      return answer['error'].code;
    };
    expect(await codeOf({ 'a2a-version': '1.0' })).toBe(-32001);
    expect(await codeOf({ 'a2a-version': '1.0.1' })).toBe(-32001);
    for (const version of ['', '0.3', '1.1', '2.0', '1.0, 1.0', '10']) {
      expect(await codeOf({ 'a2a-version': version })).toBe(-32009);
    }
    const plain = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: call({ params: { id: 'tsk_0' } }),
    };
    const without = (await (await fetch(`${capsule.url}/a2a`, plain)).json()) as Json;
    expect(without['error']).toMatchObject({
      code: -32009,
      data: [{ reason: 'VERSION_NOT_SUPPORTED', metadata: { supported: '1.0' } }],
    });
    const inQuery = (await (await fetch(`${capsule.url}/a2a?A2A-Version=1.0`, plain)).json()) as Json;
    expect(inQuery['error'].code).toBe(-32001);
  });
});

describe('a field that is wrong', () => {
  it.each([
    ['GetTask', undefined, 'params'],
    ['GetTask', [], 'params'],
    ['GetTask', {}, 'id'],
    ['GetTask', { id: '' }, 'id'],
    ['GetTask', { id: 7 }, 'id'],
    ['GetTask', { id: 'x'.repeat(257) }, 'id'],
    ['GetTask', { id: 'x', historyLength: -1 }, 'historyLength'],
    ['GetTask', { id: 'x', historyLength: 1.5 }, 'historyLength'],
    ['GetTask', { id: 'x', historyLength: '1' }, 'historyLength'],
    ['CancelTask', {}, 'id'],
    ['SubscribeToTask', {}, 'id'],
    ['ListTasks', { pageSize: 0 }, 'pageSize'],
    ['ListTasks', { pageSize: 101 }, 'pageSize'],
    ['ListTasks', { pageToken: 'no token' }, 'pageToken'],
    ['ListTasks', { status: 'WORKING' }, 'status'],
    ['ListTasks', { statusTimestampAfter: 'yesterday' }, 'statusTimestampAfter'],
    ['ListTasks', { statusTimestampAfter: 1700000000 }, 'statusTimestampAfter'],
    ['ListTasks', { includeArtifacts: 'yes' }, 'includeArtifacts'],
    ['SendMessage', {}, 'message'],
    ['SendMessage', { message: 'x' }, 'message'],
    ['SendMessage', userMessage('x', { messageId: undefined }), 'message.messageId'],
    ['SendMessage', userMessage('x', { messageId: 'x'.repeat(257) }), 'message.messageId'],
    ['SendMessage', userMessage('x', { role: 'ROLE_AGENT' }), 'message.role'],
    ['SendMessage', userMessage('x', { role: 'user' }), 'message.role'],
    ['SendMessage', userMessage('x', { parts: undefined }), 'message.parts'],
    ['SendMessage', userMessage('x', { parts: [] }), 'message.parts'],
    ['SendMessage', userMessage('x', { parts: [{ text: 'a' }, {}] }), 'message.parts[1]'],
    ['SendMessage', userMessage('x', { parts: [{ text: 'a', url: 'b' }] }), 'message.parts[0]'],
    ['SendMessage', userMessage('x', { parts: [{ text: 7 }] }), 'message.parts[0].text'],
    ['SendMessage', userMessage('\ud800'), 'message.parts[0].text'],
    ['SendMessage', userMessage('x', { parts: [{ data: { a: ['\udc00'] } }] }), 'message.parts[0].data'],
    ['SendMessage', userMessage('x', { parts: [{ data: { '\udc00': 1 } }] }), 'message.parts[0].data'],
    ['SendMessage', userMessage('x', { contextId: 'a\nb' }), 'message.contextId'],
    ['SendMessage', userMessage('x', { contextId: 'x'.repeat(257) }), 'message.contextId'],
    ['SendMessage', userMessage('x', { taskId: {} }), 'message.taskId'],
    ['SendMessage', { ...userMessage('x'), configuration: 7 }, 'configuration'],
    [
      'SendMessage',
      { ...userMessage('x'), configuration: { returnImmediately: 1 } },
      'configuration.returnImmediately',
    ],
    ['SendMessage', { ...userMessage('x'), configuration: { historyLength: -1 } }, 'configuration.historyLength'],
    [
      'SendMessage',
      { ...userMessage('x'), configuration: { acceptedOutputModes: 'a' } },
      'configuration.acceptedOutputModes',
    ],
    ['SendStreamingMessage', {}, 'message'],
  ])('has its name in the error: %s with %j', async (method, params, field) => {
    const capsule = await open();
    const { error } = await capsule.answer(method, params);
    expect(error).toMatchObject({
      code: -32602,
      message: expect.stringContaining(`Invalid parameters: ${field} `),
      data: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field }] }],
    });
    expect(capsule.fixture.session.board.accepted).toBe(0);
  });

  it('passes where it is null, empty or unknown', async () => {
    const capsule = (await open({ turns: [says('ok')] })).run();
    const unset = { contextId: '', taskId: '', metadata: null, extensions: [], referenceTaskIds: [], unknown: 1 };
    const { task } = await capsule.result('SendMessage', { tenant: '', metadata: {}, ...userMessage('x', unset) });
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    const asked = { tenant: '', contextId: '', status: 'TASK_STATE_UNSPECIFIED', pageToken: '', pageSize: null };
    expect(await capsule.result('ListTasks', asked)).toMatchObject({ totalSize: 1, nextPageToken: '' });
  });
});

it('a field is also known by the name of the protocol’s own definition', async () => {
  const capsule = (await open({ turns: [says('ok')] })).run();
  const message = {
    message_id: 'm',
    role: 'ROLE_USER',
    context_id: 'mine',
    parts: [{ data: { snake_case: 1 }, media_type: 'application/json' }],
  };
  const { task } = await capsule.result('SendMessage', { message, configuration: { history_length: 0 } });
  expect([task.contextId, task.history]).toEqual(['mine', undefined]);
  expect(await capsule.result('GetTask', { id: task.id, history_length: 0 })).not.toHaveProperty('history');
  expect((await capsule.result('GetTask', { id: task.id }))['history'][0].parts).toEqual([{ data: { snake_case: 1 } }]);
});

describe('a client', () => {
  it('gets the scheme when it has to show a token', async () => {
    const capsule = (await open({ token: 'open-sesame-4711', turns: [says('ok')] })).run();
    const refused = await capsule.post('{}', { authorization: 'Bearer other' });
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(await refused.text()).not.toContain('other');
    const { task } = await capsule.result('SendMessage', userMessage('x'));
    expect(capsule.fixture.session.board.find(task.id)?.sender?.principal).toBe('operator');
    const card = (await (await fetch(`${capsule.url}/.well-known/agent-card.json`)).json()) as Json;
    expect(card).toMatchObject({
      capabilities: { extendedAgentCard: true },
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    });
  });

  it('must come by a name of loopback, and from no page of another origin', async () => {
    const capsule = await open();
    const status = async (lines: string): Promise<string> => {
      const socket = await RawSocket.open(capsule.port);
      socket.send(
        `POST /a2a HTTP/1.1\r\n${lines}content-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`,
      );
      const answer = await socket.untilClosed();
      expect(answer.toLowerCase()).not.toContain('access-control');
      return answer.slice(9, 12);
    };
    expect(await status('host: localhost\r\norigin: https://evil.example\r\n')).toBe('403');
    expect(await status('host: localhost\r\nsec-fetch-site: cross-site\r\n')).toBe('403');
    expect(await status('host: evil.example\r\n')).toBe('421');
    expect(await status('host: localhost\r\n')).toBe('200');
  });

  it('finds no door that is closed, and no other method', async () => {
    const closed = await open({ serve: [] });
    expect((await closed.post('{}')).status).toBe(404);
    const capsule = await open();
    const got = await fetch(`${capsule.url}/a2a`);
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await capsule.post('{}', {}, '/a2a/')).status).toBe(200);
    expect((await capsule.post('{}', {}, '/a2a/x')).status).toBe(404);
    expect((await capsule.post('{}', {}, '/A2A')).status).toBe(404);
  });

  it('sends 10 MiB at the most', async () => {
    const capsule = await open();
    expect((await capsule.post(Buffer.alloc(10 * 1024 * 1024 + 1, 0x20))).status).toBe(413);
  });

  it('holds no body while the task runs: seven of 10 MiB may wait for theirs', async () => {
    const capsule = (await open({ turns: [hangs] })).run();
    const text = 'x'.repeat(9 * 1024 * 1024);
    const waiting = Array.from({ length: 7 }, () => capsule.answer('SendMessage', userMessage(text)));
    while (capsule.fixture.session.board.live().length < 7) await new Promise((resolve) => setImmediate(resolve));
    const more = await capsule.answer('SendMessage', {
      ...userMessage('y'.repeat(1024 * 1024)),
      configuration: { returnImmediately: true },
    });
    expect(more['result']['task'].status.state).toBe('TASK_STATE_SUBMITTED');
    await capsule.fixture.session.shutDown();
    const states = (await Promise.all(waiting)).map((answer) => answer['result']['task'].status.state as string);
    expect(new Set(states)).toEqual(new Set(['TASK_STATE_CANCELED']));
  });
});
