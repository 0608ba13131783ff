/** Reads the events of a stream that a provider sends. */

import { createParser, type ParseError } from 'eventsource-parser';

import { RequestFailure } from '../request-failure.ts';

const longestEvent = 16 * 1024 * 1024;
const mostStray = 16 * 1024;
/** What servers send as data to keep a connection open. */
const signOfLife = /^\s*(?:$|:|(?:""|null|\[?(?:ping|pong|keep-?alive|heartbeat)\]?)\s*$)/i;

export interface ServerSentEvent {
  /** `''` when the event names no type. */
  readonly type: string;
  readonly data: string;
}

/**
 * Reads the events of a stream that arrives in arbitrary pieces. An event cut off by the end of the stream counts as if its blank
 * line had come: some servers leave the last one out. One without data is no event, and neither is a comment or a sign of life that a server sends as data.
 */
export class EventSource {
  readonly #ready: ServerSentEvent[] = [];
  readonly #stray: string[] = [];
  #strayRoom = mostStray;
  #overflow = false;
  readonly #parser = createParser({
    maxBufferSize: longestEvent,
    onEvent: ({ event, data }) => {
      if (!signOfLife.test(data)) this.#ready.push({ type: event ?? '', data });
    },
    onError: ({ type, line = '' }: ParseError) => {
      this.#overflow ||= type === 'max-buffer-size-exceeded';
      this.#strayRoom -= line.length + 1;
      if (type === 'unknown-field' && this.#strayRoom >= 0) this.#stray.push(line);
    },
  });

  /** The events that a piece completes. Throws `RequestFailure` behind the last of them when one event passes 16 Mi characters. */
  *push(piece: string): Generator<ServerSentEvent, void, void> {
    this.#parser.feed(piece);
    yield* this.#ready.splice(0);
    if (this.#overflow)
      throw new RequestFailure('the provider sent an event of over 16 Mi characters', { transient: false });
  }

  /** The event that the end of the stream completes. */
  end(): readonly ServerSentEvent[] {
    this.#parser.feed('\n\n');
    return this.#ready.splice(0);
  }

  /** The first lines that are of no event. */
  get stray(): string {
    return this.#stray.join('\n');
  }
}
