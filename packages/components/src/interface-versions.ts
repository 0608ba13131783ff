/**
 * Says which interfaces this host has for components, and in which versions: those that `@svc/guest` is written against now, and those that
 * components of older guests were built with (docs/authoring.md "Versions of the interfaces", docs/adr/components.md "Authors depend on the guest package").
 */

/** A host takes every version from `oldest` to `newest`, both included. */
interface Offer {
  /** The version in `packages/guest/wit`. */
  readonly newest: string;
  /** Raised only when a host can no longer serve what was built with an earlier one. */
  readonly oldest: string;
  /** Of an interface that others define: a later patch is taken too, and only what it has added is refused, by name, where it is called. */
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

/** Why a component cannot be used with these interfaces, and what to do. */
export interface InterfaceRefusal {
  /** Names the first interface that does not fit, and what this host has in its place. */
  readonly reason: string;
  readonly hint: string;
}

const versioned = /^([a-z][a-z0-9-]*:[a-z][a-z0-9-]*)\/[^@]+@(.+)$/;
const released = /^\d{1,9}\.\d{1,9}\.\d{1,9}$/;
/** Of a name in a refusal: the component wrote it. */
const longestName = 200;

/**
 * Looks at all that a component imports and exports, with versions (`svc:text/chunks@0.1.0`), and returns null when this host has each of them.
 * What belongs to no package of this host is left to the linker of the component.
 */
export function refusedInterfaces(names: readonly string[]): InterfaceRefusal | null {
  for (const name of names) {
    const [, owner = '', found = ''] = versioned.exec(name) ?? [];
    const offer = Object.hasOwn(interfacePackages, owner) ? interfacePackages[owner] : undefined;
    if (offer === undefined) continue;
    const { newest, oldest, laterPatches = false } = offer;
    const has = oldest === newest ? newest : `${oldest} to ${newest}`;
    const reason = `it is built for ${name.slice(0, longestName)}, and this svc has ${owner} ${has}`;
    const isReleased = released.test(found);
    const isPatch = isReleased && laterPatches && withoutPatch(found) === withoutPatch(newest);
    if (!isReleased || (!isPatch && compareVersions(found, newest) > 0)) {
      return {
        reason,
        hint: 'update svc, or build it with the @svc/guest of a folder that svc new makes',
      };
    }
    if (compareVersions(found, oldest) < 0) {
      return {
        reason,
        hint: 'build it again with the @svc/guest of a folder that svc new makes',
      };
    }
  }
  return null;
}

/** `0.2` for `0.2.12`. */
function withoutPatch(version: string): string {
  return version.slice(0, version.lastIndexOf('.'));
}

/** Negative when `one` is the earlier of two versions such as `0.2.12`, positive when it is the later, 0 when they are the same. */
function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((version) => version.split('.').map(Number)) as [number[], number[]];
  const index = left.findIndex((part, place) => part !== right[place]);
  return index === -1 ? 0 : (left[index] ?? 0) - (right[index] ?? 0);
}
