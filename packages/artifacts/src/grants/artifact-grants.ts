/** Narrows the grants of a capsule to those of one of its artifacts. */

import { Diagnostic, type SourceLocation } from '@svc/kit/diagnostics/diagnostic.ts';
import {
  formatDestination,
  parseDestination,
  type NetworkDestination,
  isCovered,
} from '@svc/kit/net/network-destination.ts';
import { renderKeyPath, type KeyPath } from '../manifest/key-path.ts';
import type { ArtifactEntry } from '../manifest/schema.ts';
import { normalizeHostPath, waysTo } from '../manifest/host-path.ts';
import { normalizeWorkdirPath, intersection, type WorkdirPath } from '../manifest/workdir-path.ts';
import { askedFlag, eachFlag, type FlagGrants, flagPath } from './flag-grants.ts';
import {
  askedList,
  eachList,
  listPath,
  type NameList,
  type NarrowedList,
  narrowedLists,
  type NarrowedLists,
  type PathList,
  type PlaceList,
} from './list-grants.ts';

/** The part of the workdir a component sees, and nothing beside it. */
interface ScopedPreopen {
  readonly scope: WorkdirPath;
  readonly writable: boolean;
}

/** What a capsule and each of its artifacts have in common. Of a capsule, `stateStores` are those of every component that declares none. */
interface Reach extends FlagGrants, NarrowedLists {
  readonly stateStores: readonly string[];
  readonly maxMemoryBytes: number;
  readonly deadlineSecs: number;
}

/** What one tool, driver or hook may do. Everything not named here is refused. */
export interface ArtifactGrants extends Reach {
  readonly name: string;
  readonly version: string;
  readonly runtime: 'tool' | 'driver' | 'hook';
  /** Programs of the host that its own program may run, beside the commands of the capsule. */
  readonly runs: readonly string[];
  /** Is null when it sees no file at all. */
  readonly preopen: ScopedPreopen | null;
  /** Whether it sees the folder of `capabilities.project`: a tool that is not narrowed to a part of the workdir. */
  readonly seesProject: boolean;
}

/** What the capsule grants: the most that any of its artifacts can get. */
export interface CapsuleGrants extends Reach {
  readonly capsuleName: string;
  readonly scope: WorkdirPath;
  readonly readOnly: boolean;
  readonly hasProject: boolean;
}

interface NarrowRequest {
  readonly entry: ArtifactEntry & { readonly runtime: ArtifactGrants['runtime'] };
  readonly capsule: CapsuleGrants;
  /** The path of the entry in the manifest. */
  readonly path: KeyPath;
  readonly locate: (path: KeyPath, part: 'key' | 'value') => SourceLocation;
}

export interface Narrowed {
  readonly grants: ArtifactGrants;
  /** One `W-SEC-007` for each thing asked for that the capsule does not grant. */
  readonly warnings: readonly Diagnostic[];
}

const hookDeadlineSecs = 30;

/**
 * The grants of one artifact. A tool or driver has the capsule's, narrowed by what its entry declares; a hook has what its entry
 * declares and the capsule grants. Nothing is ever wider than the capsule (docs/manifest.md "Narrowing", D1 "Scope report" 2).
 */
export function narrowGrants(request: NarrowRequest): Narrowed {
  const { entry, capsule } = request;
  const asked = entry.capabilities ?? {};
  const drops: { readonly key: KeyPath; readonly what: string }[] = [];
  const drop: Drop = (key, what) => drops.push({ key, what });
  const isHook = entry.runtime === 'hook';
  const grants: ArtifactGrants = {
    name: entry.name,
    version: entry.version,
    runtime: entry.runtime,
    runs: [...new Set(entry.runs ?? [])],
    preopen: preopenOf(request, drop),
    seesProject: capsule.hasProject && entry.runtime === 'tool' && asked.filesystem?.scope === undefined,
    ...eachList(narrowedLists, {
      places: (list) => placesOf(list, request, drop),
      names: (list) => namesOf(list, request, drop),
      paths: (list) => pathsOf(list, request, drop),
    }),
    ...eachFlag((name) =>
      flag(askedFlag(asked, name), {
        granted: capsule[name],
        unasked: !isHook && capsule[name],
        drop: () => drop(flagPath(name), 'true'),
      }),
    ),
    stateStores: storesOf(request),
    maxMemoryBytes: bound(asked.limits?.memory, {
      most: capsule.maxMemoryBytes,
      unasked: capsule.maxMemoryBytes,
      drop: () => drop(['limits', 'memory'], `${asked.limits?.memory} bytes`),
    }),
    deadlineSecs: bound(asked.limits?.deadline, {
      most: capsule.deadlineSecs,
      unasked: isHook ? Math.min(hookDeadlineSecs, capsule.deadlineSecs) : capsule.deadlineSecs,
      drop: () => drop(['limits', 'deadline'], `${asked.limits?.deadline} seconds`),
    }),
  };
  const inOrder = drops.toSorted((one, other) => sections.indexOf(one.key[0]) - sections.indexOf(other.key[0]));
  return { grants, warnings: inOrder.map((each) => dropped(request, each)) };
}

