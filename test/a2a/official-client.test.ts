import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { type Message, type Part, SendMessageRequest, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk';
import { type Client, ClientFactory, ClientFactoryOptions } from '@a2a-js/sdk/client';
import { describe, expect, it, onTestFinished } from 'vitest';

import { runProgram } from './run-program.ts';
import { startObligingModel } from '../support/obliging-model.mjs';
import { asks, says, script } from '../support/scripted-turns.ts';
import { staysUp, type StreamedCapsule, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { makeWorkspace } from '../support/workspace.ts';

const capsules = useStreamedCapsules();
const asker = 'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n';
const manual = fileURLToPath(new URL('../../docs/doors.md', import.meta.url));

type Binding = 'JSONRPC' | 'HTTP+JSON';

/** Its model does what a word in the message asks for. */
async function obliged(binding: Binding): Promise<Client> {
  const model = await startObligingModel();
  onTestFinished(() => model.close());
  const inference = `inference: { model: m, endpoint: "${model.endpoint}", driver: { artifact: svc-driver-openai } }\n`;
  const manifest = `name: demo\nversion: 1.2.3\n${inference}${staysUp}`;
  return await clientOf(await capsules.from(makeWorkspace({ 'svc.yaml': manifest })), binding);
}

/** The official client, which knows only where the capsule is, and how to talk to it. */
async function clientOf(capsule: StreamedCapsule, binding: Binding): Promise<Client> {
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { preferredTransports: [binding] });
  const client = await new ClientFactory(options).createFromUrl(`http://${capsule.line.url}`);
  expect(client.transport.protocolName).toBe(binding);
  return client;
}

let sent = 0;
function request(text: string, more: Partial<Message> = {}, configuration?: object): SendMessageRequest {
  sent += 1;
  const message = { messageId: `c${sent}`, role: 'ROLE_USER', parts: [{ text }], ...more };
  return SendMessageRequest.fromJSON({ message, configuration });
}

async function sentTask(client: Client, asked: SendMessageRequest): Promise<Task> {
  const answer = await client.sendMessage(asked);
  if (!('status' in answer)) throw new Error('a message is no task');
  return answer;
}

const textOf = (parts: readonly Part[] | undefined): string =>
  (parts ?? []).map(({ content }) => (content?.$case === 'text' ? content.value : '?')).join('');

const responseOf = ({ artifacts }: Task): string =>
  textOf(artifacts.find(({ artifactId }) => artifactId === 'response')?.parts);

const stateOf = ({ status }: Pick<Task, 'status'>): string => TaskState[status?.state ?? 0] ?? '';

async function all(stream: AsyncGenerator<StreamResponse>): Promise<StreamResponse[]> {
  const events: StreamResponse[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

function inShort({ payload }: StreamResponse): string {
  switch (payload?.$case) {
    case 'task':
      return `task ${stateOf(payload.value).slice(11)}`;
    case 'statusUpdate':
      return `status ${stateOf(payload.value).slice(11)}`;
    case 'artifactUpdate':
      return `${payload.value.append ? '+' : payload.value.lastChunk ? '!' : '='}${textOf(payload.value.artifact?.parts)}`;
    default:
      return '?';
  }
}

/** What the client was refused with, in the name that its library has for it. */
async function refusal(asked: Promise<unknown>): Promise<string> {
  try {
    await asked;
    return 'accepted';
  } catch (error) {
    const { reason, name } = error as { reason?: string; name: string };
    return reason ?? name;
  }
}

describe.each<Binding>(['JSONRPC', 'HTTP+JSON'])('the official client of A2A over %s', (binding) => {
  it('sends, and asks for what came of it', async () => {
    const client = await clientOf(
      await capsules.script({ manifest: staysUp, script: script(says('Rain falls.'), says('Again.')) }),
      binding,
    );
    const task = await sentTask(client, request('Write.', { contextId: 'of mine' }));
    expect([stateOf(task), responseOf(task), task.contextId]).toEqual([
      'TASK_STATE_COMPLETED',
      'Rain falls.',
      'of mine',
    ]);
    const asked = await client.getTask({ id: task.id, tenant: '' });
    expect(asked).toEqual(task);
    expect(asked.history.map(({ parts }) => textOf(parts))).toEqual(['Write.']);
    const quick = await sentTask(client, request('Again.', {}, { returnImmediately: true }));
    expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(stateOf(quick));
  });

  it('follows a stream from the task to its last status', async () => {
    const chunks =
      '- chunks: ["Rain ", "falls."]\n  content: [{ type: text, text: Rain falls. }]\n  stop_reason: end_turn\n';
    const client = await clientOf(await capsules.script({ manifest: staysUp, script: chunks }), binding);
    const events = (await all(client.sendMessageStream(request('Write.')))).map(inShort);
    expect(events.slice(0, 2)).toEqual(['task SUBMITTED', 'status WORKING']);
    expect(events.slice(-2)).toEqual(['!Rain falls.', 'status COMPLETED']);
    const [first = '', ...more] = events.slice(2, -2);
    expect([first.slice(0, 1), [first, ...more].map((chunk) => chunk.slice(1)).join('')]).toEqual(['=', 'Rain falls.']);
    expect(more.every((chunk) => chunk.startsWith('+'))).toBe(true);
  });

  it('answers the question of a task, which two others follow to the same end', async () => {
    const capsule = await capsules.script({
      manifest: asker + staysUp,
      script: script(asks('Which colour?'), says('Blue it is.')),
    });
    const client = await clientOf(capsule, binding);
    const asked = await sentTask(client, request('Paint.'));
    expect([stateOf(asked), textOf(asked.status?.message?.parts)]).toEqual([
      'TASK_STATE_INPUT_REQUIRED',
      'Which colour?',
    ]);
    const followed = [1, 2].map(() => client.resubscribeTask({ id: asked.id, tenant: '' }));
    const firsts = await Promise.all(followed.map(async (stream) => (await stream.next()).value as StreamResponse));
    expect(firsts.map(inShort)).toEqual(['task INPUT_REQUIRED', 'task INPUT_REQUIRED']);
    const answered = await sentTask(client, request('blue', { taskId: asked.id, contextId: asked.contextId }));
    expect([answered.id, stateOf(answered), responseOf(answered)]).toEqual([
      asked.id,
      'TASK_STATE_COMPLETED',
      'Blue it is.',
    ]);
    const [one, other] = await Promise.all(followed.map(all));
    expect(other).toEqual(one);
    expect(one?.map(inShort).at(-1)).toBe('status COMPLETED');
  });

  it('cancels once, and hears of every mistake by its name', async () => {
    const client = await obliged(binding);
    const ended = await sentTask(client, request('One.'));
    expect(await refusal(client.sendMessage(request('more', { taskId: ended.id })))).toBe('UNSUPPORTED_OPERATION');
    expect(await refusal(client.sendMessage(request('x', { taskId: ended.id, contextId: 'other' })))).not.toBe(
      'accepted',
    );
    expect(await refusal(all(client.resubscribeTask({ id: ended.id, tenant: '' })))).toBe('UNSUPPORTED_OPERATION');
    expect(await refusal(client.getTask({ id: 'tsk_0', tenant: '' }))).toBe('TASK_NOT_FOUND');
    const slow = await sentTask(client, request('slow', {}, { returnImmediately: true }));
    expect(await refusal(client.sendMessage(request('more', { taskId: slow.id })))).toBe('UNSUPPORTED_OPERATION');
    const canceled = await client.cancelTask({ id: slow.id, tenant: '', metadata: {} });
    expect(stateOf(canceled)).toBe('TASK_STATE_CANCELED');
    expect(await refusal(client.cancelTask({ id: slow.id, tenant: '', metadata: {} }))).toBe('TASK_NOT_CANCELABLE');
    const image = request('', { parts: [{ url: 'https://example.com/a.png', mediaType: 'image/png' }] as never });
    expect(await refusal(client.sendMessage(image))).toBe('CONTENT_TYPE_NOT_SUPPORTED');
    const push = request('x', {}, { taskPushNotificationConfig: { url: 'https://example.com/hook' } });
    expect(await refusal(client.sendMessage(push))).toBe('PUSH_NOTIFICATION_NOT_SUPPORTED');
  });

  it('lists pages, and reads why a task failed', async () => {
    const client = await obliged(binding);
    const ids: string[] = [];
    for (const text of ['one', 'two', 'three']) ids.unshift((await sentTask(client, request(text))).id);
    const failed = await sentTask(client, request('fail'));
    expect(stateOf(failed)).toBe('TASK_STATE_FAILED');
    expect(textOf(failed.status?.message?.parts)).toContain('the model is on holiday');
    const page = { tenant: '', contextId: '', status: 0, pageSize: 2, pageToken: '' };
    const first = await client.listTasks({ ...page, includeArtifacts: false } as never);
    expect([first.totalSize, first.tasks.map(({ id }) => id)]).toEqual([4, [failed.id, ids[0]]]);
    const second = await client.listTasks({ ...page, pageToken: first.nextPageToken, includeArtifacts: true } as never);
    expect(second.tasks.map(({ id }) => id)).toEqual(ids.slice(1));
    expect(second.tasks.map(responseOf)).toEqual(['echo: two', 'echo: one']);
    expect(second.nextPageToken).toBe('');
  });
});

describe('the official client of A2A', () => {
  it('has the form of the program that docs/doors.md shows', async () => {
    const [, program = ''] = /```js\n([^]*?)```/.exec(readFileSync(manual, 'utf8')) ?? [];
    const capsule = await capsules.script({ manifest: staysUp, script: script(says('Rain falls.')) });
    const { stdout } = await runProgram(program, `http://${capsule.line.url}`);
    expect(stdout).toBe('TASK_STATE_WORKING\nRain falls.\nTASK_STATE_COMPLETED\n');
  });
});
