/** The frames of an event stream, and how they are written. */

import type { ContextId, TaskId } from './ids.ts';

/** The label of a frame: an unsigned 64-bit integer, neither unique nor consecutive (D1 "Event ids"). */
export type EventId = bigint;

export const maxEventId: EventId = 2n ** 64n - 1n;

/** States a `status` frame carries (D1 "Frame types", `status`). `rejected` has a frame type of its own. */
export type FrameState = 'working' | 'input-required' | 'completed' | 'failed' | 'canceled';

/** A status of the agent loop or of a queued cancel: no context id. */
export interface TaskStatusFrame {
  readonly event: 'status';
  readonly taskId: TaskId;
  readonly state: Exclude<FrameState, 'input-required'>;
  readonly message: string;
  /** The text of `out/result.txt`; only on a final status other than `completed`, and only when one was written. */
  readonly response?: string;
  readonly final: boolean;
}

/** The three statuses of an input wait, the only ones with a context id (D1 "Frame types", `status`). Never final. */
export interface InputWaitFrame {
  readonly event: 'status';
  readonly taskId: TaskId;
  readonly contextId: ContextId;
  readonly state: 'input-required' | 'working' | 'failed';
  readonly message: string;
  readonly final: false;
}

/** One tool call's result or one hook artifact; every key is always present (D1 "Frame types", `artifact`). */
export interface ArtifactFrame {
  readonly event: 'artifact';
  readonly taskId: TaskId;
  readonly toolName: string;
  readonly content: string;
  readonly fenceSource: string | null;
  readonly toolCallId: string | null;
  readonly isError: boolean;
  readonly durationMs: number | null;
  readonly exitCode: number | null;
  readonly truncated: boolean;
}

export interface TextFrame {
  readonly event: 'text';
  readonly taskId: TaskId;
  readonly text: string;
  readonly final: boolean;
}

export interface ThinkingFrame {
  readonly event: 'thinking';
  readonly taskId: TaskId;
  readonly text: string;
}

/** Frames that carry an id and enter the replay buffer. */
export type NumberedFrame = TaskStatusFrame | InputWaitFrame | ArtifactFrame | TextFrame | ThinkingFrame;

/** Written to the submitting connection alone, with id 0, and never buffered (D1 "Task states"). */
export interface RejectedFrame {
  readonly event: 'rejected';
  readonly taskId: TaskId;
}

export interface GapFrame {
  readonly event: 'gap';
  readonly firstAvailableId: EventId;
}

export interface ConnectionAckFrame {
  readonly event: 'connection-ack';
  readonly conversationMode: 'stateless' | 'threaded';
}

export interface CapsuleClosedFrame {
  readonly event: 'capsule-closed';
}

export interface ErrorFrame {
  readonly event: 'error';
  readonly error: string;
}

/** Frames of one connection: they never enter the replay buffer (D1 "Replay" 2). */
export type ConnectionFrame = RejectedFrame | GapFrame | ConnectionAckFrame | CapsuleClosedFrame | ErrorFrame;

/** The comment that keeps a connection busy (D1 "Heartbeat"). */
export const heartbeat = ':heartbeat\n\n';

/** What a rejected task gets, in a frame and in an answer alike (D1 "Task states"). */
export const rejectedMessage = 'task rejected: capsule is busy';

/** A frame with its id as text: id, event and data lines, ended by a blank line (D1 "Frame format"). It is sent as UTF-8. */
export function encodeNumberedFrame(id: EventId, frame: NumberedFrame): string {
  return `id: ${id}\nevent: ${frame.event}\ndata: ${encodeFrameData(frame)}\n\n`;
}

/** A frame that belongs to one connection, as text. */
export function encodeConnectionFrame(frame: ConnectionFrame): string {
  switch (frame.event) {
    case 'rejected': {
      const data = { id: frame.taskId, status: { state: 'rejected', message: rejectedMessage }, final: true };
      return `id: 0\nevent: status\ndata: ${JSON.stringify(data)}\n\n`;
    }
    case 'gap':
      // Written as text: the id may be above what a JSON number of this language holds.
      return `event: gap\ndata: {"first_available_id":${frame.firstAvailableId}}\n\n`;
    case 'connection-ack': {
      const data = { role: 'observer', conversation_mode: frame.conversationMode };
      return `event: connection-ack\ndata: ${JSON.stringify(data)}\n\n`;
    }
    case 'capsule-closed':
      return 'event: capsule-closed\ndata: {}\n\n';
    case 'error':
      return `event: error\ndata: ${errorData(frame.error)}\n\n`;
  }
}

/** The data of a frame, as one line of JSON. */
export function encodeFrameData(frame: NumberedFrame): string {
  switch (frame.event) {
    case 'status':
      return JSON.stringify({
        id: frame.taskId,
        ...('contextId' in frame ? { context_id: frame.contextId } : {}),
        status: {
          state: frame.state,
          message: frame.message,
          ...('response' in frame ? { response: frame.response } : {}),
        },
        final: frame.final,
      });
    case 'artifact':
      return JSON.stringify({
        id: frame.taskId,
        artifact: {
          tool_name: frame.toolName,
          content: frame.content,
          fence_source: frame.fenceSource,
          tool_call_id: frame.toolCallId,
          is_error: frame.isError,
          duration_ms: frame.durationMs,
          exit_code: frame.exitCode,
          truncated: frame.truncated,
        },
      });
    case 'text':
      return chunkData(frame, frame.final);
    case 'thinking':
      return chunkData(frame, false);
  }
}

/** Put together by hand: chunks are nearly all that a stream carries, and an id needs no escaping. */
function chunkData({ taskId, text }: TextFrame | ThinkingFrame, final: boolean): string {
  return `{"id":"${taskId}","text":${JSON.stringify(text)},"final":${final}}`;
}

/**
 * The text is inserted without escaping, as D1 "Frame types" (`error`) says, so the data may be invalid JSON.
 * Line ends alone are taken out: a data line is exactly one line.
 */
function errorData(error: string): string {
  return `{"error":"${error.replaceAll(/[\r\n]+/g, ' ')}"}`;
}

const decimalDigits = /^[0-9]+$/;

/**
 * The value of a `Last-Event-ID` header: decimal digits up to 2^64-1, else it is not a number and counts as absent
 * (D1 "Replay" 3).
 */
export function parseLastEventId(header: string | undefined): EventId | undefined {
  if (header === undefined || !decimalDigits.test(header)) return undefined;
  // Longer than any 64-bit number even without leading zeros: not worth turning into a big integer.
  const digits = header.replace(/^0+(?=\d)/, '');
  if (digits.length > 20) return undefined;
  const id = BigInt(digits);
  return id <= maxEventId ? id : undefined;
}
