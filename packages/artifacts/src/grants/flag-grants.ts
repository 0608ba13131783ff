/** The grants that are given or not, with nothing in between. */

import type { CapsuleManifest } from '../manifest/schema.ts';

type Capabilities = CapsuleManifest['capabilities'];
type Section = 'filesystem' | 'network';
type Row = {
  readonly [S in Section]: { readonly section: S; readonly key: keyof NonNullable<Capabilities[S]> & string };
}[Section];

/**
 * Each grant that is given or not, by the key of `capabilities` that asks for it. What shows, compares or passes on grants has a new one
 * from its row here, in the order of the rows of its section.
 */
const rows = {
  workdirExec: { section: 'filesystem', key: 'workdir_exec' },
  unixSockets: { section: 'network', key: 'unix_sockets' },
} as const satisfies Readonly<Record<string, Row>>;

type Rows = typeof rows;

export type FlagGrant = keyof Rows;

/** The flags that are asked for in one section. */
type FlagOf<S extends Section> = { [F in FlagGrant]: Rows[F]['section'] extends S ? F : never }[FlagGrant];

/** The grants that are given or not. */
export type FlagGrants = Readonly<Record<FlagGrant, boolean>>;

/** The same, named as in a manifest. */
export type FlagFields<S extends Section = Section> = Readonly<Record<Rows[FlagOf<S>]['key'], boolean>>;

/** A value for each of them. */
export function eachFlag<Value>(of: (flag: FlagGrant) => Value): Readonly<Record<FlagGrant, Value>> {
  const flags = Object.keys(rows) as readonly FlagGrant[];
  return Object.fromEntries(flags.map((flag) => [flag, of(flag)])) as Record<FlagGrant, Value>;
}

/** A value for each of one section. */
export function eachFlagOf<S extends Section, Value>(
  section: S,
  of: (flag: FlagGrant) => Value,
): Readonly<Record<FlagOf<S>, Value>> {
  return Object.fromEntries(flagsIn(section).map((flag) => [flag, of(flag)])) as Record<FlagOf<S>, Value>;
}

function flagsIn(section: Section): readonly FlagGrant[] {
  return (Object.keys(rows) as readonly FlagGrant[]).filter((flag) => rows[flag].section === section);
}

/** None of them is given. */
export const noFlags: FlagGrants = eachFlag(() => false);

/** The flags of grants that hold more. */
export function flagsOf(grants: FlagGrants): FlagGrants {
  return eachFlag((flag) => grants[flag]);
}

/** Flags of one section, as in a manifest. */
export function flagFields<S extends Section>(grants: FlagGrants, section: S): FlagFields<S> {
  return Object.fromEntries(flagsIn(section).map((flag) => [rows[flag].key, grants[flag]])) as FlagFields<S>;
}

/** The keys of one section, as a manifest spells them. */
export function flagKeys<S extends Section>(section: S): readonly (keyof FlagFields<S>)[] {
  return flagsIn(section).map((flag) => rows[flag].key) as (keyof FlagFields<S>)[];
}

/** Where in `capabilities` it is asked for. */
export function flagPath(flag: FlagGrant): readonly [Section, string] {
  const { section, key } = rows[flag];
  return [section, key];
}

/** What a manifest asks for; undefined when it does not say. */
export function askedFlag(asked: Pick<Capabilities, Section>, flag: FlagGrant): boolean | undefined {
  const { section, key } = rows[flag];
  const block: Readonly<Record<string, unknown>> | undefined = asked[section];
  const value = block?.[key];
  return typeof value === 'boolean' ? value : undefined;
}
