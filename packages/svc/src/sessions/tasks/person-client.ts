/** Asks a running capsule as the person who started it. */

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import { approachCapsule, doorOf, locateCapsule } from '@svc/record/running/approach-capsule.ts';
import { readPersonKey } from '@svc/record/running/person-key-file.ts';
import type { RunningRecord } from '@svc/record/sessions/running-record.ts';

const callMs = 10_000;

/** A client that shows the key of the session; null for a session without one. Throws the Diagnostic, or the `ClientError`, of one that is not reached. */
export async function personClient(
  home: string,
  record: RunningRecord,
): Promise<{ readonly client: CapsuleClient; readonly address: string } | null> {
  const key = readPersonKey(home, record);
  if (key === null) return null;
  const asked = { token: key.reveal(), isSentAnywhere: false, method: 'tasks/get', timeoutMs: callMs };
  const { address, token } = await approachCapsule(locateCapsule(home, record.session_id), asked);
  return { client: new CapsuleClient({ ...doorOf({ address, token, timeoutMs: callMs }), isGated: false }), address };
}
