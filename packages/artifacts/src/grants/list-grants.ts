/** The grants that are lists: of places in a network, or of names. */

import { formatDestination, type NetworkDestination } from '@svc/kit/net/network-destination.ts';
import type { CapsuleManifest } from '../manifest/schema.ts';

type Capabilities = CapsuleManifest['capabilities'];

/** The sections of `capabilities` that hold such a list, each as `allow`. */
type Section = {
  [S in keyof Capabilities]-?: NonNullable<Capabilities[S]> extends { readonly allow: readonly string[] } ? S : never;
}[keyof Capabilities];

interface Row {
  readonly section: Section;
  readonly entries: 'places' | 'names';
  /** Whether the scope report and the trace have it, as `<section>_allow`. */
  readonly isReported: boolean;
  /** Whether an artifact has a part of it, which its own entry may narrow. */
  readonly isNarrowed: boolean;
}

/**
 * Each grant that is a list. What reads, shows, narrows or compares grants has a new one from its row here, in the order of the rows: that of D2's
 * table.
 */
const rows = {
  networkAllow: { section: 'network', entries: 'places', isReported: true, isNarrowed: true },
  peerFetchAllow: { section: 'peer_fetch', entries: 'places', isReported: false, isNarrowed: false },
  shellAllow: { section: 'shell', entries: 'names', isReported: true, isNarrowed: false },
  spawnAllow: { section: 'spawn', entries: 'names', isReported: true, isNarrowed: false },
  envAllow: { section: 'env', entries: 'names', isReported: true, isNarrowed: true },
} as const satisfies Readonly<Record<string, Row>>;

type Rows = typeof rows;

export type ListGrant = keyof Rows;

type ListOf<R> = { [L in ListGrant]: Rows[L] extends R ? L : never }[ListGrant];

export type PlaceList = ListOf<{ readonly entries: 'places' }>;
export type NameList = ListOf<{ readonly entries: 'names' }>;
/** Lists that an artifact has a part of. */
export type NarrowedList = ListOf<{ readonly isNarrowed: true }>;
type ReportedList = ListOf<{ readonly isReported: true }>;

type Lists<L extends ListGrant> = {
  readonly [Each in L]: Each extends PlaceList ? readonly NetworkDestination[] : readonly string[];
};

export type ListGrants = Lists<ListGrant>;
export type NarrowedLists = Lists<NarrowedList>;

/** Lists of a scope report, named as there. */
export type ListFields = {
  readonly [Each in ReportedList as `${Rows[Each]['section']}_allow`]: readonly string[];
};

export const allLists = Object.keys(rows) as readonly ListGrant[];
export const narrowedLists = allLists.filter((list) => rows[list].isNarrowed) as readonly NarrowedList[];
const reportedLists = allLists.filter((list) => rows[list].isReported) as readonly ReportedList[];

export function isPlaceList<L extends ListGrant>(list: L): list is L & PlaceList {
  return rows[list].entries === 'places';
}

interface ByEntries<L extends ListGrant> {
  readonly places: (list: L & PlaceList) => readonly NetworkDestination[];
  readonly names: (list: L & NameList) => readonly string[];
}

/** Each of `lists`, made by what its entries are. */
export function eachList<L extends ListGrant>(lists: readonly L[], { places, names }: ByEntries<L>): Lists<L> {
  const made = lists.map((list) => [list, isPlaceList(list) ? places(list) : names(list as L & NameList)]);
  return Object.fromEntries(made) as Lists<L>;
}

/** A value for each of them. */
export function forLists<Value>(of: (list: ListGrant) => Value): Readonly<Record<ListGrant, Value>> {
  return Object.fromEntries(allLists.map((list) => [list, of(list)])) as Record<ListGrant, Value>;
}

/** Those of grants that hold more. */
export function listsOf<L extends ListGrant>(grants: Lists<L>, lists: readonly L[]): Lists<L> {
  return Object.fromEntries(lists.map((list) => [list, grants[list]])) as Lists<L>;
}

/** The names of the lists in a scope report. */
export const listKeys: readonly (keyof ListFields)[] = reportedLists.map(fieldOf);

/** What a scope report has of them, by these names. */
export function listFields(grants: ListGrants): ListFields {
  const fields = reportedLists.map((list) => [
    fieldOf(list),
    isPlaceList(list) ? grants[list].map(formatDestination) : grants[list],
  ]);
  return Object.fromEntries(fields) as ListFields;
}

function fieldOf(list: ReportedList): keyof ListFields {
  return `${rows[list].section}_allow`;
}

/** Where in `capabilities` it stands. */
export function listPath(list: ListGrant): readonly [Section, 'allow'] {
  return [rows[list].section, 'allow'];
}

type Asked = { readonly [S in Section]?: { readonly allow: readonly string[] } | undefined };

/** What a manifest asks for; undefined where it does not say. */
export function askedList(asked: Asked, list: ListGrant): readonly string[] | undefined {
  return asked[rows[list].section]?.allow;
}
