import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { CapsuleClient, ClientError } from '@svc/client/index.ts';
import { asks, says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { svc } from '../support/svc-process.ts';

const capsules = useStreamedCapsules();

const token = 'a-token-of-the-listener';
const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const asker = 'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n';
const journaled = 'trace: { capture: content }\n';

type Capsule = Awaited<ReturnType<typeof capsules.script>>;

const clientOf = ({ line }: Capsule): CapsuleClient => new CapsuleClient({ url: `http://${line.url}`, token });

async function started(manifest: string, ...turns: readonly object[]): Promise<Capsule> {
  return await capsules.script(
    { manifest: manifest + staysUp, script: script(...turns) },
    { SVC_LISTENER_TOKEN: token },
  );
}

/** Its tasks, in the order in which they came. */
const received = ({ trace }: Capsule): unknown[] =>
  trace.filter(({ event_type }) => event_type === 'task_received').map(({ text }) => text);

async function ended(client: CapsuleClient, id: string): Promise<string> {
  await expect.poll(async () => (await client.task(id)).state).toMatch(/^(completed|failed|canceled)$/);
  return (await client.task(id)).state;
}

async function asking(client: CapsuleClient, id: string): Promise<void> {
  await expect.poll(async () => (await client.task(id)).state).toBe('input-required');
}

function recordsOf({ workspace }: Capsule): Record<string, unknown>[] {
  const sessions = join(workspace.folder, '.svc', 'sessions');
  const journal = readFileSync(join(sessions, readdirSync(sessions)[0] ?? '', 'journal.jsonl'), 'utf8');
  return journal
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('a message that is sent again', () => {
  it('gets the task that it became, also once that has ended', async () => {
    const capsule = await started('', says('One.'), says('Two.'));
    const client = clientOf(capsule);
    const [first, second] = await Promise.all([
      client.send('Go.', { idempotencyKey: 'k1' }),
      client.send('Go.', { idempotencyKey: 'k1' }),
    ]);
    expect(second.id).toBe(first.id);
    expect(await ended(client, first.id)).toBe('completed');
    const third = await client.send('Go.', { idempotencyKey: 'k1' });
    expect(third).toMatchObject({ id: first.id, state: 'completed', response: 'One.' });
    const other = await client.send('Go.', { idempotencyKey: 'k2' });
    expect(other.id).not.toBe(first.id);
    expect(await ended(client, other.id)).toBe('completed');
    expect(received(capsule)).toEqual(['Go.', 'Go.']);
  });

  it.each([
    ['text', 'Stop.', undefined],
    ['context', 'Go.', 'ctx-of-mine'],
  ])('fails when its key came with another %s', async (_what, text, contextId) => {
    const capsule = await started('', says('One.'));
    const client = clientOf(capsule);
    await client.send('Go.', { idempotencyKey: 'k1' });
    const refused = await client.send(text, { idempotencyKey: 'k1', contextId }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ClientError);
    expect(String(refused)).toContain('Invalid params: Idempotency-Key came with another message before');
    expect(received(capsule)).toEqual(['Go.']);
  });

  it('answers a question once, and starts no task when the answer comes again', async () => {
    const capsule = await started(asker, asks('Which colour?'), says('Done.'));
    const client = clientOf(capsule);
    const stream = await client.send('Paint.');
    await asking(client, stream.id);
    const answers = [
      await client.send('blue', { idempotencyKey: 'a1' }),
      await client.send('blue', { idempotencyKey: 'a1' }),
    ];
    expect(await ended(client, stream.id)).toBe('completed');
    answers.push(await client.send('blue', { idempotencyKey: 'a1' }));
    expect(answers.map(({ id }) => id)).toEqual([stream.id, stream.id, stream.id]);
    expect(received(capsule)).toEqual(['Paint.']);
  });

  it('ends its stream at once when its task is over', async () => {
    const capsule = await started('', says('One.'));
    const client = clientOf(capsule);
    const { id } = await client.send('Go.', { idempotencyKey: 'k1' });
    await ended(client, id);
    const response = await fetch(`http://${capsule.line.url}/`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        'idempotency-key': 'k1',
        'last-event-id': '0',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'message/stream',
        params: { messageId: 'again', role: 'user', parts: [{ text: 'Go.' }] },
      }),
    });
    expect(await response.text()).toContain('"final":true');
    expect(received(capsule)).toEqual(['Go.']);
  });

  it.each(['a b', 'x'.repeat(256)])('fails with the key %j', async (key) => {
    const capsule = await started('');
    await expect(clientOf(capsule).send('Go.', { idempotencyKey: key })).rejects.toThrow(
      'Invalid params: Idempotency-Key must have 1 to 255 visible ASCII characters',
    );
    expect(received(capsule)).toEqual([]);
  });
});

describe('the journal', () => {
  it('says who sent a message, under which key and in which span, and which question was answered', async () => {
    const capsule = await started(asker + journaled, asks('Which colour?'), says('Done.'));
    const client = clientOf(capsule);
    const { id } = await client.send('Paint.', { idempotencyKey: 'k1', traceparent });
    await asking(client, id);
    await client.send('blue', { idempotencyKey: 'a1' });
    await ended(client, id);
    await capsule.terminate();
    const records = recordsOf(capsule);
    expect(records.find(({ k }) => k === 'task')).toMatchObject({
      id,
      key: 'k1',
      principal: 'operator',
      traceparent,
      by: 'message',
    });
    expect(records.find(({ what }) => what === 'answer')).toMatchObject({
      task: id,
      question: 'q1',
      key: 'a1',
      principal: 'operator',
    });
    const { code, stdout } = await svc(capsule.workspace, ['run', '--replay', '--json']);
    expect({ code, outcome: (JSON.parse(stdout) as { outcome: string }).outcome }).toEqual({
      code: 0,
      outcome: 'same',
    });
  });
});
