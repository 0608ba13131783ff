/** Answers for a call that waits in the capsule of a chat, as the person who started it. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ApprovalAnswer } from '@svc/protocol/approval.ts';
import type { RunningRecord } from '@svc/record/sessions/running-record.ts';
import { say, type Shown } from '@svc/terminal/screen/shown.ts';
import { given } from '../sessions/tasks/approve.ts';
import { personClient } from '../sessions/tasks/person-client.ts';

/** What came of it, in words. Throws `E-APR-003` where the call does not wait any more. */
export async function decided(answer: ApprovalAnswer, home: string, record: RunningRecord): Promise<Shown> {
  const asked = await personClient(home, record);
  if (asked === null) throw new Diagnostic('E-APR-003', 'nothing was answered: the capsule has ended');
  const { decision } = await given(answer, asked);
  return say`${decision === 'allow' ? 'allowed' : 'denied'}\n`;
}
