/** One connection that carries the frames of a capsule. */

import { FrameReader, type ReceivedFrame } from '@svc/protocol/frame-reader.ts';
import { decodeJsonRpcAnswer, encodeJsonRpcRequest } from '@svc/protocol/json-rpc.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import { ClientError } from './client-error.ts';
import type { HttpDoor, OpenAnswer } from './http-door.ts';

export interface StreamRequest {
  readonly method: string;
  readonly params: unknown;
  /** Where a replay begins (D1 "Replay" 3); none is asked for when absent. */
  readonly lastEventId?: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The frames of a streaming method, as many at a time as came together. The connection ends with the reading of it, and the reading with the
 * connection. Throws `refused`, `fault` and `bad-answer` when no event stream is answered, `too-large` for a frame that is too long, and what
 * `OpenAnswer.pieces` does.
 */
export async function* streamFrames(
  door: HttpDoor,
  { method, params, lastEventId, signal }: StreamRequest,
): AsyncGenerator<readonly ReceivedFrame[], void> {
  const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const headers = { accept: 'text/event-stream', 'content-type': 'application/json', ...resume };
  const body = encodeJsonRpcRequest(1, method, params);
  const { answer, close } = await door.open({ method: 'POST', target: '/', headers, body, signal });
  try {
    if (answer.status !== 200) throw await door.refusal(answer);
    if (answer.mediaType !== 'text/event-stream') throw await noStream(door, answer, method);
    yield* framesIn(answer.pieces(door.limits.idleMs), door.limits.longestFrame);
  } finally {
    close();
  }
}

/** The frames in the bytes of an event stream, as many at a time as came together. Throws `too-large` for a frame that is too long. */
export async function* framesIn(
  pieces: AsyncIterable<Uint8Array>,
  longestFrame?: number,
): AsyncGenerator<readonly ReceivedFrame[], void> {
  const reader = new FrameReader(longestFrame);
  for await (const piece of pieces) {
    const frames = reader.read(piece);
    if (reader.isTooLong) throw new ClientError('too-large', 'the capsule sent a frame that is too long');
    if (frames.length > 0) yield frames;
  }
}

const longestRefusal = 64 * 1024;

async function noStream(door: HttpDoor, answer: OpenAnswer, method: string): Promise<ClientError> {
  const { callMs } = door.limits;
  if (answer.mediaType === 'application/json') {
    const json = parseJsonText(new TextDecoder().decode(await answer.bytes(longestRefusal, callMs)));
    const refusal = json.kind === 'json' ? decodeJsonRpcAnswer(json.value) : null;
    if (refusal?.kind === 'error') return faultOf(method, refusal);
  }
  return new ClientError('bad-answer', `${door.url} answered ${method} with no event stream`, {
    status: answer.status,
  });
}

export function faultOf(method: string, { code, message }: { code: number | null; message: string }): ClientError {
  return new ClientError('fault', `${method} was refused: ${message}`, { fault: code });
}
