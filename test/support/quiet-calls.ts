import type { InferenceCall } from '@svc/svc/inference/driver.ts';
import type { ToolCallContext } from '@svc/svc/tools/tool.ts';

/** A call of the only tool there is: it has no other to call, and nobody keeps what it records. */
export const aloneCall: Pick<ToolCallContext, 'tools' | 'record'> = {
  tools: {
    kindOf: () => undefined,
    dispatch: () => Promise.reject(new Error('there is no other tool')),
  },
  record: () => true,
};

/** An inference whose driver makes no calls of its own. */
export const noToolCalls: Pick<InferenceCall, 'callTool'> = {
  callTool: () => Promise.reject(new Error('this driver makes no calls of its own')),
};
