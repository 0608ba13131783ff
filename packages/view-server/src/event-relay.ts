/** Passes the frames of a running capsule on to a page, over as many connections to the capsule as it takes. */

import { setTimeout as delay } from 'node:timers/promises';

import { ClientError } from '@svc/client/client-error.ts';
import { askingForEvents } from '@svc/client/event-stream.ts';
import { HttpDoor } from '@svc/client/http-door.ts';
import { SeenFrames } from '@svc/client/seen-frames.ts';
import { isPassing } from '@svc/client/watch-capsule.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { OpenBody } from '@svc/kit/http/open-body.ts';
import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import { encodeConnectionFrame, parseLastEventId } from '@svc/protocol/frames.ts';
import { encodeJsonRpcRequest } from '@svc/protocol/json-rpc.ts';
import { doorOf } from '@svc/record/running/approach-capsule.ts';
import { approach, notLive, type ViewingUser } from './capsule-relay.ts';
import type { ViewedSession } from './viewed-session.ts';
import { framesIn, type WholeFrame, WholeFrames } from './whole-frames.ts';

const callMs = 10_000;
/** A capsule says something every 15 seconds. */
const idleMs = 60_000;
/** Held whole before it is passed on. */
const maxFrame = 32 * 1024 * 1024;
/** Pause between two looks whether the capsule is there again. */
const lookMs = 250;
const looksEachBeat = 40;
/** The event of a stream whose capsule is not there. */
export const capsuleGone = 'capsule-gone';
/** What a page receives until the capsule is there again; writing it also shows whether the reader is still there. */
const waiting = `event: ${capsuleGone}\ndata: {}\n\n`;

interface RelayOptions {
  readonly user: ViewingUser;
  readonly session: ViewedSession;
  readonly readOnly: boolean;
  /** How long a capsule that is gone is waited for. */
  readonly resumeMs: number;
}

/** What frames are put into. */
type Reader = Pick<OpenBody, 'gone'> & {
  /** Resolves once there is room for more; false when the reader has gone. */
  put(bytes: Uint8Array | string): Promise<boolean>;
};

/** One page that listens. Nothing is kept for a page that is slow: the capsule drops what it does not take, without a word. */
export class EventRelay {
  readonly #options: RelayOptions;
  readonly #seen = new SeenFrames();
  #stream: OpenConnection;
  readonly #stop: AbortController;

  private constructor(options: RelayOptions, stream: OpenConnection, stop: AbortController) {
    this.#options = options;
    this.#stream = stream;
    this.#stop = stop;
  }

  /** Connects to the capsule; a refusal where it does not run, or does not answer as a capsule does. `pass` or `close` what is returned. */
  static async open(options: RelayOptions, lastEventId: string | undefined): Promise<EventRelay> {
    const stop = new AbortController();
    const from = parseLastEventId(lastEventId) === undefined ? '0' : (lastEventId ?? '0');
    try {
      const stream = await connect(options, from, stop.signal);
      if (stream === null) throw notLive();
      return new EventRelay(options, stream, stop);
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      throw new HttpRefusal(502, 'capsule', `The capsule gives no events: ${error.message}`);
    }
  }

  close(): void {
    this.#stop.abort();
    this.#stream.close();
  }

