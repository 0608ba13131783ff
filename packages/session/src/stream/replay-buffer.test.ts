import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { TaskId } from '@svc/protocol/ids.ts';
import { ReplayBuffer, WrittenFrame } from './replay-buffer.ts';

function frame(id: bigint): WrittenFrame {
  return new WrittenFrame(id, { event: 'thinking', taskId: 'tsk_1' as TaskId, text: '' });
}

function filled(ids: readonly bigint[]): ReplayBuffer {
  const buffer = new ReplayBuffer();
  for (const id of ids) buffer.push(frame(id));
  return buffer;
}

function idsFrom(buffer: ReplayBuffer, lastEventId: bigint): bigint[] {
  return buffer.replayFrom(lastEventId).frames.map(({ id }) => id);
}

describe('the replay buffer', () => {
  it('writes nothing when it is empty [D1-REPLAY-07]', () => {
    expect(new ReplayBuffer().replayFrom(0n)).toEqual({ gap: null, frames: [] });
  });

  it('replays what has a greater id, in the order written [D1-REPLAY-09, D1-REPLAY-10]', () => {
    const buffer = filled([0n, 1n, 2n, 0n, 1n]);
    expect(idsFrom(buffer, 0n)).toEqual([1n, 2n, 1n]);
    expect(buffer.replayFrom(0n).gap).toBeNull();
    expect(idsFrom(buffer, 2n)).toEqual([]);
  });

  it('never includes frames with id 0 in a replay from 0 without a gap [D1-REPLAY-11]', () => {
    expect(idsFrom(filled([1n, 0n, 5n]), 0n)).toEqual([1n, 5n]);
  });

  it('warns of a gap on ids, not on eviction, and then replays everything [D1-REPLAY-08, D1-REPLAY-12]', () => {
    const buffer = filled([5n, 0n, 6n]);
    expect(buffer.replayFrom(3n)).toMatchObject({ gap: 5n });
    expect(idsFrom(buffer, 3n)).toEqual([5n, 0n, 6n]);
    expect(buffer.replayFrom(4n).gap).toBeNull();
  });

  it('keeps the 512 most recent [D1-REPLAY-01, D1-REPLAY-02, D1-LIMIT-01]', () => {
    const ids = Array.from({ length: 600 }, (_, index) => BigInt(index));
    expect(idsFrom(filled(ids), 0n)).toEqual(ids.slice(88));
    expect(filled(ids).replayFrom(0n).gap).toBe(88n);
  });

  it('compares with N + 1 without wrapping [D1-REPLAY-08, D1-REPLAY-09]', () => {
    const last = 18446744073709551615n;
    expect(filled([last]).replayFrom(last)).toEqual({ gap: null, frames: [] });
    expect(filled([0n, last]).replayFrom(last)).toEqual({ gap: null, frames: [] });
    expect(filled([last]).replayFrom(last - 1n)).toMatchObject({ gap: null, frames: [{ id: last }] });
    expect(filled([last]).replayFrom(last - 2n)).toMatchObject({ gap: last, frames: [{ id: last }] });
  });

  it('agrees with the rules of replay for any frames and any id', () => {
    const ids = fc.array(fc.bigInt({ min: 0n, max: 20n }), { maxLength: 700 });
    fc.assert(
      fc.property(ids, fc.bigInt({ min: 0n, max: 22n }), (written, lastEventId) => {
        const kept = written.slice(-512);
        const gap = kept.length > 0 && kept[0]! > lastEventId + 1n;
        const expected = gap ? kept : kept.filter((id) => id > lastEventId);
        const replay = filled(written).replayFrom(lastEventId);
        expect(replay.gap).toBe(gap ? kept[0] : null);
        expect(replay.frames.map(({ id }) => id)).toEqual(expected);
      }),
    );
  });
});
