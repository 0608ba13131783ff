/** Decides whether a session may register, and which session a request to end may end. */

import type { ResolvedCapsule } from './capsule-registry.ts';
import {
  approvalExpired,
  approvalRedeemed,
  approvedOtherCapsule,
  approvedOtherContent,
  identityRefusal,
  notInSpawnAllow,
  type Refusal,
} from './refusals.ts';
import type { SessionRecord, SessionRecords } from './session-records.ts';
import type { Approval, Tokens } from './tokens.ts';

/** The gate of a registration that presents no approval, whether or not the capsule is published (D2 "`POST /register`"). */
export function judgeTopLevel(name: string, spawnAllow: ReadonlySet<string>): Refusal | null {
  return spawnAllow.has(name) ? null : notInSpawnAllow(name);
}

export type Acceptance = { readonly kind: 'accepted'; readonly approval: Approval } | Refusal;

/** Whether an approval admits this capsule. One that verifies is spent, whatever is answered (D2 "`POST /register`"). */
export function acceptApproval(
  text: string,
  capsule: ResolvedCapsule,
  { records, tokens }: { readonly records: SessionRecords; readonly tokens: Tokens },
): Acceptance {
  const approval = tokens.verifyApproval(text);
  if (approval === null || records.running(approval.parent) === undefined) return identityRefusal;
  const reservation = records.reservation(approval.serial);
  if (reservation === undefined) return approvalExpired;
  if (reservation.state !== 'unpresented') return approvalRedeemed;
  // Before the artifact is compared: a wrong guess must not leave a usable approval behind.
  records.spend(approval.serial);
  if (approval.name !== capsule.name || approval.version !== capsule.version) {
    return approvedOtherCapsule(approval, capsule);
  }
  if (approval.sha256 !== capsule.sha256) return approvedOtherContent(approval, capsule);
  return { kind: 'accepted', approval };
}

/**
 * The running session that a request to end names: the asker's own, or a child that was registered under its approval, whose own
 * credential died with its process (docs/referee.md "Requests"). Null for any other.
 */
export function sessionToEnd(
  asker: SessionRecord,
  child: string | undefined,
  records: SessionRecords,
): SessionRecord | null {
  if (child === undefined) return asker;
  const record = records.find(child);
  return record?.status === 'running' && record.parent === asker.serial ? record : null;
}
