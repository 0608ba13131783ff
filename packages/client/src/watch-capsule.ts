/** The frames of a capsule, each once, over as many connections as needed. */

import {
  type DecodedArtifact,
  type DecodedChunk,
  type DecodedStatus,
  decodeFrame,
} from '@svc/protocol/decode-frame.ts';
import { type EventId, maxEventId, parseLastEventId } from '@svc/protocol/frames.ts';
import type { ReceivedFrame } from '@svc/protocol/frame-reader.ts';
import { decodeLiveEvent } from '@svc/protocol/decode-live-event.ts';
import type { LiveEvent, Snapshot } from '@svc/protocol/live-events.ts';
import { ClientError } from './client-error.ts';
import { openStream } from './event-stream.ts';
import type { HttpDoor, Limits } from './http-door.ts';
import { ReadAhead, type Sized } from './read-ahead.ts';
import { SeenFrames } from './seen-frames.ts';
import { pause } from './wait.ts';

export type WatchEvent =
  /** A connection stands; everything from now on arrives on it. */
  | { readonly kind: 'connected'; readonly conversationMode: string; readonly isAgain: boolean }
  | {
      readonly kind: 'frame';
      /** A label, not a counter; null for a frame that came without one. */
      readonly id: EventId | null;
      readonly frame: DecodedStatus | DecodedArtifact | DecodedChunk;
    }
  /** With live events: what happens beyond the frames, in its order among them. The first of each connection is a `snapshot`. */
  | { readonly kind: 'event'; readonly event: LiveEvent }
  /** Frames before the next may be lost. */
  | { readonly kind: 'gap'; readonly firstAvailableId: EventId | null }
  /** The capsule closed its stream; the last event. */
  | { readonly kind: 'closed' };

export interface WatchOptions {
  readonly signal?: AbortSignal | undefined;
  /** Asks for live events too; a capsule that has none sends none. */
  readonly events?: boolean;
}

const maxPauseMs = 5000;
/** A connection that stood for longer counts as good, whatever it brought. */
const goodMs = 5000;

/**
 * Follows a capsule from what it still holds until it closes its stream. It reconnects when a connection breaks or goes silent, from the
 * beginning of what the capsule then holds, and yields no frame twice. Throws `lost` when that fails too often in a row, and at once for an error that no other connection
 * would mend. It reads ahead of its caller. Where it holds too many frames, it closes the connection, and reconnects once they are taken. It calls `check` before each connection but the first; an error of `check` counts as one of that connection.
 */
export async function* watchCapsule(
  door: HttpDoor,
  { signal, events = false }: WatchOptions,
  check: () => Promise<void>,
): AsyncGenerator<WatchEvent, void> {
  const { maxReconnects, idleMs, maxAhead } = door.limits;
  const seen = new SeenFrames();
  const failures = new Failures(Math.min(idleMs, goodMs));
  let isAgain = false;
  for (let isFirst = true; ; isFirst = false) {
    let cause: unknown;
    const ahead = new ReadAhead((own) => connection(door, seen, { isAgain, events, failures, signal: own }), {
      most: maxAhead,
      signal,
    });
    try {
      if (!isFirst) await check();
      for await (const event of ahead.values()) {
        if (event.kind === 'connected') isAgain = true;
        yield event;
        if (event.kind === 'closed') return;
      }
    } catch (error) {
      if (!isPassing(error)) throw error;
      cause = error;
    } finally {
      failures.ended(cause);
    }
    // A reader that was too slow gets the rest on a new connection, and has waited enough.
    if (ahead.isFull) failures.forget();
    if (failures.count > maxReconnects) {
      throw new ClientError('lost', `the stream of ${door.url} broke, and ${maxReconnects} more tries failed`, {
        cause,
      });
    }
    if (!ahead.isFull) await pause(pauseBeforeReconnect(failures.count, door.limits), signal);
    seen.reconnect();
  }
}

/** Counts the failed connections of a watch in a row. */
class Failures {
  readonly #goodMs: number;
  #isGood = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #count = 0;

  constructor(goodMs: number) {
    this.#goodMs = goodMs;
  }

  get count(): number {
    return this.#count;
  }

