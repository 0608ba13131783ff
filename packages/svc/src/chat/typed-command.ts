/** Runs the command of a line that begins with `!`, in the capsule and held as the capsule is. */

import { ClientError } from '@svc/client/client-error.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { faultCode } from '@svc/protocol/json-rpc.ts';
import type { TaskFacts } from '@svc/protocol/task-object.ts';
import type { TypedCommand } from '@svc/protocol/typed-command.ts';
import type { RunningRecord } from '@svc/record/sessions/running-record.ts';
import { personClient } from '../sessions/tasks/person-client.ts';

/** The task that carries it out. Throws `E-RUN-206` where the capsule does not; else as the calls of a client. */
export async function runTyped(typed: TypedCommand, home: string, record: RunningRecord | null): Promise<TaskFacts> {
  if (record === null) throw refused('the capsule is no session of this user');
  const asked = await personClient(home, record);
  if (asked === null)
    throw refused('the capsule knows no person, as svc chat did not start it and it has no approvals');
  try {
    return await asked.client.command(typed);
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    if (error.code === 'not-served')
      throw refused('the capsule runs under a version of svc that knows no such commands');
    if (error.fault !== faultCode('command-refused')) throw error;
    throw refused((error.refusal ?? '').replace(/^Command refused: /, ''));
  }
}

function refused(why: string): Diagnostic {
  return new Diagnostic('E-RUN-206', `the command was not run: ${why}`, {
    hint: 'svc explain E-RUN-206 says what it takes; /say sends a message that begins with !',
  });
}
