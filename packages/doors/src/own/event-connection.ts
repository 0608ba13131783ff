/** Sends frames to one reader of the event stream, however slow it is. */

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { FrameBatch, FrameSink, SentFrame } from '@svc/session/stream/frame-batches.ts';
import { type Replay, FrameRing } from '@svc/session/stream/replay-buffer.ts';
import { encodeConnectionFrame, heartbeat, type ConnectionFrame } from '@svc/protocol/frames.ts';

const heartbeatBytes = Buffer.from(heartbeat);

/** Live frames a connection may be behind before it loses the oldest (D1 "Missed frames"). */
const liveQueueCapacity = 128;

/** At most so much is written to a connection at once; the rest waits until that has gone. */
const maxAtOnce = 1024 * 1024;
const minAtOnce = 64 * 1024;
/** How much may wait for all readers together; each has its least share even beyond that. */
const atOnceTogether = 64 * 1024 * 1024;

/** How long a connection that has ended may take to take what was written to it before it is cut. */
const lingerMs = 60_000;

/** How long a reader may take nothing while a file waits for it. */
const maxFileWaitMs = 60_000;

export interface EventConnectionOptions {
  /** `message/stream` closes once a live final status is written; `stream/watch` does not. */
  readonly closesOnFinal: boolean;
  /** Which frames its reader may see; all when absent. A reader of some is given no replay. */
  readonly sees?: (frame: SentFrame) => boolean;
  /** Headers of the response, beside those of every stream. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the connections of a session have together. */
export interface OpenConnections {
  /** How many are open, the one that asks included. */
  readonly readers: number;
  /** Called once by each, when it is gone for whatever reason. */
  leave(connection: EventConnection): void;
}

/**
 * One open event stream: an unchunked response whose body ends with the connection (D1 "`message/stream` and `stream/watch`").
 * While its reader keeps up it holds nothing. A reader that stalls costs a queue of 128 live frames, which all readers share,
 * beside at most 1 MiB that is on its way to it, less where there are more than 64 readers, and the frames of its replay. Long ones wait
 * in a file. Where another one waits for room, a reader that takes nothing for a minute is cut (docs/protocol.md "Readers that fall behind").
 */
export class EventConnection implements FrameSink {
  readonly #socket: Socket;
  readonly #closesOnFinal: boolean;
  readonly #sees: EventConnectionOptions['sees'];
  readonly #others: OpenConnections;
  /** Live frames that wait for the reader; null while it keeps up. */
  #missed: FrameRing<SentFrame> | null = null;
  /** What it is being sent, and how far; its frames are held. */
  #backlog: Backlog | null = null;
  #isEnding = false;
  #isToldGone = false;
  #open = true;
  #isTimed = false;
  /** The one listener that is added and taken away again; null before the first time. */
  #onStall: (() => void) | null = null;

  /** The response is first in line on its connection, so its socket is there. */
  constructor(
    response: ServerResponse,
    { closesOnFinal, sees, headers }: EventConnectionOptions,
    others: OpenConnections,
  ) {
    const { socket } = response;
    if (socket === null) throw new Error('an event stream starts on a response whose turn it is');
    this.#socket = socket;
    this.#closesOnFinal = closesOnFinal;
    this.#sees = sees;
    this.#others = others;
    response.useChunkedEncodingByDefault = false;
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      connection: 'keep-alive',
      ...headers,
    });
    response.flushHeaders();
    socket.setNoDelay(true);
    // Comes once; `once` would keep three objects more for each idle reader.
    response.on('close', () => this.#gone());
  }

  /** A frame of this connection alone, written at once. */
  write(frame: ConnectionFrame): void {
    this.writeText(encodeConnectionFrame(frame));
  }

