/** Has a referee approve a child, and frees the place of one that has ended. */

import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import { atMost } from '@svc/kit/clock.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import type { DelegationsDeps } from './delegations-deps.ts';

export interface ChildArtifact {
  readonly capsule: string;
  readonly version: string;
}

type Approval =
  | {
      readonly kind: 'approved';
      readonly approval: Secret;
      /** The child's `capabilities.env.allow`. */
      readonly envAllow: readonly string[];
      /** Whether it may have questions for a person. */
      readonly mayAsk: boolean;
    }
  /** The referee's own sentence. */
  | { readonly kind: 'refused'; readonly sentence: string }
  /** `reason` is a clause for a person. */
  | { readonly kind: 'failed'; readonly reason: string };

/**
 * Asks the referee for a child, and reads the artifact it approved, which has to be the very one that would be started. Rejects with the
 * signal's reason.
 */
export async function approveChild(
  { capsule, version }: ChildArtifact,
  {
    referee,
    credential,
    spawnAllow,
    readChild,
  }: Pick<DelegationsDeps, 'referee' | 'credential' | 'spawnAllow' | 'readChild'>,
  signal: AbortSignal,
): Promise<Approval> {
  // A plan names any capsule, and another program may answer where the referee did.
  if (!spawnAllow.includes(capsule)) {
    const sentence = `capsule ${printable(capsule)} not in parent's spawn_allow: capabilities.spawn.allow does not name it`;
    return { kind: 'refused', sentence };
  }
  const granted = await referee.spawn(credential, capsule, version, signal);
  switch (granted.kind) {
    case 'refused':
      return { kind: 'refused', sentence: granted.sentence };
    case 'unreachable':
      return { kind: 'failed', reason: `the referee at ${referee.url} cannot be asked: ${granted.reason}` };
    case 'granted':
  }
  const reading = await readChild({ name: capsule, version, sha256: granted.sha256 });
  signal.throwIfAborted();
  if (reading.kind === 'not-read') {
    return { kind: 'failed', reason: `${capsule} ${version} is not started: ${reading.reason}` };
  }
  const { envAllow, mayAsk } = reading;
  return { kind: 'approved', approval: granted.approval, envAllow, mayAsk };
}

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
