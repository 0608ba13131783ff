/** The frames of a capsule over as many connections as it takes. */

import {
  type DecodedArtifact,
  type DecodedChunk,
  type DecodedStatus,
  decodeFrame,
} from '@svc/protocol/decode-frame.ts';
import { type EventId, parseLastEventId } from '@svc/protocol/frames.ts';
import type { ReceivedFrame } from '@svc/protocol/frame-reader.ts';
import { ClientError } from './client-error.ts';
import { openStream } from './event-stream.ts';
import type { HttpDoor } from './http-door.ts';
import { pause } from './wait.ts';
import { SeenFrames } from './seen-frames.ts';

export type WatchEvent =
  /** A connection stands, and everything from now on is on it. */
  | { readonly kind: 'connected'; readonly conversationMode: string; readonly isAgain: boolean }
  | {
      readonly kind: 'frame';
      /** A label and no number to count with; null on a frame that came without one. */
      readonly id: EventId | null;
      readonly frame: DecodedStatus | DecodedArtifact | DecodedChunk;
    }
  /** Frames before the next may be lost. */
  | { readonly kind: 'gap'; readonly firstAvailableId: EventId | null }
  /** The capsule closed its stream; the last event. */
  | { readonly kind: 'closed' };

const longestPauseMs = 5000;

/**
 * Follows a capsule from what it still holds until it closes its stream. A connection that breaks or goes silent is made again, from the
 * beginning of what is held then, and no frame comes twice. Throws `lost` when that fails too often in a row, and at once what no other connection
 * would mend.
 */
export async function* watchCapsule(door: HttpDoor, signal?: AbortSignal): AsyncGenerator<WatchEvent, void> {
  const { mostReconnects, reconnectMs } = door.limits;
  const seen = new SeenFrames();
  let [failures, isAgain] = [0, false];
  for (;;) {
    let cause: unknown;
    try {
      for await (const event of connection(door, seen, { isAgain, signal })) {
        if (event.kind === 'frame') failures = 0;
        if (event.kind === 'connected') isAgain = true;
        yield event;
        if (event.kind === 'closed') return;
      }
    } catch (error) {
      if (!isPassing(error)) throw error;
      cause = error;
    }
    failures += 1;
    if (failures > mostReconnects) {
      throw new ClientError('lost', `the stream of ${door.url} broke, and ${mostReconnects} more tries failed`, {
        cause,
      });
    }
    await pause(Math.min(reconnectMs * 2 ** (failures - 1), longestPauseMs), signal);
    seen.reconnect();
  }
}

/** Another connection may fare better. */
function isPassing(error: unknown): boolean {
  return error instanceof ClientError && (error.code === 'unreachable' || error.code === 'timeout');
}

interface Connection {
  readonly isAgain: boolean;
  readonly signal: AbortSignal | undefined;
}

async function* connection(
  door: HttpDoor,
  seen: SeenFrames,
  { isAgain, signal }: Connection,
): AsyncGenerator<WatchEvent, void> {
  // From 0, not from the last id: later tasks have lower ids, and would be left out (D1 "Replay" 5).
  const request = { method: 'stream/watch', params: {}, lastEventId: '0', signal };
  let isFirst = true;
  const stream = await openStream(door, request);
  try {
    for await (const frames of stream.frames) {
      for (const received of frames) {
        if (isFirst && received.event !== 'connection-ack') {
          throw new ClientError('bad-answer', `the stream of ${door.url} does not begin as that of a capsule`);
        }
        isFirst = false;
        yield* eventsOf(received, seen, isAgain);
      }
    }
  } finally {
    stream.close();
  }
}

function* eventsOf(received: ReceivedFrame, seen: SeenFrames, isAgain: boolean): Generator<WatchEvent, void> {
  const frame = decodeFrame(received);
  if (frame === null || frame.event === 'error') return;
  if (frame.event === 'connection-ack') {
    yield { kind: 'connected', conversationMode: frame.conversationMode, isAgain };
  } else if (frame.event === 'gap') {
    seen.replayIsWhole();
    // Of a connection after the first it is known better: the replay goes on from what came before, or it does not.
    if (!isAgain) yield { kind: 'gap', firstAvailableId: frame.firstAvailableId };
  } else if (frame.event === 'capsule-closed') {
    yield { kind: 'closed' };
  } else {
    const id = parseLastEventId(received.id) ?? null;
    const place = id === null ? 'new' : seen.take(frame.taskId, frame.event, id);
    if (place === 'after-gap') yield { kind: 'gap', firstAvailableId: id };
    if (place !== 'again') yield { kind: 'frame', id, frame };
  }
}
