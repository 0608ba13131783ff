/** Writes one event stream of a door to its connection, and cuts a reader that stays behind. */

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { briefAnswer, type ByteBudget } from '@svc/kit/http/byte-budget.ts';
import { emptyComment, probeHalfClosed } from '@svc/kit/http/half-closed.ts';
import { busy } from '@svc/kit/http/refusal.ts';
import type { FanOutSink } from './fan-out.ts';

/** How far a reader may be behind. A stream leaves no event out, so it cuts a reader that is further behind, which subscribes again. */
const maxEventsBehind = 512;
const maxBytesBehind = 1024 * 1024;

/** How long a connection that has ended may take to take what was written to it before it is cut. */
const lingerMs = 60_000;

/** Between the comments of an idle stream: the default of httpx, which the official client of A2A for Python keeps, is to leave after 5 silent seconds. */
export const beatMs = 4000;

/** A reader that takes nothing for this many beats, a minute, is cut. */
const maxBeatsWaited = 15;

/** Handed to the system at a time: only whole pieces show whether the reader takes any of it. */
const pieceBytes = 64 * 1024;

const comment = Buffer.from(emptyComment);

export interface DoorStreamOptions {
  readonly head: string;
  readonly tail: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What all long answers of the server may hold. */
  readonly answers: ByteBudget;
  /** Whose share of them the stream takes from; null for who has none. */
  readonly holder: string | null;
  /** Called once, when the stream is over for whatever reason. */
  readonly onGone: (stream: DoorStream) => void;
}

/** One open event stream, an unchunked response whose body ends with the connection. */
export class DoorStream implements FanOutSink {
  readonly head: string;
  readonly tail: string;
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #options: DoorStreamOptions;
  #isOpen = true;
  /** Events on their way to the reader. */
  #behind = 0;
  /** The rest of something long, which the system is handed a piece at a time; what follows waits behind it. */
  #rest: Uint8Array | null = null;
  /** Whether the rest is the beginning of the stream, which may be of any length and does not count as being behind. */
  #isFirst = false;
  #following: Uint8Array[] = [];
  #followingBytes = 0;
  #isEnding = false;
  /** Bytes of the budget. */
  #held = 0;
  /** How often the system has taken something, and how often it had when the stream beat last. */
  #taken = 0;
  #takenAtBeat = 0;
  #beatsWaited = 0;

  /** The response is first in line on its connection, so its socket is there. */
  constructor(response: ServerResponse, options: DoorStreamOptions) {
    const { socket } = response;
    if (socket === null) throw new Error('an event stream starts on a response whose turn it is');
    this.#response = response;
    this.#socket = socket;
    this.#options = options;
    this.head = options.head;
    this.tail = options.tail;
    response.once('close', () => {
      this.#gone();
      this.#giveBack();
    });
  }

  /** What the stream begins with, called once before anything else. Throws the refusal 503 where it is long and there is no room for it. */
  begin(event: string): void {
    const bytes = Buffer.from(this.head + event + this.tail);
    if (!this.#reserve(bytes.length)) {
      this.#gone();
      throw busy();
    }
    const response = this.#response;
    const { headers } = this.#options;
    response.useChunkedEncodingByDefault = false;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...headers });
    response.flushHeaders();
    this.#socket.setNoDelay(true);
    probeHalfClosed(response, () => this.#comment());
    this.#isFirst = bytes.length > pieceBytes;
    this.#sendAll([bytes]);
  }

  write(pieces: readonly Uint8Array[], events: number): void {
    if (!this.#isOpen) return;
    const onItsWay = this.#bytesOnTheirWay();
    if (onItsWay === 0) this.#behind = 0;
    else if (this.#behind + events > maxEventsBehind || onItsWay > maxBytesBehind) {
      this.#socket.destroy();
      return;
    }
    this.#behind += events;
    if (this.#rest === null) this.#sendAll(pieces);
    else this.#follow(pieces);
  }

  /** Events that no other stream has. Where they are long and there is no room for them, the reader is cut. */
  writeOwn(events: readonly string[]): void {
    if (!this.#isOpen) return;
    const bytes = Buffer.from(events.join(''));
    if (this.#reserve(bytes.length)) this.write([bytes], events.length);
    else this.#socket.destroy();
  }

  /** A reader that has not taken what it was sent hears nothing: it would only pile up. One that takes nothing for a minute is cut. */
  heartbeat(): void {
    if (!this.#isOpen) return;
    const isWaiting = !this.#isIdle && this.#taken === this.#takenAtBeat;
    this.#takenAtBeat = this.#taken;
    this.#beatsWaited = isWaiting ? this.#beatsWaited + 1 : 0;
    if (this.#beatsWaited === maxBeatsWaited) this.#socket.destroy();
    else this.#comment();
  }

  /** What was written goes out at the reader's pace, then the connection closes. */
  end(): void {
    if (!this.#isOpen) return;
    this.#socket.setTimeout(lingerMs, () => this.#socket.destroy());
    if (this.#rest === null) this.#socket.destroySoon();
    else this.#isEnding = true;
    this.#gone();
  }

  #comment(): void {
    if (this.#isOpen && this.#isIdle) this.#send(comment);
  }

  get #isIdle(): boolean {
    return this.#rest === null && this.#socket.writableLength === 0;
  }

  /** Without the first part. */
  #bytesOnTheirWay(): number {
    if (this.#rest === null) return this.#socket.writableLength;
    return this.#followingBytes + (this.#isFirst ? 0 : this.#rest.length);
  }

  /** Counts long events as one of the answers that are not taken yet; false where there is no room. */
  #reserve(bytes: number): boolean {
    if (bytes <= briefAnswer) return true;
    if (!this.#options.answers.take(bytes, this.#options.holder)) return false;
    this.#held += bytes;
    return true;
  }

  #giveBack(): void {
    if (this.#held > 0) this.#options.answers.giveBack(this.#held, this.#options.holder);
    this.#held = 0;
  }

  #sendAll(pieces: readonly Uint8Array[]): void {
    if (pieces.length > 1) this.#socket.cork();
    for (const [index, piece] of pieces.entries()) {
      if (piece.length <= pieceBytes) {
        this.#send(piece);
        continue;
      }
      this.#follow(pieces.slice(index + 1));
      this.#sendOn(piece);
      break;
    }
    if (pieces.length > 1) this.#socket.uncork();
  }

  #sendOn(rest: Uint8Array): void {
    this.#rest = rest;
    this.#socket.write(rest.subarray(0, pieceBytes), (error) => {
      if (error instanceof Error) return;
      if (rest.length > pieceBytes) {
        this.#taken += 1;
        this.#sendOn(rest.subarray(pieceBytes));
        return;
      }
      this.#rest = null;
      this.#isFirst = false;
      this.#followingBytes = 0;
      this.#sendAll(this.#following.splice(0));
      this.#took();
      if (this.#isEnding && this.#rest === null) this.#socket.destroySoon();
    });
  }

  #follow(pieces: readonly Uint8Array[]): void {
    this.#following.push(...pieces);
    for (const { length } of pieces) this.#followingBytes += length;
  }

  #send(piece: Uint8Array): void {
    this.#socket.write(piece, () => this.#took());
  }

  #took(): void {
    this.#taken += 1;
    if (this.#isIdle) this.#giveBack();
  }

  #gone(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#options.onGone(this);
  }
}
