import { setImmediate as turnOfTheEventLoop } from 'node:timers/promises';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { NumberedFrame } from '@svc/protocol/frames.ts';
import type { TaskId } from '@svc/protocol/ids.ts';
import { EventStream } from './event-stream.ts';
import type { FrameBatch, FrameSink } from './frame-batches.ts';

/** Keeps what it is given. */
class Sink implements FrameSink {
  readonly batches: FrameBatch[] = [];
  ends = 0;

  get ids(): (bigint | null)[] {
    return this.batches.flatMap(({ frames }) => frames.map(({ id }) => id));
  }

  deliver(batch: FrameBatch): void {
    this.batches.push(batch);
  }

  end(): void {
    this.ends += 1;
  }
}

const taskId = 'tsk_1' as TaskId;

function text(text = 'x'): NumberedFrame {
  return { event: 'text', taskId, text, final: false };
}

function subscribed(stream: EventStream): Sink {
  const sink = new Sink();
  stream.subscribe(sink);
  return sink;
}

describe('the event stream of a session', () => {
  it('hands the frames of one turn of the event loop to every reader in one piece', async () => {
    const stream = new EventStream();
    const sinks = [subscribed(stream), subscribed(stream)];
    stream.publish(1n, text('a'));
    stream.publish(2n, text('b'));
    expect(sinks.map(({ batches }) => batches.length)).toEqual([0, 0]);
    await turnOfTheEventLoop();
    stream.publish(3n, text('c'));
    await turnOfTheEventLoop();
    for (const { batches, ids } of sinks) {
      expect(ids).toEqual([1n, 2n, 3n]);
      expect(batches.map(({ bytes }) => bytes?.toString())).toEqual([
        'id: 1\nevent: text\ndata: {"id":"tsk_1","text":"a","final":false}\n\nid: 2\nevent: text\ndata: {"id":"tsk_1","text":"b","final":false}\n\n',
        'id: 3\nevent: text\ndata: {"id":"tsk_1","text":"c","final":false}\n\n',
      ]);
    }
    expect(sinks[0]?.batches[0]?.bytes).toBe(sinks[1]?.batches[0]?.bytes);
  });

  it('hands on no more frames at once than a queue of a reader holds', async () => {
    const stream = new EventStream();
    const sink = subscribed(stream);
    for (let id = 0n; id < 300n; id += 1n) stream.publish(id, text());
    await turnOfTheEventLoop();
    expect(sink.batches.map(({ frames }) => frames.length)).toEqual([128, 128, 44]);
    expect(sink.ids).toEqual(Array.from({ length: 300 }, (_, id) => BigInt(id)));
  });

  it('hands on a large frame alone and uncopied, in its place', async () => {
    const stream = new EventStream();
    const sink = subscribed(stream);
    const large = 'y'.repeat(100_000);
    for (const [index, each] of ['a', large, 'b', 'c'].entries()) stream.publish(BigInt(index), text(each));
    await turnOfTheEventLoop();
    expect(sink.batches.map(({ frames }) => frames.map(({ id }) => id))).toEqual([[0n], [1n], [2n, 3n]]);
    expect(sink.batches[1]?.bytes).toBe(stream.replayFrom(0n).frames[0]?.bytes);
  });

  it('marks the final status of a task, and nothing else, as final', async () => {
    const stream = new EventStream();
    const sink = subscribed(stream);
    stream.publish(0n, { event: 'status', taskId, state: 'working', message: 'm', final: false });
    stream.publish(1n, { event: 'text', taskId, text: '', final: true });
    stream.publish(2n, { event: 'status', taskId, state: 'canceled', message: 'm', final: true });
    await turnOfTheEventLoop();
    expect(sink.batches.flatMap(({ frames }) => frames.map(({ final }) => final))).toEqual([false, false, true]);
  });

  it('shows each frame as it is published, also without a reader', () => {
    const seen: [bigint, string][] = [];
    const stream = new EventStream((frame, id) => seen.push([id, frame.event]));
    stream.publish(5n, text());
    expect(seen).toEqual([[5n, 'text']]);
    expect(stream.replayFrom(4n).frames).toHaveLength(1);
  });

  it('gives a reader what is published after it came, and nothing from before [D1-STREAM-26]', async () => {
    const stream = new EventStream();
    const first = subscribed(stream);
    stream.publish(1n, text());
    const second = subscribed(stream);
    stream.publish(2n, text());
    await turnOfTheEventLoop();
    expect(first.ids).toEqual([1n, 2n]);
    expect(second.ids).toEqual([2n]);
  });

  it('gives a reader that has left nothing more, not even what was published before it left', async () => {
    const stream = new EventStream();
    const stays = subscribed(stream);
    const leaves = subscribed(stream);
    stream.publish(1n, text());
    stream.unsubscribe(leaves);
    await turnOfTheEventLoop();
    expect([stays.ids, leaves.ids]).toEqual([[1n], []]);
    stream.end();
    expect([stays.ends, leaves.ends]).toEqual([1, 0]);
  });

  it('sends what is queued before it ends its readers, once, and publishes nothing after', async () => {
    const stream = new EventStream();
    const sink = subscribed(stream);
    stream.publish(1n, text());
    expect(stream.isOver).toBe(false);
    stream.end();
    stream.end();
    stream.publish(2n, text());
    await turnOfTheEventLoop();
    expect([stream.isOver, sink.ids, sink.ends]).toEqual([true, [1n], 1]);
    expect(stream.replayFrom(0n).frames.map(({ id }) => id)).toEqual([1n]);
  });

  it('ends a reader that comes after its end', () => {
    const stream = new EventStream();
    stream.end();
    const sink = subscribed(stream);
    expect([sink.ends, sink.ids]).toEqual([1, []]);
  });

  it('gives a reader that replays and comes in one turn every frame once, whatever is published around it [D1-STREAM-25, D1-STREAM-26]', async () => {
    const runs = fc.array(fc.record({ published: fc.nat(300), comes: fc.boolean(), yields: fc.boolean() }), {
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(runs, async (steps) => {
        const stream = new EventStream();
        const readers: { readonly from: bigint; readonly replayed: readonly bigint[]; readonly sink: Sink }[] = [];
        let next = 1n;
        for (const { published, comes, yields } of steps) {
          for (let each = 0; each < published; each += 1) {
            stream.publish(next, text());
            next += 1n;
          }
          if (comes) {
            // The buffer holds the last 512: a replay that begins within them misses none.
            const from = next > 500n ? next - 500n : 0n;
            const replayed = stream.replayFrom(from).frames.map(({ id }) => id);
            readers.push({ from, replayed, sink: subscribed(stream) });
          }
          if (yields) await turnOfTheEventLoop();
        }
        await turnOfTheEventLoop();
        for (const { from, replayed, sink } of readers) {
          const all: bigint[] = [];
          for (let id = from + 1n; id < next; id += 1n) all.push(id);
          expect([...replayed, ...sink.ids]).toEqual(all);
        }
      }),
      { numRuns: 60 },
    );
  });
});
