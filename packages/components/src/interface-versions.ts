/**
 * Says of which packages this host has interfaces for components, and in which versions: those that `@svc/guest` is written against now, and those that
 * components of older guests were built with (docs/authoring.md "Versions of the interfaces", docs/adr/components.md "Authors depend on the guest package").
 */

/** A host takes every version from `oldest` to `newest`, both included. */
interface Offer {
  /** The version in `packages/guest/wit`. */
  readonly newest: string;
  /** Raised only when a host can no longer serve what was built with an earlier one. */
  readonly oldest: string;
  /** Set for an interface that others define: a later patch is accepted too. Only what it has added is refused, by name, where it is called. */
  readonly laterPatches?: true;
}

const wasi = { newest: '0.2.12', oldest: '0.2.0', laterPatches: true } as const;

const offers = {
  'svc:driver': { newest: '0.1.0', oldest: '0.1.0' },
  'svc:hook': { newest: '0.1.0', oldest: '0.1.0' },
  'svc:runtime': { newest: '0.1.0', oldest: '0.1.0' },
  'svc:task': { newest: '0.1.0', oldest: '0.1.0' },
  'svc:text': { newest: '0.1.0', oldest: '0.1.0' },
  'svc:tool': { newest: '0.1.0', oldest: '0.1.0' },
  'wasi:cli': wasi,
  'wasi:clocks': wasi,
  'wasi:filesystem': wasi,
  'wasi:http': wasi,
  'wasi:io': wasi,
  'wasi:random': wasi,
  'wasi:sockets': wasi,
} as const satisfies Readonly<Record<string, Offer>>;

/** By package (`svc:tool`), in alphabetical order. */
export const interfacePackages: Readonly<Record<string, Offer>> = offers;

type SvcPackage = keyof typeof offers & `svc:${string}`;

/** An interface of `svc` with the version that this host calls it by: `svc:tool/run@0.1.0` for `svc:tool/run`. */
export function offeredInterface<const Package extends SvcPackage, const Name extends string>(
  name: `${Package}/${Name}`,
): `${Package}/${Name}@${(typeof offers)[Package]['newest']}` {
  const [owner] = name.split('/') as [Package];
  return `${name}@${offers[owner].newest}`;
}

/** `svc:tool/run` for `svc:tool/run@0.1.0`. */
export function withoutVersion(name: string): string {
  return name.replace(/@.*$/, '');
}
