/** Compares the grants of a child capsule with those of its parent. */

import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { formatDestination, parseDestination, coveringEntries } from '@svc/kit/net/network-destination.ts';
import { isAtLeast } from '@svc/protocol/containment-class.ts';
import type { Reference } from '../manifest/references.ts';
import { normalizeHostPath, waysTo } from '../manifest/host-path.ts';
import { normalizeWorkdirPath, isWithin } from '../manifest/workdir-path.ts';
import type { EffectiveGrants } from './effective-grants.ts';
import { beyondBindings, type KeyGrants } from './host-bindings.ts';
import {
  allLists,
  forLists,
  isPathList,
  isPlaceList,
  listPath,
  type ListGrant,
  type ListGrants,
  listsOf,
  type NameList,
  type PathList,
  type PlaceList,
} from './list-grants.ts';
import { eachFlag, eachFlagOf, type FlagGrant, type FlagGrants, flagPath, flagsOf } from './flag-grants.ts';

/** Axes on which the grants of two capsules are compared as they are, beside lists and what is given or not. */
type GrantAxis = 'filesystemScope' | 'containmentFloor';

/** What of a capsule's grants is compared when it is spawned or spawns: the ten axes of D2 "Spawn envelope rules", paths of the host, the folder, and what is held of hosts. */
export interface SpawnEnvelope extends Pick<EffectiveGrants, GrantAxis>, FlagGrants, ListGrants {
  /** What may be done with the folder of `capabilities.project`; null without it. A child gets that of its parent. */
  readonly project: 'read' | 'write' | null;
  /** Every state store that one of the capsule's artifacts opens. */
  readonly stateStores: readonly string[];
  /** What the programs of its artifacts may run, and its model may not. */
  readonly artifactRuns: readonly string[];
  readonly bindings: KeyGrants['bindings'];
  /** With `bindings` one axis. */
  readonly credentials: KeyGrants['credentials'];
  /** The origins of the MCP servers on the web that its artifacts are. */
  readonly remoteServers: readonly string[];
  /** `${VARIABLE}` by the value that stands for it above; absent where no variable was resolved. */
  readonly references?: ReadonlyMap<string, string>;
}

interface EnvelopeExcess {
  /** The manifest key, `capabilities.network.allow`. */
  readonly key: string;
  /**
   * What the child declares there beyond the parent, in the shortest spelling that means it; `none` where it declares nothing.
   * A value that came from a variable may be a credential, and stands here as its reference.
   */
  readonly declared: string;
  /** One sentence that names both; text of the manifest stands in it quoted. */
  readonly message: string;
}

/** The manifest key of each axis. */
const keys = {
  ...eachFlag((flag) => `capabilities.${flagPath(flag).join('.')}`),
  ...forLists((list) => `capabilities.${listPath(list).join('.')}`),
  filesystemScope: 'capabilities.filesystem.scope',
  project: 'capabilities.project',
  stateStores: 'capabilities.state.store',
  artifactRuns: 'artifacts[].runs',
  bindings: 'capabilities.network.allow',
  remoteServers: 'artifacts[].from',
  containmentFloor: 'capabilities.containment',
} as const satisfies Record<Axis, string>;

type Axis = Exclude<keyof SpawnEnvelope, 'references' | 'credentials'>;

/**
 * The part of a capsule's grants that a spawn is judged by. `inference.endpoint` is no part of it. `references` are those of the
 * manifest that was lowered.
 */
export function envelopeOf(grants: EffectiveGrants, references: readonly Reference[] = []): SpawnEnvelope {
  const spellings = references.flatMap(spellingsOf);
  return {
    ...flagsOf(grants),
    ...listsOf(grants, allLists),
    filesystemScope: grants.filesystemScope,
    project: grants.project === null ? null : grants.project.write ? 'write' : 'read',
    stateStores: [...new Set(grants.artifacts.flatMap((artifact) => artifact.stateStores))],
    artifactRuns: [...new Set(grants.artifacts.flatMap((artifact) => artifact.runs))],
    bindings: grants.bindings,
    credentials: grants.credentials,
    remoteServers: [...new Set(grants.remoteServers.map(({ url }) => new URL(url).origin))],
    containmentFloor: grants.containmentFloor,
    ...(spellings.length === 0 ? {} : { references: new Map(spellings) }),
  };
}

/** The value of a reference in every spelling that lowering may have given it. */
function spellingsOf({ variable, value }: Reference): readonly (readonly [string, string])[] {
  if (value === undefined) return [];
  const reading = parseDestination(value);
  const spellings = [value, normalizeWorkdirPath(value) ?? value, normalizeHostPath(value) ?? value];
  if (reading.kind === 'destination') spellings.push(formatDestination(reading.destination));
  return spellings.map((spelling) => [spelling, `\${${variable}}`]);
}

/**
 * The first axis, in the order of D2's table, on which the child declares more than the parent holds, and on a list the first
 * entry of the child that is more; null when the child stays within. Nothing is ever narrowed to fit (D2 "Spawn envelope rules").
 */
export function firstExcess(parent: SpawnEnvelope, child: SpawnEnvelope): EnvelopeExcess | null {
  const pair = { parent, child };
  for (const compare of Object.values(comparisons)) {
    const excess = compare(pair);
    if (excess !== null) return excess;
  }
  return null;
}

