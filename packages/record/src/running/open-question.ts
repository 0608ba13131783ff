/** Asks a running capsule whether it waits for an answer of a person: its trace has a question only once it is settled. */

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import { ClientError } from '@svc/client/client-error.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { type ApproachedCapsule, doorOf } from './approach-capsule.ts';

/** Returns false for one that does not answer within `timeoutMs`, has just ended, is suspended, or wants a token that is not here. */
export async function hasOpenQuestion(
  approach: () => Promise<ApproachedCapsule | null>,
  timeoutMs: number,
): Promise<boolean> {
  try {
    const capsule = await approach();
    if (capsule === null) return false;
    const door = doorOf({ ...capsule, timeoutMs });
    const snapshot = await new CapsuleClient({ ...door, isGated: false }).snapshot();
    return snapshot?.tasks.some(({ question }) => question !== null) ?? false;
  } catch (error) {
    if (error instanceof ClientError || error instanceof Diagnostic) return false;
    throw error;
  }
}
