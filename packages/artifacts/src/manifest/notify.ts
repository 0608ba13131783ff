/** Says what `notify` may name: where the operator hears of questions, ends and serious refusals. */

import * as z from 'zod/mini';

import { endpointFault } from '@svc/kit/net/endpoint.ts';
import type { Findings } from './checked-document.ts';
import type { Draft } from './key-path.ts';
import { referencedVariable } from './references.ts';

/** The targets, and the secret that goes with each. */
const secretOf = { webhook: 'secret', ntfy: 'token' } as const;

/** What such a service reads from the query may stand there. */
function webhookFault(text: string): string | undefined {
  return endpointFault(text.replace(/\?[^#]*$/, ''));
}

/** A topic is one segment of these characters (https://docs.ntfy.sh/publish/#picking-a-topic). */
function topicFault(text: string): string | undefined {
  const fault = endpointFault(text);
  if (fault !== undefined) return fault;
  const isTopic = /^\/[-_A-Za-z0-9]{1,64}$/.test(new URL(text).pathname);
  return isTopic ? undefined : 'must have a topic alone as its path: 1 to 64 letters, digits, hyphens and underscores';
}

function address(faultOf: (text: string) => string | undefined) {
  return z
    .string()
    .check(z.refine((text) => faultOf(text) === undefined, { error: ({ input }) => faultOf(String(input)) }));
}

const someText = z.string().check(z.minLength(1));
/** It is sent in a header (RFC 6750 "Authorization Request Header Field"). */
const bearerToken = z
  .string()
  .check(
    z.refine(
      (text) => /^[\w.~+/-]+=*$/.test(text) || referencedVariable(text) !== undefined,
      'must be a token of letters, digits and -._~+/',
    ),
  );

export const notify = z.lazy(() =>
  z.strictObject({
    webhook: z.optional(address(webhookFault)),
    secret: z.optional(someText),
    ntfy: z.optional(address(topicFault)),
    token: z.optional(bearerToken),
  }),
);

/** A capsule has one target. */
export function checkNotify(draft: Draft, findings: Findings): void {
  if (!draft.isBlock('notify')) return;
  const [target, other] = (['webhook', 'ntfy'] as const).filter((key) => draft.has('notify', key));
  if (target === undefined) {
    findings.add('E-MAN-001', 'notify needs webhook or ntfy', { path: ['notify'] });
    return;
  }
  if (other !== undefined) {
    const message = `notify.${other} cannot stand beside notify.${target}: a capsule has one target`;
    findings.add('E-MAN-003', message, { path: ['notify', other], part: 'key', hint: 'keep one of the two' });
    return;
  }
  const foreign = secretOf[target === 'webhook' ? 'ntfy' : 'webhook'];
  if (!draft.has('notify', foreign)) return;
  const hint = `notify.${target} goes with notify.${secretOf[target]}`;
  findings.add('E-MAN-003', `notify.${foreign} does not go with notify.${target}`, {
    path: ['notify', foreign],
    part: 'key',
    hint,
  });
}
