import type { ContentBlock, InferenceResponse } from './driver.ts';

export type ToolCallBlock = Extract<ContentBlock, { type: 'tool_call' }>;

export type Verdict =
  /** The task is done; `reply` is the text blocks joined by newlines. */
  | { readonly kind: 'complete'; readonly reply: string }
  /** At least one call, in the order the model made them. */
  | { readonly kind: 'calls'; readonly calls: readonly ToolCallBlock[] }
  /** The response was read but is wrong; `error` is the sentence for `out/result.txt`. */
  | { readonly kind: 'failed'; readonly error: string };

/** What a response means for its task; the stop reason alone decides (contracts §11). */
export function judgeResponse(response: InferenceResponse): Verdict {
  switch (response.stopReason) {
    case 'end_turn':
    case 'max_tokens':
      return { kind: 'complete', reply: replyOf(response.content) };
    case 'tool_call':
      return judgeCalls(response.content);
    case 'error':
      return { kind: 'failed', error: response.error || 'the driver reported an error without a text' };
    default:
      return { kind: 'failed', error: `the driver gave an unknown stop reason: ${shown(response.stopReason)}` };
  }
}

function replyOf(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

function judgeCalls(content: readonly ContentBlock[]): Verdict {
  const calls = content.filter((block) => block.type === 'tool_call');
  if (calls.length > 0) return { kind: 'calls', calls };
  return { kind: 'failed', error: 'the driver announced a tool call and gave none' };
}

function shown(reason: string): string {
  return JSON.stringify(reason.length > 100 ? `${reason.slice(0, 100)}…` : reason);
}
