import { quoted } from '../diagnostics/printable.ts';
import { formatDestination, type NetworkDestination } from '../manifest/network-destination.ts';
import { isAtLeast } from '../wire/containment-class.ts';
import type { EffectiveGrants } from './effective-grants.ts';
import { isWithin } from './filesystem-scope.ts';
import { isCovered } from './network-coverage.ts';

/** What of a capsule's grants is compared when it is spawned or spawns: ten axes, in the order of D2 "Spawn envelope rules". */
export interface SpawnEnvelope extends Pick<
  EffectiveGrants,
  | 'networkAllow'
  | 'unixSockets'
  | 'peerFetchAllow'
  | 'shellAllow'
  | 'spawnAllow'
  | 'envAllow'
  | 'filesystemScope'
  | 'workdirExec'
  | 'containmentFloor'
> {
  /** Every state store that one of the capsule's artifacts opens. */
  readonly stateStores: readonly string[];
}

export interface EnvelopeExcess {
  /** The manifest key, `capabilities.network.allow`. */
  readonly key: string;
  /** What the child declares there beyond the parent, in the shortest spelling that means it; `none` where it declares nothing. */
  readonly declared: string;
  /** One clause that names both; text of the manifest stands in it quoted. */
  readonly message: string;
}

/** The part of a capsule's grants that a spawn is judged by. `inference.endpoint` is no part of it. */
export function envelopeOf(grants: EffectiveGrants): SpawnEnvelope {
  return {
    networkAllow: grants.networkAllow,
    unixSockets: grants.unixSockets,
    peerFetchAllow: grants.peerFetchAllow,
    shellAllow: grants.shellAllow,
    spawnAllow: grants.spawnAllow,
    envAllow: grants.envAllow,
    filesystemScope: grants.filesystemScope,
    workdirExec: grants.workdirExec,
    stateStores: [...new Set(grants.artifacts.flatMap((artifact) => artifact.stateStores))],
    containmentFloor: grants.containmentFloor,
  };
}

/**
 * The first axis, in the order of D2's table, on which the child declares more than the parent holds, and on a list the first
 * entry of the child that is more; null when the child stays within. Nothing is ever narrowed to fit (D2 "Spawn envelope rules").
 */
export function firstExcess(parent: SpawnEnvelope, child: SpawnEnvelope): EnvelopeExcess | null {
  return (
    uncovered('capabilities.network.allow', parent.networkAllow, child.networkAllow) ??
    unheld('capabilities.network.unix_sockets', parent.unixSockets, child.unixSockets) ??
    uncovered('capabilities.peer_fetch.allow', parent.peerFetchAllow, child.peerFetchAllow) ??
    unlisted('capabilities.shell.allow', parent.shellAllow, child.shellAllow) ??
    unlisted('capabilities.spawn.allow', parent.spawnAllow, child.spawnAllow) ??
    unlisted('capabilities.env.allow', parent.envAllow, child.envAllow) ??
    beyondScope(parent.filesystemScope, child.filesystemScope) ??
    unheld('capabilities.filesystem.workdir_exec', parent.workdirExec, child.workdirExec) ??
    unlisted('capabilities.state.store', parent.stateStores, child.stateStores) ??
    belowFloor(parent.containmentFloor, child.containmentFloor)
  );
}

function uncovered(
  key: string,
  parent: readonly NetworkDestination[],
  child: readonly NetworkDestination[],
): EnvelopeExcess | null {
  const excess = child.find((destination) => !isCovered(parent, destination));
  if (excess === undefined) return null;
  const declared = formatDestination(excess);
  return {
    key,
    declared,
    message: `${key}: the child declares ${quoted(declared)}, which no entry of the parent covers`,
  };
}

function unlisted(key: string, parent: readonly string[], child: readonly string[]): EnvelopeExcess | null {
  const held = new Set(parent);
  const declared = child.find((name) => !held.has(name));
  if (declared === undefined) return null;
  return { key, declared, message: `${key}: the child declares ${quoted(declared)}, which the parent does not` };
}

function unheld(key: string, parent: boolean, child: boolean): EnvelopeExcess | null {
  if (parent || !child) return null;
  return { key, declared: 'true', message: `${key}: the child declares true, which the parent does not` };
}

function beyondScope(
  parent: SpawnEnvelope['filesystemScope'],
  child: SpawnEnvelope['filesystemScope'],
): EnvelopeExcess | null {
  const key = 'capabilities.filesystem.scope';
  if (parent === null) return null;
  if (child === null) {
    const message = `${key}: the child declares none, which is the whole workdir, and the parent declares ${quoted(parent)}`;
    return { key, declared: 'none', message };
  }
  if (isWithin(parent, child)) return null;
  const message = `${key}: the child declares ${quoted(child)}, which is not within ${quoted(parent)} of the parent`;
  return { key, declared: child, message };
}

function belowFloor(
  parent: SpawnEnvelope['containmentFloor'],
  child: SpawnEnvelope['containmentFloor'],
): EnvelopeExcess | null {
  const key = 'capabilities.containment';
  const floor = parent ?? 'advisory';
  if (isAtLeast(child ?? 'advisory', floor)) return null;
  const declared = child ?? 'none';
  return { key, declared, message: `${key}: the child declares ${declared}, which is below ${floor} of the parent` };
}