  /** Puts frames until the capsule closes its stream, is gone for longer than it is waited for, or the page is gone. */
  async pass(body: Reader): Promise<void> {
    body.gone.addEventListener('abort', () => this.#stop.abort(), { once: true });
    try {
      for (let isAgain = false; !body.gone.aborted; isAgain = true) {
        if ((await this.#passOne(body, isAgain)) === 'over') return;
        const next = await this.#reconnected(body);
        if (next === null) return;
        this.#stream = next;
        this.#seen.reconnect();
      }
    } finally {
      this.close();
    }
  }

  /** `broken` when the connection ended without the word of the capsule that nothing more comes. */
  async #passOne(body: Reader, isAgain: boolean): Promise<'over' | 'broken'> {
    const frames = new WholeFrames(maxFrame);
    try {
      for await (const piece of this.#stream.pieces) {
        const whole = frames.take(piece);
        if (frames.isTooLong) throw new ClientError('too-large', 'the capsule sent a frame that is too long');
        const { passed, isClosed } = this.#passedOf(whole, isAgain);
        if (passed.length > 0 && !(await body.put(passed))) return 'over';
        if (isClosed) return 'over';
      }
      return 'broken';
    } catch (error) {
      if (body.gone.aborted) return 'over';
      if (isPassing(error)) return 'broken';
      throw error;
    } finally {
      this.#stream.close();
    }
  }

  /** As the capsule wrote them; after a connection was made again, without those that came before. */
  #passedOf(whole: Buffer, isAgain: boolean): { readonly passed: Buffer; readonly isClosed: boolean } {
    const parts: Buffer[] = [];
    let isClosed = false;
    for (const frame of framesIn(whole)) {
      const part = this.#partOf(frame, isAgain);
      if (isAgain) parts.push(...part);
      isClosed ||= frame.event === 'capsule-closed';
    }
    return { passed: isAgain ? Buffer.concat(parts) : whole, isClosed };
  }

  #partOf({ bytes, event, numbered }: WholeFrame, isAgain: boolean): readonly Buffer[] {
    if (event === 'gap') {
      this.#seen.expectWholeReplay();
      return isAgain ? [] : [bytes];
    }
    const id = parseLastEventId(numbered?.id);
    if (numbered === null || id === undefined) return [bytes];
    const place = this.#seen.take({ taskId: numbered.taskId, event, id, data: endsOf(bytes) });
    if (place === 'repeat') return [];
    const gap = place === 'after-gap' ? encodeConnectionFrame({ event: 'gap', firstAvailableId: id }) : '';
    return [Buffer.from(gap), bytes];
  }

  /** Connects from the start of what the capsule holds, since ids begin again with each task. Returns null when it stays away, or the page has left. */
  async #reconnected(body: Reader): Promise<OpenConnection | null> {
    const looks = Math.ceil(this.#options.resumeMs / lookMs);
    for (let look = 0; look < looks && !body.gone.aborted; look += 1) {
      if (look % looksEachBeat === 0 && !(await body.put(waiting))) return null;
      try {
        const stream = await connect(this.#options, '0', this.#stop.signal);
        if (stream !== null) return stream;
      } catch (error) {
        // It is just starting, or another capsule has its port by now.
        if (!(error instanceof ClientError || error instanceof Diagnostic)) throw error;
      }
      await delay(lookMs, undefined, { signal: body.gone }).catch(() => {});
    }
    return null;
  }
}

const endBytes = 1024;

/** Distinguishes a frame from others, without a text of all of it. */
function endsOf(bytes: Buffer): string {
  const end = Math.max(endBytes, bytes.length - endBytes);
  return `${bytes.length} ${bytes.toString('latin1', 0, endBytes)}${bytes.toString('latin1', end)}`;
}

/** A connection that is open; the caller closes it. */
interface OpenConnection {
  readonly pieces: AsyncIterable<Uint8Array>;
  readonly close: () => void;
}

/** Returns null where the session does not run. */
async function connect(
  { user, session, readOnly }: RelayOptions,
  lastEventId: string,
  signal: AbortSignal,
): Promise<OpenConnection | null> {
  const method = 'stream/watch';
  // Who may answer here is somebody who can be asked.
  const capsule = await approach(user, session, { method, readOnly, asPerson: readOnly ? 'never' : 'if-any' });
  if (capsule === null) return null;
  const door = new HttpDoor(doorOf({ ...capsule, timeoutMs: callMs }));
  const { answer, close } = await door.open({
    method: 'POST',
    target: '/',
    headers: { ...askingForEvents, 'content-type': 'application/json', 'last-event-id': lastEventId },
    body: encodeJsonRpcRequest(1, method, {}),
    signal,
  });
  if (answer.status === 200 && answer.mediaType === 'text/event-stream')
    return { pieces: answer.pieces(idleMs), close };
  try {
    throw answer.status === 200
      ? new ClientError('no-stream', `${door.url} answered ${method} with no event stream`)
      : await door.refusal(answer);
  } finally {
    close();
  }
}
