/** What a client of a capsule may do, and what each method asks for (docs/doors.md "Tokens"). */

import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import type { ServedMethod } from '@svc/protocol/agent-card.ts';
import type { methodsBeyond } from '@svc/protocol/asked-events.ts';

/**
 * `read` sees tasks, streams and exported files; `send` gives tasks and cancels its own; `answer` answers questions of tasks; `stop` cancels every
 * task.
 */
export const scopes = ['read', 'send', 'answer', 'stop'] as const;

export type Scope = (typeof scopes)[number];

export function isScope(text: string): text is Scope {
  return (scopes as readonly string[]).includes(text);
}

type Needed = ReadonlyMap<string, readonly Scope[]>;

const ofServed: Readonly<Record<ServedMethod | (typeof methodsBeyond)[number], readonly Scope[]>> = {
  'message/send': ['send'],
  'message/stream': ['send'],
  'stream/watch': ['read'],
  'tasks/get': ['read'],
  'tasks/cancel': ['send', 'stop'],
  'tasks/answer': ['answer'],
  'tasks/command': ['send'],
  'approvals/list': ['read', 'answer'],
  'approvals/answer': ['answer'],
  'session/stop': ['stop'],
};

/** For `POST /`: one of these is enough. A method that is not here is not served. */
export const methodScopes: Needed = new Map(Object.entries(ofServed));

/** For A2A. A message that names a task answers its question: that needs `answer` as well. */
export const a2aScopes: Needed = new Map<string, readonly Scope[]>([
  ['SendMessage', ['send']],
  ['SendStreamingMessage', ['send']],
  ['GetTask', ['read']],
  ['ListTasks', ['read']],
  ['SubscribeToTask', ['read']],
  ['CancelTask', ['send', 'stop']],
  ['GetExtendedAgentCard', ['read']],
  // Who is notified of a task reads it.
  ['CreateTaskPushNotificationConfig', ['read']],
  ['GetTaskPushNotificationConfig', ['read']],
  ['ListTaskPushNotificationConfigs', ['read']],
  ['DeleteTaskPushNotificationConfig', ['read']],
]);

/** For MCP. A call that answers a question needs `answer` as well. */
export const mcpScopes: Needed = new Map<string, readonly Scope[]>([
  ['tools/call', ['send']],
  ['resources/list', ['read']],
  ['resources/read', ['read']],
  ['tasks/get', ['read']],
  ['tasks/update', ['answer']],
  ['tasks/cancel', ['send', 'stop']],
]);

/** For the API of OpenAI. What answers a question needs `answer` as well; the list of models needs no scope. */
export const openAiScopes: Needed = new Map<string, readonly Scope[]>([
  ['create', ['send']],
  ['retrieve', ['read']],
  ['cancel', ['send', 'stop']],
]);

interface Scoped {
  readonly scopes: readonly Scope[];
}

export function may({ scopes: held }: Scoped, scope: Scope): boolean {
  return held.includes(scope);
}

/** Throws the refusal 403 where the client has none of the scopes. Their names reveal nothing of what the capsule holds. */
export function demand(client: Scoped, needed: readonly Scope[] | undefined): void {
  if (needed === undefined || needed.some((scope) => may(client, scope))) return;
  throw new HttpRefusal(403, 'scope_missing', `This token lacks the scope ${needed.join(' or ')}.`);
}
