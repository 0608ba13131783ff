import { describe, expect, it } from 'vitest';

import { calls, hangs, says } from '../../../test/support/fake-driver.ts';
import { fakeTool, passed } from '../../../test/support/session-fixture.ts';
import { reopenOnce, useA2aCapsules, userMessage, type Json } from './a2a-capsule.ts';

const open = useA2aCapsules();

const ask = fakeTool('ask', async (_args, context) => {
  const answer = await context.requestInput('Which colour?');
  return passed(answer.kind === 'answered' ? answer.text : 'nothing');
});

const responseOf = (task: Json): unknown =>
  task['artifacts']?.find((each: Json) => each['artifactId'] === 'response')?.parts;

describe('SendMessage', () => {
  it('answers with the task once it is over, its response an artifact and the message its history', async () => {
    const capsule = (await open({ turns: [says('rain falls')] })).run();
    const params = userMessage('Write.', { messageId: 'mine', contextId: 'ctx of mine' });
    const { task } = await capsule.result('SendMessage', params);
    expect(task).toEqual({
      id: expect.stringMatching(/^tsk_[0-9a-f]{32}$/),
      contextId: 'ctx of mine',
      status: { state: 'TASK_STATE_COMPLETED', timestamp: expect.stringMatching(/^\d{4}-.*T.*\.\d{3}Z$/) },
      artifacts: [{ artifactId: 'response', name: 'response', parts: [{ text: 'rain falls' }] }],
      history: [
        {
          messageId: 'mine',
          contextId: 'ctx of mine',
          taskId: task.id,
          role: 'ROLE_USER',
          parts: [{ text: 'Write.' }],
        },
      ],
    });
    expect(capsule.fixture.traced[0]).toMatchObject({
      event_type: 'task_received',
      origin: 'message',
      trust: 'untrusted',
      text: 'Write.',
    });
  });

  it('answers at once where that is asked for', async () => {
    const capsule = (await open({ turns: [hangs] })).run();
    const { task } = await capsule.result('SendMessage', {
      ...userMessage('x'),
      configuration: { returnImmediately: true },
    });
    expect(task.status.state).toBe('TASK_STATE_SUBMITTED');
  });

  it('waits for the hooks of the end: a task that they reopen has not ended', async () => {
    const capsule = (await open({ turns: [says('first'), says('second')], hooks: reopenOnce() })).run();
    const { task } = await capsule.result('SendMessage', userMessage('Write.'));
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(responseOf(task)).toEqual([{ text: 'second' }]);
    expect(task.history.map((each: Json) => each['parts'][0].text)).toEqual(['Write.', 'first']);
  });

  it('returns at a question, and the message that names the task answers it', async () => {
    const capsule = (await open({ turns: [calls(['ask', {}]), says('Blue it is.')], tools: [ask] })).run();
    const { task } = await capsule.result('SendMessage', userMessage('Choose.'));
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { role: 'ROLE_AGENT', parts: [{ text: 'Which colour?' }] },
    });
    const answered = await capsule.result(
      'SendMessage',
      userMessage('blue', { taskId: task.id, contextId: task.contextId }),
    );
    expect(answered['task']).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_COMPLETED' } });
    expect(answered['task'].history.map((each: Json) => each['parts'][0].text)).toEqual([
      'Choose.',
      'Which colour?',
      'blue',
    ]);
  });

  it('takes a message that names no task for a task of its own, whatever waits for an answer', async () => {
    const capsule = (await open({ turns: [calls(['ask', {}])], tools: [ask] })).run();
    const { task } = await capsule.result('SendMessage', userMessage('Choose.'));
    const other = await capsule.result('SendMessage', {
      ...userMessage('blue'),
      configuration: { returnImmediately: true },
    });
    expect(other['task'].id).not.toBe(task.id);
    expect(await capsule.result('GetTask', { id: task.id })).toMatchObject({
      status: { state: 'TASK_STATE_INPUT_REQUIRED' },
    });
  });

  it('says why a task failed', async () => {
    const capsule = (await open({ turns: [{ kind: 'failed', error: 'the model is gone' }] })).run();
    const { task } = await capsule.result('SendMessage', userMessage('x'));
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'the model is gone' }] },
    });
  });

  it('gives a task there is no room for back rejected, and forgets it', async () => {
    const capsule = (await open({ turns: [hangs], acceptance: { queueDepth: 0 } })).run();
    const { task } = await capsule.result('SendMessage', {
      ...userMessage('x'),
      configuration: { returnImmediately: true },
    });
    const refused = await capsule.result('SendMessage', userMessage('y'));
    expect(refused['task']).toMatchObject({
      status: { state: 'TASK_STATE_REJECTED', message: { parts: [{ text: 'task rejected: capsule is busy' }] } },
    });
    expect(await capsule.code('GetTask', { id: refused['task'].id })).toBe(-32001);
    expect(await capsule.code('GetTask', { id: task.id })).toBeUndefined();
  });

  it('starts nothing for the same message again, and a task for another of its id', async () => {
    const capsule = (await open({ turns: [says('once'), says('twice')] })).run();
    const params = userMessage('Write.', { messageId: 'one id' });
    const { task } = await capsule.result('SendMessage', params);
    const { task: again } = await capsule.result('SendMessage', params);
    expect(again).toEqual(task);
    expect(capsule.fixture.driver.requests).toHaveLength(1);
    const { task: other } = await capsule.result('SendMessage', userMessage('Other.', { messageId: 'one id' }));
    expect([other.id === task.id, responseOf(other)]).toEqual([false, [{ text: 'twice' }]]);
  });

  it('answers a question once, though the answer comes twice', async () => {
    const capsule = (await open({ turns: [calls(['ask', {}]), calls(['ask', {}]), says('done')], tools: [ask] })).run();
    const { task } = await capsule.result('SendMessage', userMessage('Choose.'));
    const params = userMessage('blue', { taskId: task.id, messageId: 'answer' });
    const { task: second } = await capsule.result('SendMessage', params);
    expect(second.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect((await capsule.result('SendMessage', params))['task'].status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    const { task: third } = await capsule.result(
      'SendMessage',
      userMessage('red', { taskId: task.id, messageId: 'answer' }),
    );
    expect([third.status.state, responseOf(third)]).toEqual(['TASK_STATE_COMPLETED', [{ text: 'done' }]]);
  });

  it.each([
    ['to a task that nobody knows', { taskId: 'tsk_0' }, -32001],
    ['to its task under another context', { contextId: 'ctx_other' }, -32602],
    ['to a task that has ended', {}, -32004],
  ])('refuses a message %s', async (_what, more, code) => {
    const capsule = (await open({ turns: [says('ok')] })).run();
    const { task } = await capsule.result('SendMessage', userMessage('x'));
    expect(await capsule.code('SendMessage', userMessage('more', { taskId: task.id, ...more }))).toBe(code);
  });

  it('refuses a message to a task that works', async () => {
    const capsule = (await open({ turns: [hangs] })).run();
    const { task } = await capsule.result('SendMessage', {
      ...userMessage('x'),
      configuration: { returnImmediately: true },
    });
    const answer = await capsule.answer('SendMessage', userMessage('more', { taskId: task.id }));
    expect(answer['error']).toMatchObject({
      code: -32004,
      data: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'UNSUPPORTED_OPERATION',
          domain: 'a2a-protocol.org',
        },
      ],
    });
  });

  it('joins parts to the text of the task: data is JSON', async () => {
    const capsule = (await open({ turns: [says('ok')] })).run();
    const parts = [{ text: 'one' }, { data: { a: [1] } }, { text: 'two', mediaType: 'text/markdown' }];
    const { task } = await capsule.result('SendMessage', userMessage('', { parts }));
    expect(capsule.fixture.traced[0]).toMatchObject({ text: 'one\n{"a":[1]}\ntwo' });
    expect(task.history[0].parts).toEqual(parts);
  });

  it.each([
    ['a link', { url: 'https://example.com/x' }, 'application/octet-stream'],
    ['text of a type that is none', { text: 'x', mediaType: 'application/x-unknown' }, 'application/x-unknown'],
    ['data of a type that is no JSON', { data: {}, mediaType: 'application/xml' }, 'application/xml'],
  ])('does not take %s', async (_what, part, mediaType) => {
    const capsule = await open();
    const answer = await capsule.answer('SendMessage', userMessage('', { parts: [part] }));
    expect(answer['error']).toMatchObject({
      code: -32005,
      data: [{ reason: 'CONTENT_TYPE_NOT_SUPPORTED', metadata: { mediaType } }],
    });
  });

  it.each([
    [['image/png'], -32005],
    [['image/png', 'text/*'], undefined],
    [[], undefined],
    [['*/*'], undefined],
  ])('answers who accepts %j with %s', async (acceptedOutputModes, code) => {
    const capsule = (await open({ turns: [says('ok')] })).run();
    expect(await capsule.code('SendMessage', { ...userMessage('x'), configuration: { acceptedOutputModes } })).toBe(
      code,
    );
  });

  it('keeps the span that a task belongs to, and reads no other header of the capsule’s own protocol', async () => {
    const capsule = (await open({ turns: [says('ok')] })).run();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await capsule.answer('SendMessage', userMessage('x'), {
      traceparent,
      'x-svc-task-origin': 'peer',
      'x-svc-task-trust': 'trusted',
    });
    const task = [...capsule.fixture.session.board.known()][0];
    expect(task?.sender).toMatchObject({ principal: 'local', tags: { traceparent } });
    expect(task).toMatchObject({ origin: 'message', trust: 'untrusted' });
  });
});

