/** Reads the events of a stream that a provider sends. */

import { createParser, type ParseError } from 'eventsource-parser';

import { RequestFailure } from '../request-failure.ts';

const maxEvent = 16 * 1024 * 1024;
const maxStray = 16 * 1024;
const maxStrayLines = 65_536;
const shortEvent = 1024 * 1024;
const maxValues = 1024 * 1024;
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
  #strayRoom = maxStray;
  #strayLines = 0;
  /** What no stream that is meant has. */
  #excess: string | null = null;
  readonly #parser = createParser({
    maxBufferSize: maxEvent,
    onEvent: ({ event, data }) => {
      if (holdsTooMuch(data)) this.#excess ??= tooMuch;
      else if (!signOfLife.test(data)) this.#ready.push({ type: event ?? '', data });
    },
    onError: ({ type, line = '' }: ParseError) => {
      if (type === 'max-buffer-size-exceeded') this.#excess ??= 'an event of over 16 Mi characters';
      this.#strayLines += 1;
      if (this.#strayLines > maxStrayLines) this.#excess ??= `more than ${maxStrayLines} lines that are of no event`;
      this.#strayRoom -= line.length + 1;
      if (type === 'unknown-field' && this.#strayRoom >= 0) this.#stray.push(line);
    },
  });

  /** The events that a piece completes. Throws `RequestFailure` behind the last of them when the stream has more than any that is meant. */
  *push(piece: string): Generator<ServerSentEvent, void, void> {
    this.#parser.feed(piece);
    yield* this.#ready.splice(0);
    if (this.#excess !== null) throw new RequestFailure(`the provider sent ${this.#excess}`, { transient: false });
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

const tooMuch = 'JSON of over a million values';

/** Whether JSON has so many values that they would fill the memory, each of them being larger than its text. */
function holdsTooMuch(json: string): boolean {
  return json.length > shortEvent && (json.match(/[{[,]/g)?.length ?? 0) > maxValues;
}

/** Throws `RequestFailure` for what no reader may parse. */
export function checkWhole(json: string): void {
  if (holdsTooMuch(json)) throw new RequestFailure(`the provider sent ${tooMuch}`, { transient: false });
}
