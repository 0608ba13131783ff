/** Prints the event stream of a capsule until it ends. */

import { once } from 'node:events';

import { ClientError } from '@svc/client/client-error.ts';
import { type EventStream, openStream } from '@svc/client/event-stream.ts';
import { HttpDoor } from '@svc/client/http-door.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isCoded } from '@svc/kit/diagnostics/system-reason.ts';
import { type EventId, parseLastEventId } from '@svc/protocol/frames.ts';
import type { ReceivedFrame } from '@svc/protocol/frame-reader.ts';
import { maxFrameValues } from '@svc/protocol/decode-frame.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import { type ApproachedCapsule, doorOf } from '@svc/record/running/approach-capsule.ts';
import { streamFaultOf } from '@svc/record/running/capsule-faults.ts';
import type { Output } from '@svc/terminal/screen/output.ts';
import { joined, Shown, jsonText } from '@svc/terminal/screen/shown.ts';
import { renderNotice, WatchView } from './watch-view.ts';

interface WatchOutput {
  readonly json: boolean;
  readonly stdout: Output;
  readonly stderr: Output;
}

export type StreamEnd =
  | { readonly kind: 'closed' }
  /** It ended, cleanly or not, without `capsule-closed`; `lastId` is null when no frame with an id was seen. */
  | { readonly kind: 'lost'; readonly lastId: EventId | null }
  /** Nobody reads what is printed any more. */
  | { readonly kind: 'unread' };

/**
 * Prints the frames of an event stream until it ends, and takes no more of it while stdout holds back. Closes it. Throws `E-IO-003`
 * on a frame that is too long.
 */
export async function followStream(stream: EventStream, output: WatchOutput): Promise<StreamEnd> {
  const unread = new AbortController();
  output.stdout.stream.once('error', () => {
    unread.abort();
    stream.close();
  });
  const isUnread = (): boolean => unread.signal.aborted;
  const printer = new Printer(output, unread.signal);
  let lastId: EventId | null = null;
  for await (const received of untilCut(stream)) {
    if (isUnread()) break;
    const { frames, isLast } = untilClosed(received);
    lastId = frames.reduce((last: EventId | null, { id }) => parseLastEventId(id) ?? last, lastId);
    await printer.print(frames);
    if (isLast && !isUnread()) return { kind: 'closed' };
  }
  if (isUnread()) return { kind: 'unread' };
  await printer.end();
  return { kind: 'lost', lastId };
}

function untilClosed(frames: readonly ReceivedFrame[]): { frames: readonly ReceivedFrame[]; isLast: boolean } {
  const closing = frames.findIndex(({ event }) => event === 'capsule-closed');
  return closing === -1 ? { frames, isLast: false } : { frames: frames.slice(0, closing + 1), isLast: true };
}

/** The frames of a stream; a connection that is cut ends them like one that is closed. */
async function* untilCut(stream: EventStream): AsyncGenerator<readonly ReceivedFrame[]> {
  try {
    yield* stream.frames;
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    if (error.code === 'too-large')
      throw new Diagnostic('E-IO-003', 'the capsule sent a frame of more than 128 Mi characters');
    // Reset, timed out, unreachable by now, or ended by us.
    if (!isCoded(error.cause)) throw error.cause;
  } finally {
    stream.close();
  }
}

class Printer {
  readonly #output: WatchOutput;
  readonly #unread: AbortSignal;
  readonly #view: WatchView;

  constructor(output: WatchOutput, unread: AbortSignal) {
    this.#output = output;
    this.#view = new WatchView(output.stdout);
    this.#unread = unread;
  }

  /** Prints what one chunk brought in one piece; resolves once stdout takes more, or nobody reads it. */
  async print(frames: readonly ReceivedFrame[]): Promise<void> {
    const text = this.#output.json
      ? joined(frames.map(renderFrameJson))
      : Shown.cleaned(frames.map((frame) => this.#view.show(frame)).join(''), 'laid out');
    await this.#write(text);
    for (const notice of frames.map(renderNotice)) if (notice !== null) this.#output.stderr.write(notice);
  }

  /** Ends a line that a lost stream left open. */
  async end(): Promise<void> {
    await this.#write(Shown.cleaned(this.#view.end(), 'laid out'));
  }

  async #write(text: Shown): Promise<void> {
    if (this.#output.stdout.write(text)) return;
    try {
      await once(this.#output.stdout.stream, 'drain', { signal: this.#unread });
    } catch (error) {
      if (!this.#unread.aborted) throw error;
    }
  }
}

/**
 * Asks a capsule for its event stream from the start of what it still holds (D1 "`svc watch` behaviour"). Throws
 * `E-IO-003` when it cannot be reached or answers anything else. The caller closes the stream.
 */
export async function openWatch(capsule: ApproachedCapsule): Promise<EventStream> {
  const method = 'stream/watch';
  try {
    return await openStream(new HttpDoor(doorOf(capsule)), { method, params: {}, lastEventId: '0' });
  } catch (error) {
    throw streamFaultOf(error, { ...capsule, method });
  }
}

/**
 * A frame as one line of `svc watch --json`: `id` as text, absent where the frame has none, then `event` and `data`. The data goes out as it
 * came, so that numbers above 2^53 keep their digits; data that is no JSON, or nests too deep or holds too much, goes out as a JSON string.
 */
export function renderFrameJson({ id, event, data }: ReceivedFrame): Shown {
  const label = id === undefined ? '' : `"id":${JSON.stringify(id)},`;
  return jsonText(`{${label}"event":${JSON.stringify(event)},"data":${jsonOnOneLine(data)}}`);
}

function jsonOnOneLine(data: string): string {
  // In JSON a line feed stands between tokens only: inside a string it is escaped.
  return parseJsonText(data, maxFrameValues).kind === 'json' ? data.replaceAll('\n', ' ') : JSON.stringify(data);
}
