/** One connection that carries the frames of a capsule. */

import { FrameReader, type ReceivedFrame } from '@svc/protocol/frame-reader.ts';
import { decodeJsonRpcAnswer, encodeJsonRpcRequest, faultText } from '@svc/protocol/json-rpc.ts';
import { eventsHeader, eventsVersion } from '@svc/protocol/asked-events.ts';
import { ClientError } from './client-error.ts';
import type { HttpDoor, OpenAnswer } from './http-door.ts';

export interface StreamRequest {
  readonly method: string;
  readonly params: unknown;
  /** Where a replay begins (D1 "Replay" 3); when absent, no replay is asked for. */
  readonly lastEventId?: string;
  /** Asks for live events too (docs/protocol.md "Events beyond the specification"). */
  readonly events?: boolean;
  /** Called for everything that comes, a heartbeat too. */
  readonly onHeard?: () => void;
  readonly signal?: AbortSignal | undefined;
}

/** The header of a request that asks for what is beyond the specification. */
export const askingForEvents: Readonly<Record<string, string>> = { [eventsHeader]: eventsVersion };

/** A connection that is open; the caller closes it. */
export interface EventStream {
  /** Frames in batches, as they arrive, until the connection ends. Throws `too-large` for a frame that is too long, and what `OpenAnswer.pieces` does. */
  readonly frames: AsyncGenerator<readonly ReceivedFrame[], void>;
  /** Whether live events are among them. */
  readonly hasEvents: boolean;
  close(): void;
}

/** Calls a streaming method. Throws `refused`, `fault`, `bad-answer`, and `no-stream` when the answer is not an event stream. */
export async function openStream(
  door: HttpDoor,
  { method, params, lastEventId, events = false, onHeard = () => {}, signal }: StreamRequest,
): Promise<EventStream> {
  const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const more = events ? askingForEvents : {};
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream', ...resume, ...more };
  const body = encodeJsonRpcRequest(1, method, params);
  const { answer, close } = await door.open({ method: 'POST', target: '/', headers, body, signal });
  const { idleMs, maxFrame } = door.limits;
  if (answer.status === 200 && answer.mediaType === 'text/event-stream') {
    const hasEvents = events && answer.header(eventsHeader) === eventsVersion;
    return { frames: framesIn(heardIn(answer.pieces(idleMs), onHeard), maxFrame), hasEvents, close };
  }
  try {
    throw answer.status === 200 ? await noStream(door, answer, method) : await door.refusal(answer);
  } finally {
    close();
  }
}

/** The frames in the bytes of an event stream, in batches as they arrive. Throws `too-large` for a frame that is too long. */
export async function* framesIn(
  pieces: AsyncIterable<Uint8Array>,
  maxFrame?: number,
): AsyncGenerator<readonly ReceivedFrame[], void> {
  const reader = new FrameReader(maxFrame);
  for await (const piece of pieces) {
    const frames = reader.read(piece);
    if (reader.isTooLong) throw new ClientError('too-large', 'the capsule sent a frame that is too long');
    if (frames.length > 0) yield frames;
  }
}

async function* heardIn(pieces: AsyncIterable<Uint8Array>, onHeard: () => void): AsyncGenerator<Uint8Array, void> {
  for await (const piece of pieces) {
    onHeard();
    yield piece;
  }
}

async function noStream(door: HttpDoor, answer: OpenAnswer, method: string): Promise<ClientError> {
  const { status } = answer;
  const json = answer.mediaType === 'application/json' ? await door.jsonIn(answer) : undefined;
  if (json === undefined) {
    return new ClientError('no-stream', `${door.url} answered ${method} with no event stream`, { status });
  }
  const decoded = decodeJsonRpcAnswer(json);
  return decoded?.kind === 'error' ? faultOf(method, decoded) : oddAnswer(door, json);
}

/** The `bad-answer` for JSON that is not JSON-RPC, or not the expected kind of it. */
export function oddAnswer(door: HttpDoor, json: unknown): ClientError {
  const refusal = faultText(json);
  return new ClientError('bad-answer', `${door.url} did not answer with what was called for`, { refusal });
}

/** The `fault` of a JSON-RPC error. */
export function faultOf(method: string, { code, message }: { code: number | null; message: string }): ClientError {
  return new ClientError('fault', `${method} was refused: ${message}`, { fault: code, refusal: message });
}
