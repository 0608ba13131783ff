/** Starts the task of a command that a person typed. */

import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import type { ContextId } from '@svc/protocol/ids.ts';
import { JsonRpcFault } from '@svc/protocol/json-rpc.ts';
import type { TaskObject } from '@svc/protocol/task-object.ts';
import { parseCommand } from '@svc/protocol/typed-command.ts';
import { type MethodDeps, rejectedTaskObject, taskObject } from './methods.ts';

/**
 * `tasks/command`: the task, at which no model works. Throws the refusal 403 for everybody but the person who started the capsule, whatever token they show,
 * and the fault `-32011` where the capsule cannot run it. Then nothing has happened (docs/protocol.md "tasks/command").
 */
export async function runCommand(params: unknown, { session, principal }: MethodDeps): Promise<TaskObject> {
  if (principal.isPerson !== true) {
    throw new HttpRefusal(
      403,
      'person_missing',
      'A command is typed by the person who started the capsule, in svc chat.',
    );
  }
  const parsed = parseCommand(params);
  if (parsed.kind === 'invalid') throw new JsonRpcFault('invalid-params', `Invalid params: ${parsed.problem}`);
  const { command, isTold, contextId } = parsed.typed;
  const takes = await session.takesCommand(isTold);
  if (takes !== 'yes') throw new JsonRpcFault('command-refused', refusals[takes]);
  const submission = session.board.submit({
    text: `${isTold ? '!!' : '!'}${command}`,
    command: isTold ? 'told' : 'shown',
    origin: 'message',
    trust: 'untrusted',
    sender: { principal: principal.name, tags: {} },
    ...(contextId === undefined ? {} : { contextId: contextId as ContextId }),
  });
  return submission.kind === 'accepted' ? taskObject(submission.task) : rejectedTaskObject(submission.task);
}

const refusals = {
  'no-shell': 'Command refused: the capsule has no shell',
  'no-conversation': 'Command refused: the capsule keeps no conversation that could get what the command gives',
} as const;
