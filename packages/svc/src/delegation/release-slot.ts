import { atMost } from '@svc/kit/clock.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import type { DelegationsDeps } from './delegations-deps.ts';

/** A session that ends does not wait for a referee that hangs. */
const patienceMs = 2000;

/**
 * Frees the slot of a child that could not do so itself: its credential is gone with its process (docs/referee.md "What a delegation goes through"). Best
 * effort, as every deregistration.
 */
export async function releaseSlot(
  child: SessionId,
  { referee, credential, clock }: Pick<DelegationsDeps, 'referee' | 'credential' | 'clock'>,
): Promise<void> {
  await atMost(clock, patienceMs, referee.deregister({ credential, outcome: 'failed', child }));
}
