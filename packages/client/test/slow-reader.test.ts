import { once } from 'node:events';

import { describe, expect, it } from 'vitest';

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import type { WatchEvent } from '@svc/client/watch-capsule.ts';
import { acknowledgement, closed, FakeCapsule, gap, status, taskObject, text, type Watcher } from './fake-capsule.ts';

const quick = { reconnectMs: 1, callMs: 10_000, idleMs: 10_000, maxReconnects: 3 };

/** What came: the id of each frame, and what else there was but the connections. */
function brief(event: WatchEvent): readonly string[] {
  if (event.kind === 'frame') return [`${event.id}`];
  return event.kind === 'connected' ? [] : [event.kind];
}

async function rest(events: AsyncIterable<WatchEvent>): Promise<readonly string[]> {
  const seen: string[] = [];
  for await (const event of events) seen.push(...brief(event));
  return seen;
}

/** Frames with these ids, each of so many characters. */
function frames(from: number, to: number, length: number): string {
  const each = (_: unknown, index: number): string => text(BigInt(from + index), 'x'.repeat(length));
  return Array.from({ length: to - from + 1 }, each).join('');
}

function ids(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => `${from + index}`);
}

describe('a watch whose events are taken slowly', () => {
  it('takes all that the capsule writes meanwhile, so that it need not drop any', async () => {
    let [onWritten, write] = [(): void => {}, (): void => {}];
    const written = new Promise<void>((resolve) => (onWritten = resolve));
    const capsule = await FakeCapsule.open({
      watch: ({ response }) => {
        response.write(acknowledgement);
        write = () => void response.write(frames(1, 20, 1_000_000) + closed, onWritten);
      },
    });
    const events = new CapsuleClient({ url: capsule.url, limits: quick }).watch();
    expect((await events.next()).value).toMatchObject({ kind: 'connected' });
    write();
    await written;
    expect(await rest(events)).toEqual([...ids(1, 20), 'closed']);
    expect(capsule.watchers).toHaveLength(1);
  });

  /** Writes this over its first connection and nothing more, and something else over the others. */
  async function left(first: string, others: string): Promise<readonly [WatchEvents, Watcher]> {
    const capsule = await FakeCapsule.open({
      watch: (watcher, index) => watcher.write(acknowledgement + (index === 0 ? first : others)),
    });
    const events = new CapsuleClient({ url: capsule.url, limits: { ...quick, maxAhead: 20_000 } }).watch();
    await events.next();
    return [events, capsule.watchers[0]!];
  }
  type WatchEvents = AsyncGenerator<WatchEvent, void>;

  it('lets go of the connection where it would hold too much, and goes on with another one', async () => {
    const [events, { response }] = await left(frames(1, 200, 500), frames(1, 250, 500) + closed);
    if (!response.closed) await once(response, 'close');
    expect(await rest(events)).toEqual([...ids(1, 250), 'closed']);
  });

  it('reports a gap where the capsule no longer holds what came in between', async () => {
    const [events, { response }] = await left(frames(1, 200, 500), gap(190n) + frames(190, 210, 500) + closed);
    if (!response.closed) await once(response, 'close');
    const seen = await rest(events);
    const last = seen.indexOf('gap');
    expect(last).toBeGreaterThan(20);
    expect(seen).toEqual([...ids(1, last), 'gap', ...ids(190, 210), 'closed']);
  });

  it('holds one frame whatever its length', async () => {
    const [events] = await left(frames(1, 1, 100_000) + closed, closed);
    expect(await rest(events)).toEqual(['1', 'closed']);
  });

  it('ends with its signal at once, whatever is held', async () => {
    const leave = new AbortController();
    const capsule = await FakeCapsule.open({ watch: (watcher) => watcher.write(acknowledgement + frames(1, 50, 10)) });
    const events = new CapsuleClient({ url: capsule.url, limits: quick }).watch({ signal: leave.signal });
    await events.next();
    await events.next();
    leave.abort(new Error('left'));
    await expect(events.next()).rejects.toThrow('left');
  });

  it('closes when it is left', async () => {
    const capsule = await FakeCapsule.open({ watch: (watcher) => watcher.write(acknowledgement) });
    const events = new CapsuleClient({ url: capsule.url, limits: quick }).watch();
    await events.next();
    const { response } = capsule.watchers[0]!;
    const gone = once(response, 'close');
    await events.return();
    await gone;
    expect(response.closed).toBe(true);
  });
});

it('a run whose frames are taken slowly asks what became of the task once it has missed some', async () => {
  const capsule = await FakeCapsule.open({
    watch: (watcher) => watcher.write(acknowledgement),
    call: (method) => {
      if (method === 'tasks/get') return taskObject({ state: 'completed', response: 'all of it' });
      // The final frame is dropped, as a capsule does where nobody reads.
      capsule.watchers[0]?.write(status(0n, 'working') + frames(1, 200, 500));
      return taskObject({ state: 'submitted' });
    },
  });
  const limits = { ...quick, maxAhead: 20_000 };
  const run = new CapsuleClient({ url: capsule.url, limits }).run('do it');
  let next = await run.next();
  const { response } = capsule.watchers[0]!;
  if (!response.closed) await once(response, 'close');
  while (next.done !== true) next = await run.next();
  expect(next.value).toMatchObject({ state: 'completed', response: 'all of it' });
});
