import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import type { FrameSink } from '../session/event-stream.ts';
import type { Replay, WrittenFrame } from '../session/replay-buffer.ts';
import { encodeConnectionFrame, heartbeat, type ConnectionFrame } from '../wire/frames.ts';

/** Live frames a connection may be behind before it loses the oldest (D1 "Missed frames"). */
export const liveQueueCapacity = 128;

export const heartbeatIntervalMs = 15_000;

export interface EventConnectionOptions {
  /** `message/stream` closes once a live final status is written; `stream/watch` does not. */
  readonly closesOnFinal: boolean;
  /** Called once, when the connection is gone for whatever reason. */
  readonly onGone: (connection: EventConnection) => void;
}

/**
 * One open event stream: an unchunked response whose body ends with the connection (D1 "`message/stream` and `stream/watch`").
 * A reader that stalls costs its ring of 128 live frames, beside the replay it asked for.
 */
export class EventConnection implements FrameSink {
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #options: EventConnectionOptions;
  readonly #heartbeat: NodeJS.Timeout;
  #queue: WrittenFrame[] = [];
  #stalled = false;
  #open = true;

  /** The response is first in line on its connection, so its socket is there. */
  constructor(response: ServerResponse, options: EventConnectionOptions) {
    const { socket } = response;
    if (socket === null) throw new Error('an event stream starts on a response whose turn it is');
    this.#response = response;
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
    this.#heartbeat = setInterval(() => this.#beat(), heartbeatIntervalMs);
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** A frame of this connection alone, written at once. */
  write(frame: ConnectionFrame): void {
    if (this.#open) this.#send([encodeConnectionFrame(frame)]);
  }

  /** Buffered frames, ahead of everything live; a final status among them closes nothing. */
  replay({ gap, frames }: Replay): void {
    if (gap !== null) this.write({ event: 'gap', firstAvailableId: gap });
    if (this.#open) this.#send(frames.map((frame) => frame.bytes));
  }

  accept(frame: WrittenFrame): void {
    if (!this.#open) return;
    // Only a reader that is behind loses frames, not one whose turn has merely not come yet.
    if (this.#queue.length >= liveQueueCapacity) this.flush();
    if (this.#queue.length >= liveQueueCapacity) this.#queue.shift();
    if (this.#open) this.#queue.push(frame);
  }

  flush(): void {
    if (!this.#open || this.#stalled || this.#queue.length === 0) return;
    const last = this.#options.closesOnFinal ? this.#queue.findIndex((frame) => frame.final) : -1;
    const frames = last === -1 ? this.#queue : this.#queue.slice(0, last + 1);
    this.#queue = [];
    this.#send(frames.map((frame) => frame.bytes));
    if (last !== -1) this.close();
  }

  /** The capsule ends its stream: what is queued goes out whatever the reader's pace, then the connection closes. */
  end(): void {
    this.#stalled = false;
    this.flush();
    if (!this.#options.closesOnFinal) this.write({ event: 'capsule-closed' });
    this.close();
  }

  close(): void {
    if (!this.#open) return;
    this.#response.end();
    this.#gone();
  }

  #send(frames: readonly Buffer[]): void {
    this.#socket.cork();
    let flowing = true;
    for (const bytes of frames) flowing = this.#socket.write(bytes);
    this.#socket.uncork();
    if (flowing || this.#stalled) return;
    this.#stalled = true;
    this.#socket.once('drain', () => {
      this.#stalled = false;
      this.flush();
    });
  }

  #beat(): void {
    // A stalled reader would only pile them up; it hears the next one after it has caught up.
    if (this.#open && !this.#stalled) this.#send([heartbeat]);
  }

  #gone(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#queue = [];
    clearInterval(this.#heartbeat);
    this.#options.onGone(this);
  }
}
