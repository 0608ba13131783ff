import { createParser } from 'eventsource-parser';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';

/** One frame of an event stream as its text came: ids may be above 2^53, so none is made a number here. */
export interface ReceivedFrame {
  /** Undefined on a frame without an id line. */
  readonly id: string | undefined;
  /** `message` on a frame without an event line, as event streams have it. */
  readonly event: string;
  readonly data: string;
}

/** Longer frames are refused: what is kept of an endless line has to have an end. */
const longestFrame = 128 * 1024 * 1024;

/**
 * From the bytes of one event stream, cut anywhere, to its frames (D1 "Frame format"). Comments and unknown fields are passed over
 * (D1 "Client tolerance"); a frame that the end of the stream cuts off is none. Takes time in proportion to the bytes.
 */
export class FrameReader {
  readonly #decoder = new TextDecoder();
  #frames: ReceivedFrame[] = [];
  #isTooLong = false;
  readonly #parser = createParser({
    maxBufferSize: longestFrame,
    onEvent: ({ id, event = 'message', data }) => this.#frames.push({ id, event, data }),
    onError: ({ type }) => {
      this.#isTooLong ||= type === 'max-buffer-size-exceeded';
    },
  });

  /** The frames that these bytes complete. Throws `E-IO-003` on a frame of more than 128 Mi characters; nothing can be read after it. */
  read(bytes: Uint8Array): readonly ReceivedFrame[] {
    this.#frames = [];
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }));
    if (this.#isTooLong) throw new Diagnostic('E-IO-003', 'the capsule sent a frame of more than 128 Mi characters');
    return this.#frames;
  }
}
