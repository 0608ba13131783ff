import { describe, expect, it } from 'vitest';

import { hangs, says } from '../../../test/support/fake-driver.ts';
import { RawSocket } from '../../../test/support/raw-socket.ts';
import { useA2aCapsules, userMessage, type A2aCapsule, type Json } from './a2a-capsule.ts';

const open = useA2aCapsules();

async function json(answer: Promise<Response>): Promise<Json> {
  return (await (await answer).json()) as Json;
}

/** Status of HTTP, its name, and the reason that A2A has for it. */
async function refusal(answer: Promise<Response>): Promise<unknown[]> {
  const response = await answer;
  const { error } = (await response.json()) as Json;
  expect(error.code).toBe(response.status);
  return [error.code, error.status, error.details?.[0].reason ?? null];
}

/** A task that is still at work. */
async function started(capsule: A2aCapsule): Promise<Json> {
  const sent = { ...userMessage('x'), configuration: { returnImmediately: true } };
  return (await json(capsule.http('POST', '/message:send', sent)))['task'];
}

/** The events of a stream that has ended, as JSON. */
async function eventsOf(response: Response): Promise<Json[]> {
  const blocks = (await response.text()).split('\n\n').filter((block) => block !== '');
  return blocks.map((block) => {
    expect(block).toMatch(/^data: \{/);
    return JSON.parse(block.slice(6)) as Json;
  });
}

describe('a route of the HTTP+JSON binding', () => {
  it('sends a message, and answers in the type that A2A has for itself', async () => {
    const capsule = (await open({ turns: [says('Rain.')] })).run();
    const response = await capsule.http('POST', '/message:send', userMessage('Write.'));
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/a2a+json']);
    const { task } = (await response.json()) as Json;
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(await json(capsule.http('GET', `/tasks/${task.id}`))).toEqual(task);
    expect(await json(capsule.http('POST', `/tasks/${task.id}:cancel`, null))).toMatchObject({ error: { code: 400 } });
    expect(await json(capsule.http('GET', `/tasks/${task.id}?historyLength=0`))).not.toHaveProperty('history');
    expect(await capsule.result('GetTask', { id: task.id })).toEqual(task);
  });

  it('lists tasks by what the query says', async () => {
    const capsule = (await open({ turns: [says('1'), says('2')] })).run();
    for (const context of ['one', 'two']) {
      await capsule.http('POST', '/message:send', userMessage('x', { contextId: context }));
    }
    const first = await json(capsule.http('GET', '/tasks?pageSize=1&includeArtifacts=true&historyLength=1'));
    expect(first).toMatchObject({ pageSize: 1, totalSize: 2, tasks: [{ contextId: 'two' }] });
    expect(first['tasks'][0]).toMatchObject({ artifacts: [{}], history: [{}] });
    const next = new URLSearchParams({ pageToken: first['nextPageToken'] });
    const second = await json(capsule.http('GET', `/tasks?${next.toString()}`));
    expect(second['tasks'].map((task: Json) => task['contextId'])).toEqual(['one']);
    expect(await json(capsule.http('GET', '/tasks?contextId=two&status=TASK_STATE_COMPLETED'))).toMatchObject({
      totalSize: 1,
    });
    expect(await json(capsule.http('GET', '/tasks?includeArtifacts=false&unknown=1'))).toMatchObject({ totalSize: 2 });
  });

  it('streams events that are nothing but themselves', async () => {
    const capsule = (await open({ turns: [says('Rain.')] })).run();
    const response = await capsule.http('POST', '/message:stream', userMessage('Write.'));
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const events = await eventsOf(response);
    expect(events[0]).toMatchObject({ task: { status: { state: 'TASK_STATE_SUBMITTED' } } });
    expect(events.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } });
  });

  it.each(['POST', 'GET'])('subscribes with %s, to the events that the other binding has too', async (method) => {
    const capsule = (await open({ turns: [hangs] })).run();
    const { id } = await started(capsule);
    const other = await capsule.stream('SubscribeToTask', { id });
    const response = await capsule.http(method, `/tasks/${id}:subscribe`);
    const canceled = await json(capsule.http('POST', `/tasks/${id}:cancel`));
    expect(canceled['status'].state).toBe('TASK_STATE_CANCELED');
    const events = await eventsOf(response);
    expect(events.slice(1)).toEqual((await other.whole()).slice(1));
    expect(events.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_CANCELED' } } });
  });

  it('reads an id as it was percent-encoded, and takes the one of the path', async () => {
    const capsule = await open();
    const answer = await json(capsule.http('GET', '/tasks/a%3Acancel%2Fb'));
    expect(answer['error'].details[0].metadata).toEqual({ taskId: 'a:cancel/b' });
    const canceled = await json(capsule.http('POST', '/tasks/one:cancel', { id: 'two' }));
    expect(canceled['error'].details[0].metadata).toEqual({ taskId: 'one' });
  });

  it('shows the extended card to who shows the token', async () => {
    const capsule = await open({ token: 'open-sesame-4711' });
    const card = await json(capsule.http('GET', '/extendedAgentCard'));
    expect(card).toEqual(await capsule.result('GetExtendedAgentCard'));
    expect((await fetch(`${capsule.url}/a2a/extendedAgentCard`)).status).toBe(401);
  });

  it('answers HEAD as GET, except where a stream would answer', async () => {
    const capsule = await open();
    const socket = await RawSocket.open(capsule.port);
    const head = (path: string): string =>
      `HEAD /a2a${path} HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\nconnection: close\r\n\r\n`;
    socket.send(head('/tasks'));
    expect(await socket.untilClosed()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^{]*\r\n\r\n$/);
    const other = await RawSocket.open(capsule.port);
    other.send(head('/tasks/x:subscribe'));
    expect(await other.untilClosed()).toMatch(/^HTTP\/1\.1 405 [^{]*\r\nallow: POST, GET\r\n[^{]*$/);
  });
});

describe('a refusal of the HTTP+JSON binding', () => {
  it('has the status of HTTP that A2A gives it, and says more in its details', async () => {
    const capsule = (await open({ turns: [says('ok')] })).run();
    const { task } = await json(capsule.http('POST', '/message:send', userMessage('x')));
    const send = (message: Json): Promise<Response> => capsule.http('POST', '/message:send', message);
    const type = (await capsule.http('GET', '/tasks/tsk_0')).headers.get('content-type');
    expect(type).toBe('application/json');
    expect(await refusal(capsule.http('GET', '/tasks/tsk_0'))).toEqual([404, 'NOT_FOUND', 'TASK_NOT_FOUND']);
    const over = [400, 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'];
    expect(await refusal(send(userMessage('x', { taskId: task.id })))).toEqual(over);
    expect(await refusal(capsule.http('POST', `/tasks/${task.id}:subscribe`))).toEqual(over);
    expect(await refusal(capsule.http('GET', '/extendedAgentCard'))).toEqual(over);
    const canceled = capsule.http('POST', `/tasks/${task.id}:cancel`, {});
    expect(await refusal(canceled)).toEqual([400, 'FAILED_PRECONDITION', 'TASK_NOT_CANCELABLE']);
    const typed = userMessage('x', { parts: [{ text: 'x', mediaType: 'image/png' }] });
    expect(await refusal(send(typed))).toEqual([400, 'INVALID_ARGUMENT', 'CONTENT_TYPE_NOT_SUPPORTED']);
    const old = capsule.http('GET', '/tasks', undefined, { 'a2a-version': '0.3' });
    expect(await refusal(old)).toEqual([400, 'FAILED_PRECONDITION', 'VERSION_NOT_SUPPORTED']);
  });

  it.each([
    ['/message:send', '{', 400, 'INVALID_ARGUMENT'],
    ['/message:send', '[]', 400, 'INVALID_ARGUMENT'],
    ['/message:send', `[${'[],'.repeat(40_000)}[]]`, 400, 'INVALID_ARGUMENT'],
    ['/message:send', `${'['.repeat(600)}${']'.repeat(600)}`, 400, 'INVALID_ARGUMENT'],
    ['/message:send', `{"message":${'['.repeat(80)}${']'.repeat(80)}}`, 400, 'INVALID_ARGUMENT'],
    ['/message:send', '{}', 400, 'INVALID_ARGUMENT'],
    ['/message:stream', '{}', 400, 'INVALID_ARGUMENT'],
    ['/nothing', '{}', 404, 'NOT_FOUND'],
    ['/message:sent', '{}', 404, 'NOT_FOUND'],
    ['/tasks/', '{}', 404, 'NOT_FOUND'],
    ['/tasks/a/b', '{}', 404, 'NOT_FOUND'],
    ['/tasks/a/pushNotificationConfigs/b/c', '{}', 404, 'NOT_FOUND'],
    ['/some-tenant/message:send', '{}', 404, 'NOT_FOUND'],
    ['/tasks/%ff:cancel', '{}', 400, 'INVALID_ARGUMENT'],
    ['/tasks', '{}', 405, 'INVALID_ARGUMENT'],
  ])('answers a malformed call: POST %s with %s gives %i', async (path, body, status, name) => {
    const capsule = await open();
    const response = await capsule.http('POST', path, body);
    const answer = (await response.json()) as Json;
    expect([response.status, answer['error'].status]).toEqual([status, name]);
    expect(capsule.fixture.session.board.accepted).toBe(0);
  });

  it.each([
    ['GET', '/tasks?pageSize=0', 'pageSize'],
    ['GET', '/tasks?pageSize=ten', 'pageSize'],
    ['GET', '/tasks?pageSize=99999999999999999999', 'pageSize'],
    ['GET', '/tasks?includeArtifacts=yes', 'includeArtifacts'],
    ['GET', '/tasks/x?historyLength=-1', 'historyLength'],
    ['GET', `/tasks/${'x'.repeat(257)}`, 'id'],
    ['GET', '/tasks?status=WORKING', 'status'],
  ])('names the field that is wrong: %s %s', async (method, path, field) => {
    const capsule = await open();
    const { error } = await json(capsule.http(method, path));
    expect(error).toMatchObject({ code: 400, details: [{ fieldViolations: [{ field }] }] });
  });

  it('gives 415 for a body with another type than JSON, and leaves the body unread', async () => {
    const capsule = await open();
    const sent = capsule.http('POST', '/message:send', '{}', { 'content-type': 'text/plain' });
    expect(await refusal(sent)).toEqual([415, 'INVALID_ARGUMENT', 'CONTENT_TYPE_NOT_SUPPORTED']);
  });

  it('gives 429 where the client has no place for another stream', async () => {
    const capsule = (await open({ turns: [hangs] })).run();
    const { id } = await started(capsule);
    await Promise.all(Array.from({ length: 256 }, () => capsule.stream('SubscribeToTask', { id })));
    const response = await capsule.http('GET', `/tasks/${id}:subscribe`);
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '5']);
    expect(await response.json()).toMatchObject({ error: { code: 429, status: 'RESOURCE_EXHAUSTED' } });
  });

  it('names the methods that a path has', async () => {
    const capsule = await open();
    const allowed = async (method: string, path: string): Promise<unknown> => {
      const response = await capsule.http(method, path);
      return [response.status, response.headers.get('allow')];
    };
    expect(await allowed('GET', '/message:send')).toEqual([405, 'POST']);
    expect(await allowed('PUT', '/tasks/x')).toEqual([405, 'GET, HEAD']);
    expect(await allowed('PATCH', '/tasks/x/pushNotificationConfigs')).toEqual([405, 'POST, GET, HEAD']);
    expect(await allowed('POST', '/tasks/x/pushNotificationConfigs/y')).toEqual([405, 'GET, HEAD, DELETE']);
  });
});
