/** The tool that asks the user as a component. */

import { requestInput } from 'svc:task/task@0.1.0';

import type { ToolInput, ToolOutput } from '@svc/guest/tool.ts';
import { wellFormed } from '@svc/guest/text.ts';
import { payloadOf } from '@svc/guest/wit-error.ts';
import { answer } from './request-input-tool.ts';

/** `svc:tool/run` */
export const run = {
  run: ({ arguments: text }: ToolInput): ToolOutput => answer(text, ask),
};

function ask(prompt: string): { readonly answer: string } | { readonly refusal: string } {
  try {
    return { answer: requestInput(wellFormed(prompt)) };
  } catch (error) {
    const refusal = payloadOf(error);
    if (typeof refusal !== 'string') throw error;
    return { refusal };
  }
}