  forget(): void {
    this.#count = 0;
  }

  /** Any new frame makes a connection a good one. So does time, once it has stood for long enough and something comes, or ends it. */
  note(event: WatchEvent): void {
    if (event.kind === 'frame' || (event.kind === 'event' && event.event.event !== 'snapshot')) this.forget();
    if (event.kind !== 'connected') return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.#isGood = true), this.#goodMs);
  }

  /** Something came over the connection. */
  readonly onHeard = (): void => {
    if (this.#isGood) this.forget();
  };

  /** The connection is gone. One that ended in silence does not count as good for its length. */
  ended(cause: unknown): void {
    clearTimeout(this.#timer);
    const isSilent = cause instanceof ClientError && cause.code === 'timeout';
    if (this.#isGood && !isSilent) this.forget();
    this.#isGood = false;
    this.#count += 1;
  }
}

/** The pause in milliseconds after so many failures in a row. */
export function pauseBeforeReconnect(failures: number, { reconnectMs }: Limits): number {
  return Math.min(reconnectMs * 2 ** (failures - 1), maxPauseMs);
}

/** What a gateway answers while the capsule behind it cannot be reached. */
const passingStatuses: ReadonlySet<number | null> = new Set([502, 503, 504]);

/** Another connection may fare better. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof ClientError)) return false;
  const { code, status } = error;
  return code === 'unreachable' || code === 'timeout' || (code === 'refused' && passingStatuses.has(status));
}

interface Connection {
  readonly isAgain: boolean;
  readonly events: boolean;
  readonly failures: Failures;
  readonly signal: AbortSignal;
}

/** What each event has beside the data of its frame. */
const eventSize = 256;

async function* connection(
  door: HttpDoor,
  seen: SeenFrames,
  { isAgain, events, failures, signal }: Connection,
): AsyncGenerator<Sized<WatchEvent>, void> {
  // From 0, not from the last id: later tasks have lower ids, and would be left out (D1 "Replay" 5).
  const request = { method: 'stream/watch', params: {}, lastEventId: '0', events, signal, onHeard: failures.onHeard };
  let isFirst = true;
  const stream = await openStream(door, request);
  try {
    for await (const frames of stream.frames) {
      for (const received of frames) {
        if (isFirst && received.event !== 'connection-ack') {
          throw new ClientError('bad-answer', `the stream of ${door.url} does not begin as that of a capsule`);
        }
        isFirst = false;
        const live = events ? decodeLiveEvent(received) : null;
        const told = live === null ? eventsOf(received, seen, isAgain) : [{ kind: 'event', event: live } as const];
        for (const value of told) {
          failures.note(value);
          yield { value, size: received.data.length + eventSize };
        }
      }
    }
  } finally {
    stream.close();
  }
}

/** The state of the session, which is first in a stream; null for a capsule that has no live events. */
export async function readSnapshot(door: HttpDoor, signal?: AbortSignal): Promise<Snapshot | null> {
  // No frame has a higher id, so nothing is replayed.
  const stream = await openStream(door, {
    method: 'stream/watch',
    params: {},
    lastEventId: `${maxEventId}`,
    events: true,
    signal,
  });
  try {
    if (!stream.hasEvents) return null;
    for await (const frames of stream.frames) {
      for (const received of frames) {
        const event = decodeLiveEvent(received);
        if (event?.event === 'snapshot') return event;
      }
    }
    throw new ClientError('bad-answer', `the stream of ${door.url} ended without a snapshot`);
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
    seen.expectWholeReplay();
    // After the first connection the client knows more: either the replay goes on from its last frame, or it does not.
    if (!isAgain) yield { kind: 'gap', firstAvailableId: frame.firstAvailableId };
  } else if (frame.event === 'capsule-closed') {
    yield { kind: 'closed' };
  } else {
    const id = parseLastEventId(received.id) ?? null;
    const { taskId, event } = frame;
    const place = id === null ? 'new' : seen.take({ taskId, event, id, data: received.data });
    if (place === 'after-gap') yield { kind: 'gap', firstAvailableId: id };
    if (place !== 'repeat') yield { kind: 'frame', id, frame };
  }
}
