import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import type { FrameBatch, FrameSink } from '../session/event-stream.ts';
import { FrameRing } from '../session/frame-ring.ts';
import type { Replay } from '../session/replay-buffer.ts';
import type { WrittenFrame } from '../session/written-frame.ts';
import { encodeConnectionFrame, heartbeat, type ConnectionFrame } from '../wire/frames.ts';

/** Live frames a connection may be behind before it loses the oldest (D1 "Missed frames"). */
export const liveQueueCapacity = 128;

/** How long a connection that has ended may take to take what was written to it before it is cut. */
const lingerMs = 60_000;

export interface EventConnectionOptions {
  /** `message/stream` closes once a live final status is written; `stream/watch` does not. */
  readonly closesOnFinal: boolean;
  /** Called once, when the connection is gone for whatever reason. */
  readonly onGone: (connection: EventConnection) => void;
}

/**
 * One open event stream: an unchunked response whose body ends with the connection (D1 "`message/stream` and `stream/watch`").
 * While its reader keeps up it holds nothing. A reader that stalls costs a queue of 128 live frames, which all readers share,
 * beside what is on its way to it already.
 */
export class EventConnection implements FrameSink {
  readonly #socket: Socket;
  readonly #options: EventConnectionOptions;
  /** Live frames that wait for the reader; null while it keeps up. */
  #missed: FrameRing<WrittenFrame> | null = null;
  #open = true;

  /** The response is first in line on its connection, so its socket is there. */
  constructor(response: ServerResponse, options: EventConnectionOptions) {
    const { socket } = response;
    if (socket === null) throw new Error('an event stream starts on a response whose turn it is');
    this.#socket = socket;
    this.#options = options;
    response.useChunkedEncodingByDefault = false;
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      connection: 'keep-alive',
    });
    response.flushHeaders();
    socket.setNoDelay(true);
    response.once('close', () => this.#gone());
  }

  /** A frame of this connection alone, written at once. */
  write(frame: ConnectionFrame): void {
    if (this.#open) this.#watchFlow(this.#socket.write(encodeConnectionFrame(frame)));
  }

  /** Buffered frames, ahead of everything live; a final status among them closes nothing. */
  replay({ gap, frames }: Replay): void {
    if (gap !== null) this.write({ event: 'gap', firstAvailableId: gap });
    if (this.#open) this.#send(frames.map((frame) => frame.bytes));
  }

  deliver({ frames, bytes }: FrameBatch): void {
    if (!this.#open) return;
    if (this.#missed !== null) {
      for (const frame of frames) this.#missed.push(frame);
    } else if (this.#options.closesOnFinal && frames.some((frame) => frame.final)) {
      this.#sendLive(frames);
    } else {
      this.#watchFlow(this.#socket.write(bytes));
    }
  }

  /** A reader that has not taken what it was sent hears nothing: it would only pile up. */
  beat(): void {
    if (this.#open && this.#missed === null) this.#watchFlow(this.#socket.write(heartbeat));
  }

  /** The capsule ends its stream: what is queued goes out whatever the reader's pace, then the connection closes. */
  end(): void {
    if (this.#missed !== null) this.#sendLive(this.#missed.drain());
    if (!this.#options.closesOnFinal) this.write({ event: 'capsule-closed' });
    this.close();
  }

  close(): void {
    if (!this.#open) return;
    this.#socket.setTimeout(lingerMs, () => this.#socket.destroy());
    // Not the response: the server would take the connection for idle, and drop what is still on its way when it closes.
    this.#socket.destroySoon();
    this.#gone();
  }

  /** Live frames one by one, up to the final status that closes the connection, if it is one that closes. */
  #sendLive(frames: readonly WrittenFrame[]): void {
    const last = this.#options.closesOnFinal ? frames.findIndex((frame) => frame.final) : -1;
    const sent = last === -1 ? frames : frames.slice(0, last + 1);
    this.#send(sent.map((frame) => frame.bytes));
    if (last !== -1) this.close();
  }

  #send(pieces: readonly Buffer[]): void {
    this.#socket.cork();
    let flowing = true;
    for (const bytes of pieces) flowing = this.#socket.write(bytes);
    this.#socket.uncork();
    this.#watchFlow(flowing);
  }

  #watchFlow(flowing: boolean): void {
    // What the system took at once leaves nothing to wait for, however much it was.
    if (flowing || this.#socket.writableLength === 0 || this.#missed !== null) return;
    this.#missed = new FrameRing(liveQueueCapacity);
    this.#socket.once('drain', () => this.#catchUp());
  }

  #catchUp(): void {
    const missed = this.#missed?.drain() ?? [];
    this.#missed = null;
    if (this.#open && missed.length > 0) this.#sendLive(missed);
  }

  #gone(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#missed = null;
    this.#options.onGone(this);
  }
}
