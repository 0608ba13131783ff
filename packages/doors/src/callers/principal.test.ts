import { expect, it } from 'vitest';

import type { ContextId, TaskId } from '@svc/protocol/ids.ts';
import { type Sender, Task } from '@svc/session/task/task.ts';
import { answererOf, childPrincipal, maySee, onlyPrincipal, personHere } from './principal.ts';

function taskOf(sender: Sender | null): Task {
  const identity = { id: 'tsk_1' as TaskId, contextId: 'c' as ContextId };
  return new Task(identity, { text: 'x', origin: 'message', trust: 'untrusted', sender });
}

it('who runs the capsule sees every task', () => {
  const operator = onlyPrincipal('operator')({ headers: {} });
  expect(operator).toEqual({
    name: 'operator',
    seesAll: true,
    scopes: ['read', 'send', 'answer', 'stop'],
  });
  expect(maySee(operator, taskOf({ principal: 'ann', tags: {} }))).toBe(true);
  expect(maySee(operator, taskOf(null))).toBe(true);
});

it('the key of the session answers as the terminal does, a token with the scope as a door, and nobody else', () => {
  const ann = { name: 'token:ann', seesAll: false, scopes: ['read', 'answer'] } as const;
  const child = { delegationId: 'dlg_1' } as Parameters<typeof childPrincipal>[0];
  const all = [personHere, ann, { ...ann, scopes: ['send'] } as const, childPrincipal(child)];
  const own = onlyPrincipal('local')({ headers: {} });
  expect([...all, own].map((principal) => answererOf(principal))).toEqual(['terminal', 'door', null, null, null]);
});

it('everybody else sees their own alone, and none that the capsule gave itself', () => {
  const ann = { name: 'ann', seesAll: false, scopes: [] };
  expect(maySee(ann, taskOf({ principal: 'ann', tags: {} }))).toBe(true);
  expect(maySee(ann, taskOf({ principal: 'bob', tags: {} }))).toBe(false);
  expect(maySee(ann, taskOf(null))).toBe(false);
});
