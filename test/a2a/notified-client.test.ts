import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { SendMessageRequest, type StreamResponse, StreamResponse as Response, type Task, TaskState } from '@a2a-js/sdk';
import { type Client, ClientFactory, ClientFactoryOptions } from '@a2a-js/sdk/client';
import { describe, expect, it, onTestFinished } from 'vitest';

import { says, script } from '../support/scripted-turns.ts';
import { staysUp, type StreamedCapsule, useStreamedCapsules } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();
const pushes = 'doors: { push: { allow: [{ host: 127.0.0.1, private: true }] } }\n';

async function clientOf(capsule: StreamedCapsule, binding: string): Promise<Client> {
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { preferredTransports: [binding] });
  return await new ClientFactory(options).createFromUrl(`http://${capsule.line.url}`);
}

function request(parts: readonly object[], configuration?: object): SendMessageRequest {
  const messageId = `n${Math.random()}`;
  return SendMessageRequest.fromJSON({ message: { messageId, role: 'ROLE_USER', parts }, configuration });
}

interface Notified {
  readonly headers: IncomingHttpHeaders;
  readonly event: StreamResponse;
}

/** A webhook that takes everything, as the library of the protocol reads it. */
async function openWebhook(): Promise<{ url: string; until: (count: number) => Promise<readonly Notified[]> }> {
  const notified: Notified[] = [];
  const watchers: (() => void)[] = [];
  const server = createServer((asked, response) => {
    const chunks: Buffer[] = [];
    asked.on('data', (chunk: Buffer) => chunks.push(chunk));
    asked.on('end', () => {
      notified.push({ headers: asked.headers, event: Response.fromJSON(JSON.parse(Buffer.concat(chunks).toString())) });
      response.end();
      for (const watcher of watchers.splice(0)) watcher();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const until = async (count: number): Promise<readonly Notified[]> => {
    while (notified.length < count) await new Promise<void>((resolve) => watchers.push(resolve));
    return notified;
  };
  return { url: `http://127.0.0.1:${port}/hook`, until };
}

const stateOf = ({ payload }: StreamResponse): string => {
  const status = payload?.$case === 'task' || payload?.$case === 'statusUpdate' ? payload.value.status : undefined;
  return `${payload?.$case} ${TaskState[status?.state ?? 0]?.slice(11)}`;
};

describe.each(['JSONRPC', 'HTTP+JSON'])('the official client over %s', (binding) => {
  it('gets notices of its tasks, and keeps its configs', async () => {
    const hook = await openWebhook();
    const capsule = await capsules.script({
      manifest: pushes + staysUp,
      script: script(says('Rain falls.'), says('Again.')),
    });
    const client = await clientOf(capsule, binding);
    const authentication = { scheme: 'Bearer', credentials: 'for-the-hook' };
    const taskPushNotificationConfig = { url: hook.url, token: 'tok', authentication };
    const task = (await client.sendMessage(request([{ text: 'Write.' }], { taskPushNotificationConfig }))) as Task;
    const notified = await hook.until(2);
    expect(notified.map(({ event }) => stateOf(event))).toEqual(['statusUpdate WORKING', 'task COMPLETED']);
    expect(notified[1]?.event.payload?.value).toEqual(task);
    expect(notified[0]?.headers).toMatchObject({
      authorization: 'Bearer for-the-hook',
      'x-a2a-notification-token': 'tok',
    });
    const made = await client.createTaskPushNotificationConfig({
      tenant: '',
      taskId: task.id,
      id: 'mine',
      url: hook.url,
      token: '',
      authentication: undefined,
    });
    expect([made.id, made.url]).toEqual(['mine', hook.url]);
    const asked = { tenant: '', taskId: task.id, id: 'mine' };
    expect(await client.getTaskPushNotificationConfig(asked)).toEqual(made);
    const list = async (): Promise<readonly string[]> => {
      const page = { tenant: '', taskId: task.id, pageSize: 0, pageToken: '' };
      const { configs } = await client.listTaskPushNotificationConfig(page);
      return configs.map(({ id }) => id);
    };
    expect(await list()).toEqual([expect.stringMatching(/^cfg_/), 'mine']);
    await client.deleteTaskPushNotificationConfig(asked);
    expect(await list()).toEqual([expect.stringMatching(/^cfg_/)]);
  });

  it('sends a file, and fetches those that came of it', async () => {
    const capsule = await capsules.script({
      manifest: `exports: { files: { root: out } }\n${staysUp}`,
      script: script(says('Rain falls.')),
    });
    const client = await clientOf(capsule, binding);
    const raw = Buffer.from('a,b\n').toString('base64');
    const task = (await client.sendMessage(
      request([{ text: 'Read.' }, { raw, filename: 'sales.csv', mediaType: 'text/csv' }]),
    )) as Task;
    const { workdir } = capsule.line;
    const [name = ''] = readdirSync(join(workdir, 'in'));
    expect([name.slice(17), readFileSync(join(workdir, 'in', name), 'utf8')]).toEqual(['sales.csv', 'a,b\n']);
    const files = task.artifacts.find(({ artifactId }) => artifactId === 'files')?.parts ?? [];
    const [file] = files;
    expect([files.length, file?.filename, file?.content?.$case]).toEqual([1, 'result.txt', 'url']);
    const address = file?.content?.$case === 'url' ? file.content.value : '';
    expect(await (await fetch(address)).text()).toBe('Rain falls.');
  });
});

it('a capsule that ends with its task sends the last notification first', async () => {
  const hook = await openWebhook();
  const capsule = await capsules.script({
    manifest: `${pushes}lifecycle: { task_acceptance: queue, after_task: exit }\n`,
    script: script(says('Rain falls.')),
  });
  const client = await clientOf(capsule, 'JSONRPC');
  await client.sendMessage(
    request([{ text: 'Write.' }], { returnImmediately: true, taskPushNotificationConfig: { url: hook.url } }),
  );
  const { code } = await capsule.process.ended;
  expect(code).toBe(0);
  const notified = await hook.until(2);
  expect(notified.map(({ event }) => stateOf(event))).toEqual(['statusUpdate WORKING', 'task COMPLETED']);
});
