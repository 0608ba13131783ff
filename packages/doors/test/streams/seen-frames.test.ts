import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SeenFrames } from '@svc/client/seen-frames.ts';
import type { NumberedFrame } from '@svc/protocol/frames.ts';
import type { TaskId } from '@svc/protocol/ids.ts';
import { ReplayBuffer, WrittenFrame } from '@svc/session/stream/replay-buffer.ts';

/** What happens to a capsule and to the one who watches it. `many` is more than a capsule holds. */
type Happening = 'task' | 'reopened' | 'status' | 'text' | 'cut' | 'connect' | 'many';

/** A capsule that writes as the session does, and a client that comes and goes. */
class Watched {
  readonly given: number[] = [];
  gaps = 0;
  /** Numbers of the frames that the client could have had. */
  readonly reachable: number[] = [];
  readonly #buffer = new ReplayBuffer();
  readonly #numbers = new Map<WrittenFrame, number>();
  readonly #seen = new SeenFrames();
  #isConnected = true;
  #written = 0;
  #task = 1;
  #next = 0n;
  #chunk = 4611686018427387903n;

  happen(what: Happening): void {
    if (what === 'task') [this.#task, this.#next] = [this.#task + 1, 0n];
    else if (what === 'reopened') this.#next = 0n;
    else if (what === 'cut') this.#isConnected = false;
    else if (what === 'connect') this.#connect();
    else if (what === 'many') for (let count = 0; count < 600; count += 1) this.#write('text');
    else this.#write(what);
  }

  #write(event: 'status' | 'text'): void {
    const taskId = `tsk_${this.#task}` as TaskId;
    const frame: NumberedFrame =
      event === 'status'
        ? { event, taskId, state: 'working', message: '', final: false }
        : { event, taskId, text: '', final: false };
    // A chunk counter goes on from launch, and the task counter goes on from it.
    const id = event === 'text' ? (this.#chunk += 1n) : this.#next;
    this.#next = id + 1n;
    const written = new WrittenFrame(id, frame);
    this.#numbers.set(written, (this.#written += 1));
    this.#buffer.push(written);
    if (!this.#isConnected) return;
    this.reachable.push(this.#written);
    this.#give(written);
  }

  #connect(): void {
    if (this.#isConnected) return;
    this.#isConnected = true;
    this.#seen.reconnect();
    const { gap, frames } = this.#buffer.replayFrom(0n);
    if (gap !== null) this.#seen.expectWholeReplay();
    for (const frame of frames) {
      const number = this.#numbers.get(frame) ?? 0;
      if (!this.reachable.includes(number)) this.reachable.push(number);
      this.#give(frame);
    }
  }

  #give(written: WrittenFrame): void {
    const [, event = '', data = '', taskId = ''] = /event: (\w+)\ndata: (\{"id":"(\w+)".*)/.exec(written.text) ?? [];
    const place = this.#seen.take({ taskId, event, id: written.id, data });
    if (place === 'after-gap') this.gaps += 1;
    if (place !== 'repeat') this.given.push(this.#numbers.get(written) ?? 0);
  }
}

const happening = fc.oneof(
  { arbitrary: fc.constantFrom<Happening>('status', 'status', 'reopened'), weight: 3 },
  { arbitrary: fc.constantFrom<Happening>('task', 'text', 'cut', 'connect'), weight: 1 },
);

it('a client that returns gets each frame once, in order, and no gap, as long as the capsule still holds one of before', () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 120, size: 'max' }), (happenings) => {
      const watched = new Watched();
      for (const each of happenings) watched.happen(each);
      expect(watched.given).toEqual(watched.reachable);
      expect(watched.gaps).toBe(0);
    }),
    { numRuns: 2000 },
  );
});

it('a client that returns to none of its frames gets a notice and all that is held', () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 40, size: 'max' }), (happenings) => {
      const watched = new Watched();
      for (const each of ['text', ...happenings, 'connect', 'text', 'cut', 'many', 'connect'] as const) {
        watched.happen(each);
      }
      expect(watched.given).toEqual(watched.reachable);
      expect(watched.gaps).toBe(1);
    }),
    { numRuns: 50 },
  );
});
