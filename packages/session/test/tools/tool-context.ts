import type { InputAnswer, ToolCallContext } from '../../src/tools/tool.ts';
import { aloneCall } from '../../../../test/support/quiet-calls.ts';

export interface RecordedContext extends ToolCallContext {
  readonly texts: string[];
  readonly thoughts: string[];
  readonly prompts: string[];
}

/** A call's context that writes down what the tool sends, and answers input waits with `answer`. */
export function recordingContext(over: Partial<ToolCallContext> & { answer?: InputAnswer } = {}): RecordedContext {
  const { answer = { kind: 'timed-out' }, ...given } = over;
  const texts: string[] = [];
  const thoughts: string[] = [];
  const prompts: string[] = [];
  return {
    taskId: 'tsk_1',
    callId: 'call_1',
    signal: new AbortController().signal,
    emitText: (text) => void texts.push(text),
    emitThinking: (text) => void thoughts.push(text),
    requestInput: (prompt) => {
      prompts.push(prompt);
      return Promise.resolve(answer);
    },
    ...aloneCall,
    ...given,
    texts,
    thoughts,
    prompts,
  };
}
