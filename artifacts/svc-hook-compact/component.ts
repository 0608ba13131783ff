/** The hook that shortens conversations as a component. */

import { complete } from 'svc:runtime/inference@0.1.0';

import { observer, type Lifecycle } from '@svc/guest/hook.ts';
import { wellFormed, withWellFormedText } from '@svc/guest/text.ts';
import { payloadOf } from '@svc/guest/wit-error.ts';
import { compact } from './compact.ts';

/** `svc:hook/lifecycle` */
export const lifecycle: Lifecycle = {
  ...observer,
  onCompaction: (event) => withWellFormedText(compact(event, ask)),
};

function ask(system: string, prompt: string, maxTokens: number): string {
  try {
    return complete({ system, prompt: wellFormed(prompt), maxTokens });
  } catch (error) {
    const refusal = payloadOf(error);
    throw typeof refusal === 'string' ? new Error(`the model gave no summary: ${refusal}`) : error;
  }
}
