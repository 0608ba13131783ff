/** Makes calls for tests that are about something else. */

import type { InferenceCall } from '@svc/session/model/driver.ts';
import type { ToolCallContext } from '@svc/session/tools/tool.ts';

/** A call of the only tool there is: it has no other to call, and nobody keeps what it records. */
export const aloneCall: Pick<ToolCallContext, 'place' | 'settle' | 'tools' | 'judge' | 'record'> = {
  place: 'tsk_1/1/m1/t1',
  settle: (look) => look(),
  tools: {
    kindOf: () => undefined,
    dispatch: () => Promise.reject(new Error('there is no other tool')),
  },
  judge: async () => ({ kind: 'proceed' }),
  record: () => true,
};

/** An inference whose driver makes no calls of its own. */
export const noToolCalls: Pick<InferenceCall, 'place' | 'callTool'> = {
  place: 'tsk_1/1/m1',
  callTool: () => Promise.reject(new Error('this driver makes no calls of its own')),
};

/** The real time for what waits in hooks. */
export function realTimer(_name: string, ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}
