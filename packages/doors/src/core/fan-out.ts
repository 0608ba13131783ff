/** Sends the events of one task to every stream that follows it: each is encoded once. */

import { OncePerTurn } from '@svc/session/stream/once-per-turn.ts';

/** A stream that follows. What it writes around each event is its own. */
export interface FanOutSink {
  /** Before and after each event. */
  readonly head: string;
  readonly tail: string;
  /** `pieces` are whole events, and may be shared with other streams. */
  write(pieces: readonly Uint8Array[], events: number): void;
  /** Nothing follows. */
  end(): void;
}

/** From here on the bytes of an event are shared by all streams, whatever each writes around it. */
const longEvent = 64 * 1024;

/** The streams of one task. All get the same events in the same order. */
export class FanOut {
  readonly #sinks = new Set<FanOutSink>();
  readonly #turn = new OncePerTurn(() => this.#handOn());
  #events: string[] = [];

  get size(): number {
    return this.#sinks.size;
  }

  /** Events pushed from now on reach it, and none that were pushed before. */
  join(sink: FanOutSink): void {
    this.flush();
    this.#sinks.add(sink);
  }

  leave(sink: FanOutSink): void {
    this.#sinks.delete(sink);
  }

  /** An event as JSON text. */
  push(event: string): void {
    if (this.#sinks.size === 0) return;
    this.#events.push(event);
    this.#turn.schedule();
  }

  flush(): void {
    this.#turn.flush();
  }

  /** Hands on what was pushed, and ends every stream. */
  end(): void {
    this.flush();
    this.#turn.end();
    const sinks = [...this.#sinks];
    this.#sinks.clear();
    for (const sink of sinks) sink.end();
  }

  #handOn(): void {
    const events = this.#events;
    if (events.length === 0) return;
    this.#events = [];
    const long = events.map((event) => (event.length > longEvent ? Buffer.from(event) : null));
    const encoded = new Map<string, readonly Uint8Array[]>();
    for (const sink of this.#sinks) {
      const around = `${sink.head}\n${sink.tail}`;
      const pieces = encoded.get(around) ?? piecesOf(events, long, sink);
      encoded.set(around, pieces);
      sink.write(pieces, events.length);
    }
  }
}

/** What is short is one piece together. */
function piecesOf(
  events: readonly string[],
  long: readonly (Buffer | null)[],
  { head, tail }: Pick<FanOutSink, 'head' | 'tail'>,
): readonly Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let short = '';
  for (const [index, event] of events.entries()) {
    const bytes = long[index] ?? null;
    if (bytes === null) {
      short += head + event + tail;
      continue;
    }
    pieces.push(Buffer.from(short + head), bytes);
    short = tail;
  }
  if (short !== '') pieces.push(Buffer.from(short));
  return pieces;
}
