/** The grants that are given or not, with nothing in between. */

import type { CapsuleManifest } from '../manifest/schema.ts';

type Capabilities = CapsuleManifest['capabilities'];
type Section = 'filesystem' | 'network';
type Row = {
  readonly [S in Section]: { readonly section: S; readonly key: keyof NonNullable<Capabilities[S]> & string };
}[Section];

/**
 * Each grant that is given or not, by the key of `capabilities` that asks for it. A new one is a row here, and a line in
 * `scope-object.ts`, which shows the grants, and in `spawn-envelope.ts`, which compares them.
 */
const rows = {
  workdirExec: { section: 'filesystem', key: 'workdir_exec' },
  unixSockets: { section: 'network', key: 'unix_sockets' },
} as const satisfies Readonly<Record<string, Row>>;

export type FlagGrant = keyof typeof rows;

/** What of the grants is given or not. */
export type FlagGrants = Readonly<Record<FlagGrant, boolean>>;

/** A value for each of them. */
export function eachFlag<Value>(of: (flag: FlagGrant) => Value): Readonly<Record<FlagGrant, Value>> {
  const flags = Object.keys(rows) as readonly FlagGrant[];
  return Object.fromEntries(flags.map((flag) => [flag, of(flag)])) as Record<FlagGrant, Value>;
}

/** The flags of grants that hold more. */
export function flagsOf(grants: FlagGrants): FlagGrants {
  return eachFlag((flag) => grants[flag]);
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
