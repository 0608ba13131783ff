/** Shows a call that waits for approval as a form, and takes the answer of the client's user. */

import type { ElicitRequestFormParams } from '@modelcontextprotocol/server';

import type { AskedApproval } from '@svc/protocol/approval.ts';
import type { Question } from '@svc/protocol/question.ts';
import { askedRows } from '@svc/session/approvals/asked-effect.ts';
import { answererOf } from '../callers/principal.ts';
import type { Caller } from './caller.ts';

/** What a client said to a form, as the library has read it. */
interface SaidToForm {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Readonly<Record<string, unknown>> | undefined;
}

const titles = {
  once: 'Run it once',
  session: 'Run the same call for the rest of the session',
  manifest: 'Run the same call in every session of this manifest',
} as const;

/**
 * The call, where this client may answer for it: the manifest names `mcp`, since a client may let its model fill in a form, and the client has shown a door
 * token with the scope `answer`. Returns null for any other client, and if a text answers the question.
 */
export function formedApproval({ approval }: Question, { core, principal }: Caller): AskedApproval | null {
  if (approval === undefined || core.session.approvals?.takes('mcp') !== true) return null;
  return answererOf(principal) === null ? null : approval;
}

/** The call first, in rows of printable ASCII; nothing is chosen beforehand. */
export function approvalForm(asked: AskedApproval, { core }: Pick<Caller, 'core'>): ElicitRequestFormParams {
  const alsoBy = core.session.approvals?.takes('terminal') === true ? [`svc approve ${asked.id} answers it too`] : [];
  return {
    mode: 'form',
    message: [...askedRows(asked), ...alsoBy].join('\n'),
    requestedSchema: {
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: 'Run it?',
          oneOf: [
            ...asked.options.map((option) => ({ const: option, title: titles[option] })),
            { const: 'deny', title: 'Do not run it' },
          ],
        },
      },
      required: ['decision'],
    },
  };
}

/** Settles the approval; to decline or cancel the form denies the call. A form with another choice changes nothing: the call still waits. */
export function settleByForm(
  { id, digest, options }: AskedApproval,
  { action, content }: SaidToForm,
  { core, principal }: Caller,
): void {
  const chosen = action === 'accept' ? content?.['decision'] : 'deny';
  const option = options.find((offered) => offered === chosen);
  if (option === undefined && chosen !== 'deny') return;
  const decision = option === undefined ? 'deny' : 'allow';
  core.session.approvals?.answer(
    { id, digest, decision, option: option ?? 'once', note: null },
    { principal: principal.name, way: 'mcp' },
  );
}
