/** Reads the numbered frames of a capsule's event stream. Writing is in `frames.ts`: a running capsule writes and never reads them. */

import type { ReceivedFrame } from './frame-reader.ts';
import type { ArtifactFrame, EventId, TextFrame } from './frames.ts';
import { asJsonObject, type JsonObject, stringOr, wholeOrNull } from './json-object.ts';
import { parseJsonText } from './json-text.ts';

/** Any status; `rejected` is a state here. States of later versions are among them. */
export interface DecodedStatus {
  readonly event: 'status';
  readonly taskId: string;
  readonly contextId: string | null;
  readonly state: string;
  readonly message: string;
  readonly response: string | null;
  readonly final: boolean;
}

/** The keys of the frame that is sent, with a task id of any shape. */
export interface DecodedArtifact extends Omit<ArtifactFrame, 'taskId'> {
  readonly taskId: string;
}

export interface DecodedChunk extends Omit<TextFrame, 'event' | 'taskId'> {
  readonly event: 'text' | 'thinking';
  readonly taskId: string;
}

/** A frame of one connection. */
export type DecodedNotice =
  | {
      readonly event: 'gap';
      /** Is null when it names no whole number. */
      readonly firstAvailableId: EventId | null;
    }
  | { readonly event: 'connection-ack'; readonly conversationMode: string }
  | { readonly event: 'capsule-closed' }
  | { readonly event: 'error'; readonly error: string };

export type DecodedFrame = DecodedStatus | DecodedArtifact | DecodedChunk | DecodedNotice;

/** In the data of one frame: those that are known hold a dozen, and long texts are one value each. */
export const maxFrameValues = 32_768;

/** A runtime mints its ids, or takes those of its clients up to this length; longer ones are taken for missing. */
const maxId = 1024;
/** Readers keep these to identify frames: a longer one makes a frame that is not read. */
const maxTaskId = 256;

/**
 * What a frame says; null for an event that is not known and for data without what makes the frame worth reading: the state of a status, the
 * content of an artifact. Any other key that is missing or of another form is taken for empty, unknown keys are passed over (D1 "Client
 * tolerance").
 */
export function decodeFrame(received: ReceivedFrame): DecodedFrame | null {
  const frame = frameIn(received);
  return frame !== null && 'taskId' in frame && frame.taskId.length > maxTaskId ? null : frame;
}

function frameIn({ event, data }: ReceivedFrame): DecodedFrame | null {
  switch (event) {
    case 'status':
      return decodeStatus(objectIn(data));
    case 'artifact':
      return decodeArtifact(objectIn(data));
    case 'text':
    case 'thinking':
      return decodeChunk(event, objectIn(data));
    case 'gap':
      return { event, firstAvailableId: firstAvailableId(data) };
    case 'connection-ack':
      return { event, conversationMode: stringOr(objectIn(data)?.['conversation_mode'], '') };
    case 'capsule-closed':
      return { event };
    case 'error':
      return { event, error: errorText(data) };
    default:
      return null;
  }
}

function decodeStatus(fields: JsonObject | null): DecodedStatus | null {
  const status = asJsonObject(fields?.['status']);
  if (fields === null || typeof status?.['state'] !== 'string') return null;
  return {
    event: 'status',
    taskId: stringOr(fields['id'], ''),
    contextId: idOrNull(fields['context_id']),
    state: status['state'],
    message: stringOr(status['message'], ''),
    response: stringOr(status['response'], null),
    final: fields['final'] === true,
  };
}

function decodeArtifact(fields: JsonObject | null): DecodedArtifact | null {
  const artifact = asJsonObject(fields?.['artifact']);
  if (typeof artifact?.['content'] !== 'string') return null;
  return {
    event: 'artifact',
    taskId: stringOr(fields?.['id'], ''),
    toolName: stringOr(artifact['tool_name'], ''),
    content: artifact['content'],
    fenceSource: stringOr(artifact['fence_source'], null),
    toolCallId: idOrNull(artifact['tool_call_id']),
    isError: artifact['is_error'] === true,
    durationMs: wholeOrNull(artifact['duration_ms']),
    exitCode: wholeOrNull(artifact['exit_code']),
    truncated: artifact['truncated'] === true,
  };
}

function decodeChunk(event: DecodedChunk['event'], fields: JsonObject | null): DecodedChunk | null {
  if (fields === null) return null;
  return {
    event,
    taskId: stringOr(fields['id'], ''),
    text: stringOr(fields['text'], ''),
    final: fields['final'] === true,
  };
}

function objectIn(data: string): JsonObject | null {
  const parsed = parseJsonText(data, maxFrameValues);
  return parsed.kind === 'json' ? asJsonObject(parsed.value) : null;
}

function idOrNull(value: unknown): string | null {
  return typeof value === 'string' && value.length <= maxId ? value : null;
}

/** `first_available_id` with every digit; null when it is no whole number (D1 "Frame types", `gap`). */
function firstAvailableId(data: string): EventId | null {
  if (typeof objectIn(data)?.['first_available_id'] !== 'number') return null;
  const digits = objectIn(quoteNumbers(data))?.['first_available_id'];
  return typeof digits === 'string' && /^\d{1,20}$/.test(digits) ? BigInt(digits) : null;
}

const errorStart = '{"error":"';
const errorEnd = '"}';

/** What an `error` frame says; its data may be no JSON, as its text is inserted without escaping (D1 "Frame types", `error`). */
function errorText(data: string): string {
  const error = objectIn(data)?.['error'];
  if (typeof error === 'string') return error;
  const isWhole = data.startsWith(errorStart) && data.endsWith(errorEnd);
  return isWhole ? data.slice(errorStart.length, -errorEnd.length) : data;
}

/** JSON with each number as a string: what is parsed into a number loses digits above 2^53. */
function quoteNumbers(json: string): string {
  let isInString = false;
  return json.replaceAll(/\\.|"|[-\d][\d.eE+-]*/g, (token) => {
    if (token === '"') isInString = !isInString;
    return isInString || token === '"' || token.startsWith('\\') ? token : `"${token}"`;
  });
}
