import { describe, expect, it } from 'vitest';

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import type { ClientError } from '@svc/client/client-error.ts';
import { acknowledgement, FakeCapsule, status, taskId, taskObject, text } from './fake-capsule.ts';

const quick = { reconnectMs: 1, callMs: 2000, idleMs: 2000, maxReconnects: 3 };
const other = { code: 'another-capsule', message: expect.stringContaining('is ses_2, not ses_1') };

/** A client that expects the first session of those that a capsule's cards name one after the other, the last for ever. */
function expecting(capsule: FakeCapsule, more: object = {}): CapsuleClient {
  return new CapsuleClient({ url: capsule.url, limits: quick, expect: { sessionId: 'ses_1' }, ...more });
}

/** What the cards of a capsule say, one after the other; the last for ever. */
function cards(...sessions: string[]): (usual: object) => unknown {
  return (usual) => ({ ...usual, session_id: sessions.length > 1 ? sessions.shift() : sessions[0] });
}

describe('a capsule that is not the expected one', () => {
  it.each([true, false])('gets no request, with isGated %s', async (isGated) => {
    const asked: string[] = [];
    const capsule = await FakeCapsule.open({
      card: cards('ses_2'),
      other: ({ url = '' }, response) => response.end(`${asked.push(url)}`),
    });
    const client = expecting(capsule, { isGated });
    await expect(client.answer('tsk_1', 'q1', 'Blue.')).rejects.toMatchObject(other);
    await expect(client.send('a')).rejects.toMatchObject(other);
    await expect(client.snapshot()).rejects.toMatchObject(other);
    await expect(client.watch().next()).rejects.toMatchObject(other);
    await expect(client.files()).rejects.toMatchObject(other);
    await expect(client.file('a')).rejects.toMatchObject(other);
    expect([capsule.calls, asked]).toEqual([[], []]);
  });

  it('ends a watch that connects again', async () => {
    const capsule = await FakeCapsule.open({
      card: cards('ses_1', 'ses_2'),
      watch: (watcher) => {
        watcher.write(acknowledgement + text(1n, 'one'));
        setTimeout(() => watcher.cut(), 20);
      },
    });
    const seen: string[] = [];
    const watching = async (): Promise<void> => {
      for await (const event of expecting(capsule).watch()) seen.push(event.kind);
    };
    await expect(watching()).rejects.toMatchObject(other);
    expect(seen).toEqual(['connected', 'frame']);
    expect(capsule.watchers).toHaveLength(1);
  });

  it('fails the call after one that broke', async () => {
    const capsule = await FakeCapsule.open({ card: cards('ses_1', 'ses_2'), call: () => taskObject({}) });
    let breaks = 0;
    const client = expecting(capsule, {
      isGated: false,
      fetch: async (url: string, request: RequestInit) => {
        if (request.method === 'GET' || breaks > 0) return await fetch(url, request);
        breaks += 1;
        throw new TypeError('fetch failed');
      },
    });
    await expect(client.task(taskId)).rejects.toMatchObject({ code: 'unreachable' });
    await expect(client.task(taskId)).rejects.toMatchObject(other);
    expect(capsule.calls).toEqual([]);
  });

  it('leaves a run whose final frame has come with what that said', async () => {
    const capsule = await FakeCapsule.open({
      card: cards('ses_1', 'ses_2'),
      watch: (watcher) => watcher.write(acknowledgement),
      call: (method) => {
        const [watcher] = capsule.watchers;
        if (method === 'tasks/get') watcher?.cut();
        else watcher?.write(status(0n, 'working') + status(1n, 'completed'));
        return taskObject({ state: 'working' });
      },
    });
    const run = expecting(capsule).run('do it');
    let next = await run.next();
    while (next.done !== true) next = await run.next();
    expect(next.value).toMatchObject({ id: taskId, state: 'completed' });
  });
});

describe('a client without expectations', () => {
  it('reads the card before an answer only where that is not ruled out', async () => {
    const capsule = await FakeCapsule.open({ card: () => ({}), call: () => taskObject({}) });
    const gated = new CapsuleClient({ url: capsule.url, limits: quick });
    const bad: Partial<ClientError> = { code: 'bad-answer' };
    await expect(gated.answer('tsk_1', 'q1', 'Blue.')).rejects.toMatchObject(bad);
    const ungated = new CapsuleClient({ url: capsule.url, limits: quick, isGated: false });
    expect(await ungated.answer('tsk_1', 'q1', 'Blue.')).toMatchObject({ id: taskId });
  });
});
