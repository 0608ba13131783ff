import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { TaskId } from '@svc/protocol/ids.ts';
import { EventStream } from './event-stream.ts';
import { FrameStore, type StoredBytes } from './frame-store.ts';

let directory: string;
let store: FrameStore;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-frames-'));
  store = new FrameStore(directory);
});

afterEach(() => {
  store.close();
  rmSync(directory, { recursive: true });
});

function read(stored: StoredBytes): string | null {
  const pieces: Buffer[] = [];
  for (let position = 0; position < stored.length;) {
    const piece = stored.read(position, 1000);
    if (piece === null) return null;
    pieces.push(piece);
    position += piece.length;
  }
  return Buffer.concat(pieces).toString();
}

/** Files of the directory that this process holds open though they have no name. */
function heldFiles(): number {
  const open = readdirSync('/proc/self/fd').map((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      // The descriptor of the listing itself.
      return '';
    }
  });
  return open.filter((path) => path.startsWith(directory)).length;
}

describe('the store of long frames', () => {
  it('gives back what it was given, in pieces, until it is released, and leaves no name behind', () => {
    const [first, second] = ['a', 'b'].map((letter) => store.keep(Buffer.from(letter.repeat(5000))));
    expect([read(first!), read(second!)]).toEqual(['a'.repeat(5000), 'b'.repeat(5000)]);
    first!.release();
    first!.release();
    expect([read(first!), read(second!)]).toEqual([null, 'b'.repeat(5000)]);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('uses its place again once all of it has been released', () => {
    for (let round = 0; round < 20; round += 1) {
      const stored = store.keep(Buffer.alloc(1024 * 1024, 97 + round));
      expect(stored.read(0, 1)?.[0]).toBe(97 + round);
      stored.release();
    }
    expect(heldFiles()).toBeLessThanOrEqual(1);
  });

  it('gives a file back once nothing in it is kept any more', () => {
    const block = Buffer.alloc(64 * 1024 * 1024);
    const stored = Array.from({ length: 9 }, () => store.keep(block));
    expect(heldFiles()).toBe(3);
    for (const each of stored) each.release();
    expect(heldFiles()).toBe(1);
    store.close();
    expect(heldFiles()).toBe(0);
  });

  it('holds in memory what it cannot write, and says so beyond 16 MiB', () => {
    const nowhere = new FrameStore(join(directory, 'none'));
    const first = nowhere.keep(Buffer.alloc(10 * 1024 * 1024, 'a'));
    expect(first.read(5, 3)?.toString()).toBe('aaa');
    const next = Buffer.alloc(7 * 1024 * 1024, 'b');
    expect(() => nowhere.keep(next)).toThrow(expect.objectContaining({ code: 'E-RUN-058' }) as Error);
    first.release();
    expect(first.read(0, 1)).toBeNull();
    expect(nowhere.keep(next).read(0, 1)?.toString()).toBe('b');
  });
});

describe('an event stream with a store', () => {
  const artifact = (content: string): Parameters<EventStream['publish']>[1] => ({
    event: 'text',
    taskId: 'tsk_1' as TaskId,
    text: content,
    final: false,
  });

  it('holds none of its long frames in memory, and still replays the last 512 [D1-REPLAY-01]', () => {
    const stream = new EventStream(() => {}, { store, onLost: (lost) => expect(lost).toBeNull() });
    const content = 'x'.repeat(1024 * 1024);
    for (let id = 1n; id <= 600n; id += 1n) stream.publish(id, artifact(content));
    const { frames } = stream.replayFrom(88n);
    expect(frames).toHaveLength(512);
    expect(frames.every((frame) => frame.isStored && frame.text === '')).toBe(true);
    expect(frames.at(-1)?.storedLength).toBeGreaterThan(content.length);
    expect(frames[0]?.read(0, 8)?.toString()).toBe('id: 89\ne');
    // It writes 600 MiB, for which thirty seconds are too few on a busy machine.
  }, 120_000);

  it('reports to the session a frame that cannot be kept, and publishes nothing of it', () => {
    const lost: unknown[] = [];
    const broken = new FrameStore(join(directory, 'none'));
    const stream = new EventStream(() => {}, { store: broken, onLost: (why) => lost.push(why.code) });
    stream.publish(1n, artifact('x'.repeat(17 * 1024 * 1024)));
    stream.publish(2n, artifact('x'));
    expect(lost).toEqual(['E-RUN-058']);
    expect(stream.replayFrom(0n).frames.map(({ id }) => id)).toEqual([2n]);
  });
});