type Comparison = (pair: Pair) => EnvelopeExcess | null;

const { networkAllow: ofNetwork, ...ofOtherLists } = forLists(listedAlike);

/** In the order of D2's table; it has no axis for paths of the host, for the folder, for what is held of hosts, for what only programs of artifacts run, and for servers on the web. */
const comparisons: Readonly<Record<Axis, Comparison>> = {
  networkAllow: ofNetwork,
  bindings: (pair) => beyondBinding(pair),
  ...eachFlagOf('network', heldAlike),
  ...ofOtherLists,
  filesystemScope: (pair) => beyondScope(pair),
  ...eachFlagOf('filesystem', heldAlike),
  project: (pair) => beyondProject(pair),
  stateStores: (pair) => unlisted(pair, 'stateStores'),
  artifactRuns: (pair) => unlisted(pair, 'artifactRuns'),
  remoteServers: (pair) => unlisted(pair, 'remoteServers'),
  containmentFloor: (pair) => belowFloor(pair),
};

interface Pair {
  readonly parent: SpawnEnvelope;
  readonly child: SpawnEnvelope;
}

function uncovered({ parent, child }: Pair, axis: PlaceList): EnvelopeExcess | null {
  // By spelling: of two lists as long as a manifest may be, each pair looked at would hold up everybody else for seconds.
  const held = new Set(parent[axis].map(formatDestination));
  const excess = child[axis].find((destination) => !coveringEntries(destination).some((entry) => held.has(entry)));
  if (excess === undefined) return null;
  const declared = asWritten(child, formatDestination(excess));
  return excessOf(axis, declared, `the child declares ${quoted(declared)}, which no entry of the parent covers`);
}

type NameAxis = NameList | 'stateStores' | 'artifactRuns' | 'remoteServers';

function listedAlike(list: ListGrant): Comparison {
  if (isPlaceList(list)) return (pair) => uncovered(pair, list);
  if (isPathList(list)) return (pair) => beyondPaths(pair, list);
  return (pair) => unlisted(pair, list);
}

/** By spelling: links are refused where the child starts. */
function beyondPaths({ parent, child }: Pair, axis: PathList): EnvelopeExcess | null {
  const held = new Set(parent[axis]);
  const excess = child[axis].find((path) => !waysTo(path).some((way) => held.has(way)));
  if (excess === undefined) return null;
  const declared = asWritten(child, excess);
  return excessOf(axis, declared, `the child declares ${quoted(declared)}, which is within no path of the parent`);
}

function unlisted({ parent, child }: Pair, axis: NameAxis): EnvelopeExcess | null {
  const held = new Set(parent[axis]);
  const excess = child[axis].find((name) => !held.has(name));
  if (excess === undefined) return null;
  const declared = asWritten(child, excess);
  const clause =
    axis === 'stateStores'
      ? `an artifact of the child opens ${quoted(declared)}, which none of the parent does`
      : `the child declares ${quoted(declared)}, which the parent does not`;
  return excessOf(axis, declared, clause);
}

function heldAlike(axis: FlagGrant): Comparison {
  return ({ parent, child }) => {
    if (parent[axis] || !child[axis]) return null;
    return excessOf(axis, 'true', 'the child declares true, which the parent does not');
  };
}

function beyondScope({ parent, child }: Pair): EnvelopeExcess | null {
  const axis = 'filesystemScope';
  const [outer, inner] = [parent[axis], child[axis]];
  if (outer === null || (inner !== null && isWithin(outer, inner))) return null;
  const held = quoted(asWritten(parent, outer));
  if (inner === null) {
    return excessOf(axis, 'none', `the child declares none and sees its whole workdir, the parent only ${held}`);
  }
  const declared = asWritten(child, inner);
  return excessOf(axis, declared, `the child declares ${quoted(declared)}, which is not within ${held} of the parent`);
}

function beyondProject({ parent, child }: Pair): EnvelopeExcess | null {
  const axis = 'project';
  const [held, declared] = [parent[axis], child[axis]];
  if (declared === null || held === 'write' || held === declared) return null;
  const clause = held === null ? 'a folder, which the parent does not' : 'write: true, which the parent does not';
  return excessOf(axis, declared, `the child declares ${clause}`);
}

function beyondBinding({ parent, child }: Pair): EnvelopeExcess | null {
  const excess = beyondBindings(parent, child);
  if (excess === null) return null;
  const declared = asWritten(child, excess.declared);
  return excessOf('bindings', declared, `the child reaches ${quoted(declared)} ${excess.clause}`);
}

function belowFloor({ parent, child }: Pair): EnvelopeExcess | null {
  const axis = 'containmentFloor';
  const floor = parent[axis] ?? 'advisory';
  if (isAtLeast(child[axis] ?? 'advisory', floor)) return null;
  const declared = child[axis] ?? 'none';
  return excessOf(axis, declared, `the child declares ${declared}, which is below ${floor} of the parent`);
}

function asWritten({ references }: SpawnEnvelope, value: string): string {
  return references?.get(value) ?? value;
}

function excessOf(axis: Axis, declared: string, clause: string): EnvelopeExcess {
  return { key: keys[axis], declared, message: `${keys[axis]}: ${clause}` };
}
