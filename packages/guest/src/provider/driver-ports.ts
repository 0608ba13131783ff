/** What the bundled drivers need of the world around them, and how a component has it. */

import { emitText, emitThinking } from '../chunks.ts';
import { sleep } from '../clock.ts';
import { type DriverNote, writeNote } from './driver-notes.ts';
import { post, type HttpResponse, type PostRequest } from '../http.ts';

/** Where the pieces of a reply go while it is being made. */
export interface ReplySink {
  emitText(text: string): void;
  emitThinking(text: string): void;
}

/** All of it blocks: a component has one thread and no event loop. */
export interface DriverPorts extends ReplySink {
  /** Throws `RequestFailure` when no response can be had. */
  post(request: PostRequest): HttpResponse;
  sleep(milliseconds: number): void;
  /** Tells the host what the response has no place for. */
  note(note: DriverNote): void;
  /** Unix milliseconds. */
  now(): number;
}

/** The ports of a driver that runs as a component. */
export const guestPorts: DriverPorts = {
  emitText,
  emitThinking,
  post,
  sleep,
  note: writeNote,
  now: () => Date.now(),
};
