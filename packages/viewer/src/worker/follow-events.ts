/** Follows the event stream of a running capsule, and tells what it does right now, at most twenty times a second. */

import { FrameReader } from '@svc/protocol/frame-reader.ts';
import type { LiveNow } from '../messages.ts';
import { now } from '../text/page-clock.ts';
import { ask, BrokenStream, headersOf, nextPiece, type Served, SourceFault } from './byte-sources.ts';
import { LiveState } from './live-state.ts';

const betweenMs = 50;
const mostFrame = 8 * 1024 * 1024;
const mostTries = 10_000;

/** Ends when the capsule has. A connection that breaks off is opened again, from where it was. */
export async function followEvents(place: Served, tell: (now: LiveNow) => void): Promise<void> {
  const state = new LiveState();
  let timer: ReturnType<typeof setTimeout> | null = null;
  const soon = (): void => {
    timer ??= setTimeout(() => {
      timer = null;
      tell(state.now);
    }, betweenMs);
  };
  for (let tries = 0; tries < mostTries && !state.hasClosed; tries += 1) {
    const isOver = await connect(place, state, soon);
    state.connected(false);
    soon();
    if (isOver) return;
    await new Promise((resolve) => setTimeout(resolve, Math.min(5000, 250 * 2 ** Math.min(tries, 5))));
  }
}

/** Whether there is nothing more to come. */
async function connect(place: Served, state: LiveState, soon: () => void): Promise<boolean> {
  const last = state.lastId === undefined ? {} : { 'last-event-id': state.lastId };
  try {
    const answer = await ask(`${place.base}events`, { headers: { ...headersOf(place), ...last } });
    if (answer.status === 410 || answer.status === 401 || answer.status === 404) return true;
    if (!answer.ok || answer.body === null) return false;
    state.connected(true);
    soon();
    const frames = new FrameReader(mostFrame);
    const reader = answer.body.getReader();
    for (let piece = await nextPiece(reader); piece !== null && !frames.isTooLong; piece = await nextPiece(reader)) {
      for (const frame of frames.read(piece)) state.take(frame, now());
      soon();
    }
  } catch (error) {
    if (!(error instanceof BrokenStream || error instanceof SourceFault)) throw error;
  }
  return state.hasClosed;
}