  /** The same of one that is written already. */
  writeText(frame: string): void {
    if (this.#open) this.#watchFlow(this.#socket.write(Buffer.from(frame)));
  }

  /** Buffered frames, ahead of everything live; a final status among them closes nothing. */
  replay({ gap, frames }: Replay): void {
    if (gap !== null) this.write({ event: 'gap', firstAvailableId: gap });
    if (this.#open) this.#send({ frames, thenCloses: false });
  }

  deliver(batch: FrameBatch): void {
    if (!this.#open) return;
    const seen = this.#sees === undefined ? batch : seenOf(batch, this.#sees);
    if (seen !== null) this.#deliver(seen);
  }

  #deliver({ frames, bytes }: FrameBatch): void {
    if (this.#missed !== null) {
      for (const frame of frames) this.#missed.push(frame);
    } else if (bytes === null || (this.#closesOnFinal && frames.some((frame) => frame.final))) {
      this.#sendLive(frames);
    } else {
      this.#watchFlow(this.#socket.write(bytes));
    }
  }

  /** A reader that has not taken what it was sent gets no heartbeat: they would pile up. */
  heartbeat(): void {
    if (this.#open && this.#missed === null) this.#watchFlow(this.#socket.write(heartbeatBytes));
  }

  /** Its reader loses it at once. */
  cut(): void {
    this.#socket.destroy();
  }

  /** The capsule ends its stream: what is queued goes out at the reader's pace, then the connection closes. */
  end(): void {
    this.#isEnding = true;
    this.#tellGone();
    if (this.#missed === null) this.#finish();
    else this.#socket.setTimeout(lingerMs, () => this.cut());
  }

  close(): void {
    if (!this.#open) return;
    this.#socket.setTimeout(lingerMs, () => this.cut());
    // Not the response: the server would take the connection for idle, and drop what is still on its way when it closes.
    this.#socket.destroySoon();
    this.#gone();
  }

  #finish(): void {
    if (!this.#closesOnFinal) this.write({ event: 'capsule-closed' });
    this.close();
  }

  /** Live frames one by one, up to the final status that closes the connection, if it is one that closes. */
  #sendLive(frames: readonly SentFrame[]): void {
    const last = this.#closesOnFinal ? frames.findIndex((frame) => frame.final) : -1;
    this.#send({ frames: last === -1 ? frames : frames.slice(0, last + 1), thenCloses: last !== -1 });
  }

  #send({ frames, thenCloses }: Pick<Backlog, 'frames' | 'thenCloses'>): void {
    for (const frame of frames) frame.retain();
    this.#backlog = { frames, thenCloses, next: 0, position: 0 };
    this.#sendOn(this.#backlog);
  }

  /** Writes on until all is written, or as much as may be on its way at once. */
  #sendOn(backlog: Backlog): void {
    this.#socket.cork();
    const most = Math.max(minAtOnce, Math.min(maxAtOnce, Math.floor(atOnceTogether / this.#others.readers)));
    let flowing = true;
    for (let written = 0; backlog.next < backlog.frames.length && written < most;) {
      const piece = nextPiece(backlog, most - written);
      if (piece === null) {
        this.#socket.destroy();
        return;
      }
      flowing = this.#socket.write(piece);
      written += piece.length;
    }
    this.#socket.uncork();
    const isDone = backlog.next === backlog.frames.length;
    if (isDone) this.#backlog = null;
    if (isDone && backlog.thenCloses) this.close();
    else this.#watchFlow(flowing && isDone);
  }

  /** Waits for the reader, unless the system took all at once and nothing more is to be sent. */
  #watchFlow(flowing: boolean): void {
    if (!this.#open || flowing || this.#missed !== null) return;
    if (this.#socket.writableLength === 0 && this.#backlog === null) return;
    this.#missed = new FrameRing(liveQueueCapacity);
    this.#waitForReader();
  }

  /** Times the reader. What it takes of a write that is under way counts too: the socket's own timer looks at that. */
  #timeReader(): void {
    const backlog = this.#backlog;
    const isAwaited = backlog?.frames.some((frame, at) => at >= backlog.next && frame.isStored) === true;
    if (isAwaited === this.#isTimed) return;
    this.#isTimed = isAwaited;
    this.#onStall ??= () => this.cut();
    if (isAwaited) this.#socket.setTimeout(maxFileWaitMs, this.#onStall);
    else if (!this.#isEnding) this.#socket.setTimeout(0, this.#onStall);
  }

  #waitForReader(): void {
    this.#timeReader();
    // With nothing on its way no `drain` would come.
    if (this.#socket.writableLength === 0) setImmediate(() => this.#catchUp());
    else this.#socket.once('drain', () => this.#catchUp());
  }

  #catchUp(): void {
    if (!this.#open) return;
    const backlog = this.#backlog;
    if (backlog !== null) {
      this.#sendOn(backlog);
      if (this.#backlog !== null || this.#socket.writableNeedDrain) return this.#waitForReader();
    }
    const missed = this.#missed?.drain() ?? [];
    this.#missed = null;
    this.#timeReader();
    if (this.#open && missed.length > 0) this.#sendLive(missed);
    if (this.#isEnding && this.#open && this.#missed === null) this.#finish();
  }

  #gone(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#missed = null;
    for (const frame of this.#backlog?.frames.slice(this.#backlog.next) ?? []) frame.release();
    this.#backlog = null;
    this.#tellGone();
  }

  #tellGone(): void {
    if (this.#isToldGone) return;
    this.#isToldGone = true;
    this.#others.leave(this);
  }
}

/** What a reader of some frames sees of a batch; null for nothing. */
function seenOf(batch: FrameBatch, sees: (frame: SentFrame) => boolean): FrameBatch | null {
  const frames = batch.frames.filter(sees);
  if (frames.length === batch.frames.length) return batch;
  return frames.length === 0 ? null : { frames, bytes: null };
}

interface Backlog {
  readonly frames: readonly SentFrame[];
  /** The last of them is the final status that closes the connection. */
  readonly thenCloses: boolean;
  /** The frame that is being sent. */
  next: number;
  /** How much of it has been, where it is stored. */
  position: number;
}

/** The next bytes of a backlog, which releases each frame after its last byte; null where the bytes are gone. */
function nextPiece(backlog: Backlog, most: number): Buffer | null {
  const frame = backlog.frames[backlog.next];
  if (frame === undefined) return null;
  const piece = frame.isStored ? readable(() => frame.read(backlog.position, most)) : frame.bytes;
  backlog.position += piece?.length ?? 0;
  if (!frame.isStored || backlog.position === frame.storedLength) {
    backlog.next += 1;
    backlog.position = 0;
    frame.release();
  }
  return piece;
}

/** Returns null where the file cannot be read: the reader's connection is cut, and it may come again. */
function readable(read: () => Buffer | null): Buffer | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Diagnostic) return null;
    throw error;
  }
}