describe('GetTask and CancelTask', () => {
  it('give as much history as is asked for', async () => {
    const capsule = (await open({ turns: [calls(['ask', {}])], tools: [ask] })).run();
    const { task } = await capsule.result('SendMessage', userMessage('Choose.'));
    expect((await capsule.result('GetTask', { id: task.id }))['history']).toHaveLength(2);
    expect((await capsule.result('GetTask', { id: task.id, historyLength: 1 }))['history']).toMatchObject([
      { role: 'ROLE_AGENT' },
    ]);
    expect(await capsule.result('GetTask', { id: task.id, historyLength: 0 })).not.toHaveProperty('history');
  });

  it('cancel a task once', async () => {
    const capsule = (await open({ turns: [hangs] })).run();
    const { task } = await capsule.result('SendMessage', {
      ...userMessage('x'),
      configuration: { returnImmediately: true },
    });
    expect(await capsule.result('CancelTask', { id: task.id })).toMatchObject({
      id: task.id,
      status: { state: 'TASK_STATE_CANCELED', message: { parts: [{ text: 'task canceled' }] } },
    });
    const again = await capsule.answer('CancelTask', { id: task.id });
    expect(again['error']).toMatchObject({
      code: -32002,
      data: [{ reason: 'TASK_NOT_CANCELABLE', metadata: { taskId: task.id } }],
    });
    expect(await capsule.code('CancelTask', { id: 'tsk_0' })).toBe(-32001);
  });

  it('know tasks that came through the capsule’s own protocol before anybody asked here', async () => {
    const capsule = (await open({ turns: [says('ok'), { kind: 'failed', error: 'gone' }] })).run();
    const native = async (text: string): Promise<string> => {
      const params = { message: { messageId: 'n', role: 'user', parts: [{ text }] } };
      const sent = await capsule.post(
        JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params }),
        {},
        '/',
      );
      const { result } = (await sent.json()) as Json;
      return result.id;
    };
    const ids = [await native('one'), await native('two')];
    await capsule.fixture.frame((frame) => frame.data['id'] === ids[1] && frame.data['final'] === true);
    expect(await capsule.result('GetTask', { id: ids[0] })).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'ok' }] }],
    });
    expect(await capsule.result('GetTask', { id: ids[1] })).toMatchObject({
      status: { state: 'TASK_STATE_FAILED', message: { parts: [{ text: 'gone' }] } },
    });
  });
});

describe('an operation that this capsule does not have', () => {
  it('fails by the names that the protocol has for it', async () => {
    const capsule = await open();
    const url = 'https://example.com/hook';
    for (const method of ['Create', 'Get', 'Delete'].map((verb) => `${verb}TaskPushNotificationConfig`)) {
      expect(await capsule.code(method, { taskId: 't', id: 'c', url })).toBe(-32003);
    }
    expect(await capsule.code('ListTaskPushNotificationConfigs', { taskId: 't' })).toBe(-32003);
    const configuration = { taskPushNotificationConfig: { url } };
    expect(await capsule.code('SendMessage', { ...userMessage('x'), configuration })).toBe(-32003);
    expect(await capsule.code('GetExtendedAgentCard')).toBe(-32004);
    expect(await capsule.code('message/send', userMessage('x'))).toBe(-32601);
  });
});
