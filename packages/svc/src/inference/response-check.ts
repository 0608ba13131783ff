import type { ContentBlock, DriverFailure, InferenceResponse } from './driver.ts';

export type ToolCallBlock = Extract<ContentBlock, { type: 'tool_call' }>;

export type Verdict =
  /** The task is done; `reply` is the text blocks joined by newlines. */
  | { readonly kind: 'complete'; readonly reply: string }
  /** At least one call, in the order the model made them. */
  | { readonly kind: 'calls'; readonly calls: readonly ToolCallBlock[] }
  /** The response was read but is wrong; `error` is the sentence for `out/result.txt`. */
  | Extract<DriverFailure, { kind: 'failed' }>;

/** Of one response; no model makes so many, and each is a frame and a line of the trace. */
const mostCalls = 1_024;
/** Of the id and the name of a call, in characters: frame, trace and conversation repeat them. */
const longestName = 4_096;
/** In characters: it comes with each request that follows. */
const longestContinuationId = 64 * 1024;

/** What a response means for its task; the stop reason alone decides (contracts §11), unless a part of it is longer than any that is meant. */
export function judgeResponse(response: InferenceResponse): Verdict {
  if ((response.continuationId?.length ?? 0) > longestContinuationId) {
    return failed(`gave a continuation id of more than ${longestContinuationId} characters`);
  }
  switch (response.stopReason) {
    case 'end_turn':
    case 'max_tokens':
      return { kind: 'complete', reply: replyOf(response.content) };
    case 'tool_call':
      return judgeCalls(response.content);
    case 'error':
      return { kind: 'failed', error: response.error || 'the driver reported an error without a text' };
    default:
      return failed(`gave an unknown stop reason: ${shown(response.stopReason)}`);
  }
}

function replyOf(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

function judgeCalls(content: readonly ContentBlock[]): Verdict {
  const calls = content.filter((block) => block.type === 'tool_call');
  if (calls.length === 0) return failed('announced a tool call and gave none');
  if (calls.length > mostCalls) return failed(`gave more than ${mostCalls} tool calls at once`);
  if (calls.some(({ id, name }) => id.length > longestName || name.length > longestName)) {
    return failed(`gave a tool call with an id or a name of more than ${longestName} characters`);
  }
  return { kind: 'calls', calls };
}

function failed(what: string): Verdict {
  return { kind: 'failed', error: `the driver ${what}` };
}

function shown(reason: string): string {
  return JSON.stringify(reason.length > 100 ? `${reason.slice(0, 100)}…` : reason);
}
