/** Sends a page what a running capsule does right now, as a line of JSON whenever that changes. */

import type { OpenBody } from '@svc/kit/http/open-body.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { FrameReader } from '@svc/protocol/frame-reader.ts';
import type { EventRelay } from './event-relay.ts';
import { LiveState } from './live-state.ts';

/** Pause between two lines: nobody sees more. */
const betweenMs = 50;

/** As long as `EventRelay.pass` passes frames on. A page that is slow misses lines, and gets the newest. */
export async function tellNow(relay: EventRelay, body: OpenBody): Promise<void> {
  const state = new LiveState();
  const frames = new FrameReader();
  let timer: NodeJS.Timeout | null = null;
  let hasChanged = false;
  let isOver = false;
  const tell = async (): Promise<void> => {
    hasChanged = false;
    await body.put(`${JSON.stringify(state.now(systemClock.monotonicMs()))}\n`);
    timer = null;
    if (hasChanged && !isOver) soon();
  };
  const soon = (): void => {
    hasChanged = true;
    timer ??= setTimeout(() => void tell(), betweenMs);
  };
  try {
    await relay.pass({
      gone: body.gone,
      put: async (bytes) => {
        for (const frame of frames.read(typeof bytes === 'string' ? Buffer.from(bytes) : bytes))
          state.take(frame, systemClock.monotonicMs());
        soon();
        return await Promise.resolve(!body.gone.aborted);
      },
    });
  } finally {
    // A reader that was slow may have kept a line waiting until now: nothing is written behind the end.
    isOver = true;
    if (timer !== null) clearTimeout(timer);
  }
}