/** In the order in which dropped grants are reported. */
const sections: readonly unknown[] = ['filesystem', ...narrowedLists.map((list) => listPath(list)[0]), 'limits'];

/** The store names a `state` block declares; without a name, the one called after the capsule (D2 "Spawn envelope rules"). */
export function declaredStores(
  state: { readonly store: string | readonly string[] | null },
  capsuleName: string,
): string[] {
  if (state.store === null) return [capsuleName];
  return typeof state.store === 'string' ? [state.store] : [...new Set(state.store)];
}

type Drop = (key: KeyPath, what: string) => void;

function dropped({ entry, path, locate }: NarrowRequest, { key, what }: { key: KeyPath; what: string }): Diagnostic {
  const where: KeyPath = [...path, 'capabilities', ...key];
  const message = `${renderKeyPath(where)} of ${entry.name}: ${what} is wider than the capsule grants and was dropped`;
  return new Diagnostic('W-SEC-007', message, {
    location: locate(where, 'value'),
    hint: `grant it in capabilities.${renderKeyPath(key.filter((segment) => typeof segment === 'string'))}, or remove it here`,
  });
}

function preopenOf({ entry, capsule }: NarrowRequest, drop: Drop): ScopedPreopen | null {
  const asked = entry.capabilities?.filesystem;
  if (asked?.read_only === false && capsule.readOnly) drop(['filesystem', 'read_only'], 'false');
  const writable = !capsule.readOnly && asked?.read_only !== true;
  const scope = asked?.scope === undefined ? undefined : normalizeWorkdirPath(asked.scope);
  if (scope === undefined) return entry.runtime === 'hook' ? null : { scope: capsule.scope, writable };
  const shared = intersection(capsule.scope, scope);
  if (shared !== scope) drop(['filesystem', 'scope'], scope);
  return shared === null ? null : { scope: shared, writable };
}

function placesOf(
  list: NarrowedList & PlaceList,
  { entry, capsule }: NarrowRequest,
  drop: Drop,
): readonly NetworkDestination[] {
  const asked = askedList(entry.capabilities ?? {}, list);
  if (asked === undefined) return entry.runtime === 'hook' ? [] : capsule[list];
  return asked.flatMap((text, index) => {
    const reading = parseDestination(text);
    if (reading.kind === 'malformed') return [];
    if (isCovered(capsule[list], reading.destination)) return [reading.destination];
    drop([...listPath(list), index], formatDestination(reading.destination));
    return [];
  });
}

function namesOf(list: NarrowedList & NameList, { entry, capsule }: NarrowRequest, drop: Drop): readonly string[] {
  const asked = askedList(entry.capabilities ?? {}, list);
  if (asked === undefined) return entry.runtime === 'hook' ? [] : capsule[list];
  const granted = asked.filter((name, index) => {
    const isGranted = capsule[list].includes(name);
    if (!isGranted) drop([...listPath(list), index], name);
    return isGranted;
  });
  return [...new Set(granted)];
}

function pathsOf(list: NarrowedList & PathList, { entry, capsule }: NarrowRequest, drop: Drop): readonly string[] {
  const asked = askedList(entry.capabilities ?? {}, list);
  if (asked === undefined) return entry.runtime === 'hook' ? [] : capsule[list];
  const granted = asked.flatMap((text, index) => {
    const path = normalizeHostPath(text);
    if (path === undefined) return [];
    if (waysTo(path).some((way) => capsule[list].includes(way))) return [path];
    drop([...listPath(list), index], path);
    return [];
  });
  return [...new Set(granted)];
}

// Not a ceiling: docs/manifest.md "State stores" makes the capsule's store the one of components that declare none.
function storesOf({ entry, capsule }: NarrowRequest): readonly string[] {
  const asked = entry.capabilities?.state;
  if (asked !== undefined) return declaredStores(asked, capsule.capsuleName);
  return entry.runtime === 'hook' ? [] : capsule.stateStores;
}

function flag(
  asked: boolean | undefined,
  { granted, unasked, drop }: { readonly granted: boolean; readonly unasked: boolean; readonly drop: () => void },
): boolean {
  if (asked === undefined) return unasked;
  if (asked && !granted) drop();
  return asked && granted;
}

function bound(
  asked: number | undefined,
  { most, unasked, drop }: { readonly most: number; readonly unasked: number; readonly drop: () => void },
): number {
  if (asked === undefined) return unasked;
  if (asked > most) drop();
  return Math.min(asked, most);
}
