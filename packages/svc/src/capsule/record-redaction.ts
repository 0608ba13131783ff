import { redactHandles } from '../resources/handle-id.ts';
import type { PreparedLaunch } from './prepare.ts';

/** What makes a text fit to be kept beside a session, or told as an error: no secret is in it and no peer handle (D3 "Events"). */
export function recordRedaction({ redactor }: Pick<PreparedLaunch, 'redactor'>): (text: string) => string {
  return (text) => redactor.redact(redactHandles(text));
}
