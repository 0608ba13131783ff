/** Decides whether a session may register, start a child, or end another. */

import { firstExcess, type SpawnEnvelope } from '@svc/artifacts/grants/spawn-envelope.ts';
import type { ResolvedCapsule } from './capsule-registry.ts';
import {
  beyondEnvelope,
  concurrencyReached,
  identityRefusal,
  machineCeilingReached,
  noDepthLeft,
  notInAllowList,
  type Refusal,
  approvalExpired,
  approvalRedeemed,
  approvedOtherCapsule,
  approvedOtherContent,
  notInSpawnAllow,
} from './refusals.ts';
import type { SessionRecord, SessionRecords } from './session-records.ts';
import type { Approval, Tokens } from './tokens.ts';

/** The bounds of one daemon (D2 "Daemon options"). Whole numbers; 0 refuses everything that the bound is asked for. */
export interface Bounds {
  readonly maxDepth: number;
  readonly maxConcurrent: number;
  readonly maxLiveCapsules: number;
}

/** A running session that asks for a child, with its figures and those of the machine at this moment. */
export interface Asking {
  /** The child it asks for. */
  readonly name: string;
  readonly envelope: SpawnEnvelope;
  readonly depthRemaining: number;
  readonly liveChildren: number;
  readonly liveCapsules: number;
}

type Check = (asking: Asking, bounds: Bounds) => Refusal | null;

const checks: readonly Check[] = [inAllowList, depthIsLeft, machineHasRoom, sessionHasRoom];

/** What can be judged before the child's artifact is known, in the order of D2 "`POST /spawn`"; null when nothing is against it. */
export function judgeAsking(asking: Asking, bounds: Bounds): Refusal | null {
  for (const check of checks) {
    const refusal = check(asking, bounds);
    if (refusal !== null) return refusal;
  }
  return null;
}

/** What is left to judge once it is: the child may hold nothing that its parent does not (D2 "Spawn envelope rules"). */
export function judgeChild(parent: SpawnEnvelope, child: ResolvedCapsule): Refusal | null {
  const excess = firstExcess(parent, child.envelope);
  return excess === null ? null : beyondEnvelope(child.name, excess.message);
}

function inAllowList({ name, envelope }: Asking): Refusal | null {
  return envelope.spawnAllow.includes(name) ? null : notInAllowList(name);
}

function depthIsLeft({ depthRemaining }: Asking, { maxDepth }: Bounds): Refusal | null {
  if (!isFigure(depthRemaining)) return identityRefusal;
  return depthRemaining > 0 ? null : noDepthLeft(depthRemaining, maxDepth);
}

function machineHasRoom({ liveCapsules }: Asking, { maxLiveCapsules }: Bounds): Refusal | null {
  if (!isFigure(liveCapsules)) return identityRefusal;
  return liveCapsules < maxLiveCapsules ? null : machineCeilingReached(liveCapsules, maxLiveCapsules);
}

function sessionHasRoom({ liveChildren }: Asking, { maxConcurrent }: Bounds): Refusal | null {
  if (!isFigure(liveChildren)) return identityRefusal;
  return liveChildren < maxConcurrent ? null : concurrencyReached(liveChildren, maxConcurrent);
}

/** A figure that cannot be read grants nothing (D2 "Order of bound refusals"). */
function isFigure(figure: number): boolean {
  return Number.isSafeInteger(figure) && figure >= 0;
}

/** The gate of a registration that presents no approval, whether or not the capsule is published (D2 "`POST /register`"). */
export function judgeTopLevel(name: string, spawnAllow: ReadonlySet<string>): Refusal | null {
  return spawnAllow.has(name) ? null : notInSpawnAllow(name);
}

type Acceptance = { readonly kind: 'accepted'; readonly approval: Approval } | Refusal;

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
 * credential died with its process (docs/referee.md "Requests"). Returns null for any other.
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
