/** Asks the running capsule of a session for a page: with its token, which the page never learns. */

import { HttpDoor } from '@svc/client/http-door.ts';
import { ClientError } from '@svc/client/client-error.ts';
import { askingForEvents } from '@svc/client/event-stream.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { singleHeader } from '@svc/kit/http/hygiene.ts';
import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import type { Reply } from '@svc/kit/http/reply.ts';
import type { HttpRequest } from '@svc/kit/http/route.ts';
import { encodeJsonRpcFault, JsonRpcFault, parseJsonRpcRequest } from '@svc/protocol/json-rpc.ts';
import {
  type ApproachedCapsule,
  approachCapsule,
  doorOf,
  locateCapsule,
  tokenChoice,
} from '@svc/record/running/approach-capsule.ts';
import { readPersonKey } from '@svc/record/running/person-key-file.ts';
import type { ViewedSession } from './viewed-session.ts';

/** All that a page can have a capsule do. */
const methods: ReadonlySet<string> = new Set(['message/send', 'tasks/cancel', 'tasks/answer', 'approvals/answer']);

const callMs = 10_000;
const maxAnswerBytes = 4 * 1024 * 1024;

export function notLive(): HttpRefusal {
  return new HttpRefusal(410, 'not_live', 'The session does not run.');
}

/** The user whose sessions are shown: the home lists what runs, and the environment may hold the token of a listener. */
export interface ViewingUser {
  readonly home: string;
  readonly env: Environment;
}

/**
 * Where the capsule of a session listens, once it has shown by its card that it is this session. A page that may only read gets no token from
 * the environment. Returns null where the session does not run; refusals as of `svc watch`.
 */
export async function approach(
  user: ViewingUser,
  session: ViewedSession,
  {
    method,
    readOnly,
    timeoutMs = callMs,
    asPerson = 'never',
  }: {
    readonly method: string;
    readonly readOnly: boolean;
    readonly timeoutMs?: number;
    /** Whether it shows the key for approvals, as `svc approve` does; `always` refuses a session without one. */
    readonly asPerson?: 'always' | 'if-any' | 'never';
  },
): Promise<ApproachedCapsule | null> {
  if (session.record() === null) return null;
  const located = locateCapsule(user.home, session.id);
  const asked = { method, timeoutMs };
  const isPerson = asPerson !== 'never' && located.record !== null;
  const key = isPerson ? readPersonKey(user.home, located.record) : null;
  if (key !== null) return await approachCapsule(located, { ...asked, token: key.reveal(), isSentAnywhere: false });
  if (asPerson === 'always') throw new HttpRefusal(403, 'approver_missing', 'The session has no key for approvals.');
  const choice = readOnly ? { ...asked, token: undefined, isSentAnywhere: false } : tokenChoice(user, asked);
  return await approachCapsule(located, choice);
}

/** A call of one of four methods, passed on as a client that knows live events makes it; its answer as the capsule gives it. */
export async function passCall(
  user: ViewingUser,
  session: ViewedSession,
  { headers, body }: HttpRequest,
): Promise<Reply> {
  const parsed = parseJsonRpcRequest(body);
  if (parsed.kind === 'fault') return json(encodeJsonRpcFault(parsed.id, parsed.fault));
  const { id, method, params } = parsed;
  if (!methods.has(method)) return json(encodeJsonRpcFault(id, new JsonRpcFault('method-not-found')));
  // Only what the card lists can be looked for there.
  const isApproval = method === 'approvals/answer';
  const listed = isApproval || method === 'tasks/answer' ? 'stream/watch' : method;
  const asPerson = isApproval ? 'always' : 'never';
  const capsule = await approach(user, session, { method: listed, readOnly: false, asPerson });
  if (capsule === null) throw notLive();
  const door = new HttpDoor(doorOf({ ...capsule, timeoutMs: callMs }));
  const key = singleHeader(headers['idempotency-key']);
  const more = key === undefined ? {} : { 'idempotency-key': key };
  try {
    const text = await door.text(
      {
        method: 'POST',
        target: '/',
        headers: { 'content-type': 'application/json', ...askingForEvents, ...more },
        // Made anew: what was read is what is sent.
        body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
      },
      { maxBytes: maxAnswerBytes },
    );
    return json(text);
  } catch (error) {
    if (error instanceof ClientError)
      throw new HttpRefusal(502, 'capsule', `The capsule did not answer: ${error.message}`);
    throw error;
  }
}

function json(text: string): Reply {
  return { kind: 'json', status: 200, text };
}
