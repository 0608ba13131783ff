/** Decides whether a session may start a child. */

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
} from './refusals.ts';

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
