/** The grants that are lists: of places in a network, of names, or of paths of the host. */

import { formatDestination, type NetworkDestination } from '@svc/kit/net/network-destination.ts';
import type { CapsuleManifest } from '../manifest/schema.ts';

type Capabilities = CapsuleManifest['capabilities'];

/** The sections of `capabilities` that hold such a list. */
type Section = Extract<keyof Capabilities, 'network' | 'peer_fetch' | 'shell' | 'spawn' | 'env' | 'filesystem'>;

interface Row {
  readonly section: Section;
  readonly key: 'allow' | 'host_read';
  readonly entries: 'places' | 'names' | 'paths';
  /** Its name in the scope report and the trace; null where they do not have it. */
  readonly field: string | null;
  /** Whether it is left out of both while it is empty: the documents do not name it. */
  readonly isExtra: boolean;
  /** Whether an artifact has a part of it, which its own entry may narrow. */
  readonly isNarrowed: boolean;
}

const allow = { key: 'allow', entries: 'names', isExtra: false, isNarrowed: false } as const;

/**
 * Each grant that is a list. What reads, shows, narrows or compares grants has a new one from its row here, in the order of the rows: that of D2's
 * table.
 */
const rows = {
  networkAllow: { ...allow, section: 'network', field: 'network_allow', entries: 'places', isNarrowed: true },
  peerFetchAllow: { ...allow, section: 'peer_fetch', field: null, entries: 'places' },
  shellAllow: { ...allow, section: 'shell', field: 'shell_allow' },
  spawnAllow: { ...allow, section: 'spawn', field: 'spawn_allow' },
  envAllow: { ...allow, section: 'env', field: 'env_allow', isNarrowed: true },
  hostRead: {
    section: 'filesystem',
    key: 'host_read',
    field: 'host_read',
    entries: 'paths',
    isExtra: true,
    isNarrowed: true,
  },
} as const satisfies Readonly<Record<string, Row>>;

type Rows = typeof rows;

export type ListGrant = keyof Rows;

type ListOf<R> = { [L in ListGrant]: Rows[L] extends R ? L : never }[ListGrant];

export type PlaceList = ListOf<{ readonly entries: 'places' }>;
export type NameList = ListOf<{ readonly entries: 'names' }>;
export type PathList = ListOf<{ readonly entries: 'paths' }>;
/** Lists that an artifact has a part of. */
export type NarrowedList = ListOf<{ readonly isNarrowed: true }>;
type ReportedList = ListOf<{ readonly field: string }>;
type ExtraList = ListOf<{ readonly isExtra: true }>;

type Lists<L extends ListGrant> = {
  readonly [Each in L]: Each extends PlaceList ? readonly NetworkDestination[] : readonly string[];
};

export type ListGrants = Lists<ListGrant>;
export type NarrowedLists = Lists<NarrowedList>;

/** Lists of a scope report, named as there. */
export type ListFields = {
  readonly [Each in Exclude<ReportedList, ExtraList> as Rows[Each]['field']]: readonly string[];
} & { readonly [Each in ReportedList & ExtraList as Rows[Each]['field']]?: readonly string[] };

export const allLists = Object.keys(rows) as readonly ListGrant[];
export const narrowedLists = allLists.filter((list) => rows[list].isNarrowed) as readonly NarrowedList[];
const reportedLists = allLists.filter((list) => rows[list].field !== null) as readonly ReportedList[];

export function isPlaceList<L extends ListGrant>(list: L): list is L & PlaceList {
  return rows[list].entries === 'places';
}

export function isPathList<L extends ListGrant>(list: L): list is L & PathList {
  return rows[list].entries === 'paths';
}

interface ByEntries<L extends ListGrant> {
  readonly places: (list: L & PlaceList) => readonly NetworkDestination[];
  readonly names: (list: L & NameList) => readonly string[];
  readonly paths: (list: L & PathList) => readonly string[];
}

/** Each of `lists`, made by what its entries are. */
export function eachList<L extends ListGrant>(lists: readonly L[], { places, names, paths }: ByEntries<L>): Lists<L> {
  const made = lists.map((list) => {
    if (isPlaceList(list)) return [list, places(list)];
    return [list, isPathList(list) ? paths(list) : names(list as L & NameList)];
  });
  return Object.fromEntries(made) as Lists<L>;
}

/** A value for each of them. */
export function forLists<Value>(of: (list: ListGrant) => Value): Readonly<Record<ListGrant, Value>> {
  return Object.fromEntries(allLists.map((list) => [list, of(list)])) as Record<ListGrant, Value>;
}

/** Returns only the named lists of grants that hold more. */
export function listsOf<L extends ListGrant>(grants: Lists<L>, lists: readonly L[]): Lists<L> {
  return Object.fromEntries(lists.map((list) => [list, grants[list]])) as Lists<L>;
}

/** The names of the lists in a scope report. */
export const listKeys: readonly (keyof ListFields)[] = reportedLists.map(fieldOf);

/** What a scope report has of them, by these names. */
export function listFields(grants: ListGrants): ListFields {
  const fields = reportedLists
    .filter((list) => !rows[list].isExtra || grants[list].length > 0)
    .map((list) => [fieldOf(list), isPlaceList(list) ? grants[list].map(formatDestination) : grants[list]]);
  return Object.fromEntries(fields) as ListFields;
}

function fieldOf(list: ReportedList): keyof ListFields {
  return rows[list].field;
}

/** Where in `capabilities` it stands. */
export function listPath(list: ListGrant): readonly [Section, Row['key']] {
  return [rows[list].section, rows[list].key];
}

/** A host may stand in a block of its own, with what is held of requests to it. */
type Entry = string | { readonly host: string };

type Asked = {
  readonly [S in Section]?: { readonly [K in Row['key']]?: readonly Entry[] | undefined } | undefined;
};

/** What a manifest asks for; undefined where it does not say. */
export function askedList(asked: Asked, list: ListGrant): readonly string[] | undefined {
  const { section, key } = rows[list];
  return asked[section]?.[key]?.map((entry) => (typeof entry === 'string' ? entry : entry.host));
}
