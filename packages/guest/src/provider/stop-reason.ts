/** Understands why a provider says that its model stopped, in the words of all makers. */

import type { StopReason } from '../driver.ts';
import { oneLine, RequestFailure } from '../request-failure.ts';

type Meaning = 'done' | 'cut' | 'call' | 'filtered' | 'refused' | 'broken';

const words: Readonly<Record<Meaning, readonly string[]>> = {
  // A turn that a provider pauses for tools of its own is over for us, who never offer any.
  done: [
    'stop',
    'stop_sequence',
    'stop_token',
    'end_turn',
    'end',
    'eos',
    'eos_token',
    'complete',
    'completed',
    'pause_turn',
  ],
  cut: ['length', 'max_tokens', 'max_output_tokens', 'model_length', 'model_context_window_exceeded'],
  call: ['tool_calls', 'tool_call', 'tool_use', 'function_call'],
  filtered: [
    'content_filter',
    'content_filtered',
    'guardrail_intervened',
    'prohibited_content',
    'recitation',
    'safety',
    'sensitive',
  ],
  refused: ['refusal'],
  broken: ['abort', 'aborted', 'error', 'insufficient_system_resource', 'malformed_function_call', 'network_error'],
};

const meanings: ReadonlyMap<string, Meaning> = new Map(
  (Object.keys(words) as Meaning[]).flatMap((meaning) => words[meaning].map((word) => [word, meaning] as const)),
);

/** What a reason means; `called` says whether the reply has calls. Throws a `RequestFailure` for one with which the provider gave up. */
export function stopReasonOf(reason: string, called: boolean): StopReason {
  switch (meanings.get(reason.toLowerCase().replaceAll('-', '_'))) {
    case 'done':
      // Some servers say so although they called tools.
      return called ? { tag: 'tool-call' } : { tag: 'end-turn' };
    case 'cut':
      return { tag: 'max-tokens' };
    case 'call':
      return { tag: 'tool-call' };
    case 'filtered':
      return { tag: 'error', val: "the provider's content filter stopped the reply" };
    case 'refused':
      return { tag: 'error', val: 'the model refused to answer' };
    case 'broken':
      throw new RequestFailure(`provider gave up its reply: ${reason}`, { transient: true });
    case undefined:
      return { tag: 'other', val: oneLine(reason) };
  }
}
