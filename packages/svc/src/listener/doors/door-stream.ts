/** Writes one event stream of a door to its connection, and cuts a reader that stays behind. */

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { emptyComment, probeHalfClosed } from '@svc/kit/http/half-closed.ts';
import type { FanOutSink } from './fan-out.ts';

/** How far a reader may be behind: nothing of its events may be left out, so one that is further is cut, and subscribes again. */
const mostEventsBehind = 512;
const mostBytesBehind = 1024 * 1024;

/** How long a connection that has ended may take to take what was written to it before it is cut. */
const lingerMs = 60_000;

const comment = Buffer.from(emptyComment);

export interface DoorStreamOptions {
  readonly head: string;
  readonly tail: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Called once, when the stream is over for whatever reason. */
  readonly onGone: (stream: DoorStream) => void;
}

/** One open event stream, an unchunked response whose body ends with the connection. */
export class DoorStream implements FanOutSink {
  readonly head: string;
  readonly tail: string;
  readonly #socket: Socket;
  readonly #onGone: (stream: DoorStream) => void;
  #isOpen = true;
  /** Events on their way to the reader. */
  #behind = 0;
  /** Of what is on its way, what it began with counts for nothing: it may be of any length. */
  #ofFirst = 0;

  /** The response is first in line on its connection, so its socket is there. */
  constructor(response: ServerResponse, { head, tail, headers, onGone }: DoorStreamOptions) {
    const { socket } = response;
    if (socket === null) throw new Error('an event stream starts on a response whose turn it is');
    this.#socket = socket;
    this.head = head;
    this.tail = tail;
    this.#onGone = onGone;
    response.useChunkedEncodingByDefault = false;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...headers });
    response.flushHeaders();
    socket.setNoDelay(true);
    response.once('close', () => this.#gone());
    probeHalfClosed(response, () => this.beat());
  }

  /** What the stream begins with. */
  begin(event: string): void {
    const bytes = Buffer.from(this.head + event + this.tail);
    this.#ofFirst = bytes.length;
    this.#socket.write(bytes);
  }

  write(pieces: readonly Uint8Array[], events: number): void {
    if (!this.#isOpen) return;
    const onItsWay = this.#socket.writableLength;
    if (onItsWay === 0) {
      this.#behind = 0;
      this.#ofFirst = 0;
    } else if (this.#behind + events > mostEventsBehind || onItsWay - this.#ofFirst > mostBytesBehind) {
      this.#socket.destroy();
      return;
    }
    this.#behind += events;
    if (pieces.length > 1) this.#socket.cork();
    for (const piece of pieces) this.#socket.write(piece);
    if (pieces.length > 1) this.#socket.uncork();
  }

  /** A reader that has not taken what it was sent hears nothing: it would only pile up. */
  beat(): void {
    if (this.#isOpen && this.#socket.writableLength === 0) this.#socket.write(comment);
  }

  /** What was written goes out at the reader's pace, then the connection closes. */
  end(): void {
    if (!this.#isOpen) return;
    this.#socket.setTimeout(lingerMs, () => this.#socket.destroy());
    this.#socket.destroySoon();
    this.#gone();
  }

  #gone(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#onGone(this);
  }
}
