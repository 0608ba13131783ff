import { describe, expect, it } from 'vitest';

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import { JsonRpcFault } from '@svc/protocol/json-rpc.ts';
import { encodeLiveEvent } from '@svc/protocol/live-events.ts';
import { acknowledgement, closed, FakeCapsule, snapshot, status, taskId, taskObject } from './fake-capsule.ts';

const quick = { reconnectMs: 1, callMs: 2000, idleMs: 2000, maxReconnects: 3 };
const started = encodeLiveEvent({ event: 'task_started', taskId, attempt: 1 });

/** What a watch gives, in short. */
async function watched(url: string, events?: boolean): Promise<string[]> {
  const seen: string[] = [];
  for await (const event of new CapsuleClient({ url, limits: quick }).watch(events === undefined ? {} : { events })) {
    seen.push(event.kind === 'event' ? event.event.event : event.kind === 'frame' ? event.frame.event : event.kind);
  }
  return seen;
}

describe('a watch with events', () => {
  it('gives them in their place, and a snapshot for each connection', async () => {
    const capsule = await FakeCapsule.open({
      hasEvents: true,
      watch: (watcher, index) => {
        watcher.write(acknowledgement + snapshot(null) + status(1n, 'working'));
        if (index === 0) {
          watcher.write(started);
          watcher.response.end();
        } else watcher.write(closed);
      },
    });
    const first = ['connected', 'snapshot', 'status', 'task_started'];
    expect(await watched(capsule.url, true)).toEqual([...first, 'connected', 'snapshot', 'closed']);
    expect(capsule.watchers.map(({ eventsHeader }) => eventsHeader)).toEqual(['1', '1']);
  });

  it('asks for none by itself, and passes over those that come', async () => {
    const capsule = await FakeCapsule.open({
      watch: (watcher) => watcher.write(acknowledgement + snapshot(null) + started + status(1n, 'working') + closed),
    });
    expect(await watched(capsule.url)).toEqual(['connected', 'status', 'closed']);
    expect(capsule.watchers.map(({ eventsHeader }) => eventsHeader)).toEqual([undefined]);
  });
});

describe('a snapshot', () => {
  it('comes from the beginning of a stream that replays nothing', async () => {
    const question = { taskId: 'tsk_1', waitId: 'q1', prompt: 'Which?' };
    const capsule = await FakeCapsule.open({
      hasEvents: true,
      watch: (watcher) => watcher.write(acknowledgement + snapshot(question)),
    });
    const read = await new CapsuleClient({ url: capsule.url, limits: quick }).snapshot();
    expect(read?.tasks).toEqual([
      { taskId: 'tsk_1', contextId: 'ctx_1', state: 'input-required', origin: 'message', text: 'Paint.', question },
    ]);
    expect(read?.methods).toEqual(['tasks/answer']);
    expect(capsule.watchers.map(({ lastEventId }) => lastEventId)).toEqual(['18446744073709551615']);
  });

  it('comes at once as null from a capsule without live events', async () => {
    const capsule = await FakeCapsule.open({ watch: (watcher) => watcher.write(acknowledgement) });
    expect(await new CapsuleClient({ url: capsule.url, limits: quick }).snapshot()).toBeNull();
  });

  it('gives a bad answer when the stream ends before it', async () => {
    const capsule = await FakeCapsule.open({
      hasEvents: true,
      watch: (watcher) => void watcher.response.end(acknowledgement),
    });
    const reading = new CapsuleClient({ url: capsule.url, limits: quick }).snapshot();
    await expect(reading).rejects.toMatchObject({ code: 'bad-answer' });
  });
});

describe('an answer to one question', () => {
  it('names task and question, though no card lists the method', async () => {
    const capsule = await FakeCapsule.open({ call: () => taskObject({}) });
    const task = await new CapsuleClient({ url: capsule.url, limits: quick }).answer('tsk_1', 'q2', 'Blue.');
    expect(task).toMatchObject({ id: 'tsk_1', state: 'working' });
    expect(capsule.calls.map(({ method, params, headers }) => [method, params, headers['svc-events']])).toEqual([
      ['tasks/answer', { id: 'tsk_1', wait: 'q2', text: 'Blue.' }, '1'],
    ]);
  });

  it.each([
    ['question-not-open', { code: 'fault', fault: -32010 }],
    ['method-not-found', { code: 'not-served', fault: null }],
  ] as const)('gets %s as the error %j', async (kind, error) => {
    const capsule = await FakeCapsule.open({
      call: () => {
        throw new JsonRpcFault(kind);
      },
    });
    const asking = new CapsuleClient({ url: capsule.url, limits: quick }).answer('tsk_1', 'q2', 'Blue.');
    await expect(asking).rejects.toMatchObject(error);
  });
});
