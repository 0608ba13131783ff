/** The headers that every answer of the viewer's server has, and how it says what went wrong. */

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import { type OpenAnswer, openReply } from '@svc/kit/http/open-body.ts';
import { jsonReply, type Reply, type ReplyHeaders } from '@svc/kit/http/reply.ts';

/** No answer is kept, read as another type, shown within another page or handed to one; none but the page may run or load anything. */
export const everyAnswer: ReplyHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
};

/** A reply of a handler with the headers of every answer; its own ones count where both have one. */
export function guarded(reply: Reply): Reply {
  return reply.kind === 'stream' ? reply : { ...reply, headers: { ...everyAnswer, ...reply.headers } };
}

/** The answer to a request that is refused: `{"error": {"message", "code"?}}`. */
export function refusalReply({ status, code, message, headers }: HttpRefusal): Reply {
  const about = code.startsWith('E-') ? { message, code } : { message };
  return guarded(jsonReply({ error: about }, status, headers));
}

/** What is wrong with a session or a request, as a refusal with its code. */
export function refusalOf(problem: Diagnostic, status: number): HttpRefusal {
  return new HttpRefusal(status, problem.code, problem.message);
}

export function notThere(message: string): HttpRefusal {
  return new HttpRefusal(404, 'not_found', message);
}

/** A reply whose end is not known yet, with the headers of every answer. */
export function openAnswer({
  headers,
  ...answer
}: Omit<OpenAnswer, 'headers'> & { readonly headers?: ReplyHeaders }): Reply {
  return openReply({ ...answer, headers: { ...everyAnswer, ...headers } });
}
