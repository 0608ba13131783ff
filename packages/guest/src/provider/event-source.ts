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
 * The events of a stream that arrives in arbitrary pieces. An event cut off by the end of the stream counts as if its blank
 * line had come: some servers leave the last one out. One without data is no event, and neither is a comment or a sign of life that a server sends as data.
 * `onStray` is called with the first lines that are of no event. Throws `RequestFailure` when one event passes 16 Mi characters.
 */
export function* serverSentEvents(
  pieces: Iterable<string>,
  onStray: (line: string) => void = () => {},
): Generator<ServerSentEvent, void, void> {
  const ready: ServerSentEvent[] = [];
  let overflow = false;
  let strayRoom = mostStray;
  const parser = createParser({
    maxBufferSize: longestEvent,
    onEvent: ({ event, data }) => {
      if (!signOfLife.test(data)) ready.push({ type: event ?? '', data });
    },
    onError: ({ type, line = '' }: ParseError) => {
      overflow ||= type === 'max-buffer-size-exceeded';
      strayRoom -= line.length + 1;
      if (type === 'unknown-field' && strayRoom >= 0) onStray(line);
    },
  });
  for (const piece of pieces) {
    parser.feed(piece);
    yield* ready.splice(0);
    if (overflow) throw new RequestFailure('the provider sent an event of over 16 Mi characters', { transient: false });
  }
  parser.feed('\n\n');
  yield* ready.splice(0);
}
