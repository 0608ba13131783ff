import type { DispatchedCall } from '../tools/dispatch.ts';
import type { TraceEvent } from '../trace/events.ts';
import type { TaskId } from '@svc/protocol/ids.ts';

export interface TracedCall {
  readonly taskId: TaskId;
  readonly turn: number;
  /** The arguments as the model gave them. */
  readonly input: unknown;
  readonly call: DispatchedCall;
}

/** The one trace line of a dispatched call; its `duration_ms` is the artifact frame's. */
export function callTrace({ taskId, turn, input, call }: TracedCall): TraceEvent {
  const common = {
    task_id: taskId,
    turn,
    tool_call_id: call.callId,
    arguments: input,
    is_error: call.isError,
    duration_ms: call.durationMs,
    content_bytes: Buffer.byteLength(call.content),
  };
  const outcome = { exit_code: call.exitCode, truncated: call.truncated };
  switch (call.kind) {
    case 'skill':
      return { event_type: 'skill_call', ...common, skill_name: call.toolName };
    case 'shell':
      return { event_type: 'shell', ...common, ...outcome, command_name: call.toolName };
    case 'wasm':
    case 'native':
    case 'mcp':
    case 'runtime':
    case 'unknown':
      return { event_type: 'tool_call', ...common, ...outcome, tool_name: call.toolName, tool_kind: call.kind };
  }
}
