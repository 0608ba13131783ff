/** Decides by the interfaces that a component names whether it can be used here, and says what to do where it cannot. */

import { firstNames } from '@svc/kit/diagnostics/printable.ts';
import type { ExternNames } from './compiler/interface-names.ts';
import { interfacePackages, withoutVersion } from './interface-versions.ts';

/** All that this host has for components, by package; a test compares it with what it gives them. */
const offered: Readonly<Record<string, string>> = {
  'svc:driver': 'types',
  'svc:hook': 'types',
  'svc:runtime': 'inference',
  'svc:task': 'task',
  'svc:text': 'chunks',
  'wasi:cli': `environment exit stderr stdin stdout
    terminal-input terminal-output terminal-stderr terminal-stdin terminal-stdout`,
  'wasi:clocks': 'monotonic-clock system-clock types wall-clock',
  'wasi:filesystem': 'preopens types',
  'wasi:http': 'outgoing-handler types',
  'wasi:io': 'error poll streams',
  'wasi:random': 'insecure insecure-seed random',
  'wasi:sockets': 'instance-network ip-name-lookup network tcp tcp-create-socket udp udp-create-socket',
};

/** The interfaces of WASI 0.3 that the host has by the same name, with functions that block. A component built for 0.3 gets those. */
const offeredOfWasi03: Readonly<Record<string, string>> = {
  'wasi:cli': 'environment exit terminal-input terminal-output terminal-stderr terminal-stdin terminal-stdout',
  'wasi:clocks': 'monotonic-clock system-clock types',
  'wasi:random': 'insecure insecure-seed random',
};

/** By name without a version. */
export const offeredInterfaces: ReadonlySet<string> = namesOf(offered);
const alsoOfWasi03 = namesOf(offeredOfWasi03);

function namesOf(packages: Readonly<Record<string, string>>): ReadonlySet<string> {
  return new Set(
    Object.entries(packages).flatMap(([owner, names]) => names.split(/\s+/).map((name) => `${owner}/${name}`)),
  );
}

/** Why a component cannot be used with these interfaces, and what to do. */
export interface InterfaceRefusal {
  /** Names the interfaces that do not fit, and what this host has in their place. */
  readonly reason: string;
  readonly hint: string;
}

/** What is done about a component that needs more of WASI 0.3. */
export const buildForWasi02 = 'build it for WASI 0.2, which in Rust is the target wasm32-wasip2';

const versioned = /^([a-z][a-z0-9-]*:[a-z][a-z0-9-]*)\/[^@]+@(.+)$/;
const released = /^\d{1,9}\.\d{1,9}\.\d{1,9}$/;
/** The most characters of a name in a refusal: the component wrote the name. */
const maxName = 200;
const maxNames = 5;

/**
 * Looks at all that a component imports and exports, with versions (`svc:text/chunks@0.1.0`), and returns null when this host has its packages in
 * these versions. What belongs to no package of this host passes: `refusedImports` decides on that.
 */
export function refusedVersions({ imports, exports }: ExternNames): InterfaceRefusal | null {
  for (const name of [...imports, ...exports]) {
    const [, owner = '', found = ''] = versioned.exec(name) ?? [];
    const offer = Object.hasOwn(interfacePackages, owner) ? interfacePackages[owner] : undefined;
    if (offer === undefined) continue;
    if (isWasi03(name)) {
      if (alsoOfWasi03.has(withoutVersion(name)) && released.test(found)) continue;
      const shown = name.slice(0, maxName);
      return { reason: `it is built for ${shown}, and this svc has WASI 0.2`, hint: buildForWasi02 };
    }
    const { newest, oldest, laterPatches = false } = offer;
    const has = oldest === newest ? newest : `${oldest} to ${newest}`;
    const reason = `it is built for ${name.slice(0, maxName)}, and this svc has ${owner} ${has}`;
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

/** Returns null when this host has each of these interfaces, which are those that a component calls. `names` spells them with their versions. */
export function refusedImports(called: readonly string[], names: readonly string[] = []): InterfaceRefusal | null {
  const missing = called.filter((name) => !offeredInterfaces.has(name));
  if (missing.length === 0) return null;
  const spelt = (name: string): string =>
    (names.find((known) => withoutVersion(known) === name) ?? name).slice(0, maxName);
  const listed = firstNames(missing, maxNames, spelt);
  return {
    reason: `it imports ${listed}, which this svc does not offer`,
    hint: 'build it without that: docs/authoring.md "What a component can import" lists what there is',
  };
}

/** Whether the names alone leave open if a component can be used: the compiler knows which interfaces it calls, and how. */
export function needsCompiler({ imports, exports }: ExternNames): boolean {
  return (
    imports.some((name) => !offeredInterfaces.has(withoutVersion(name))) || [...imports, ...exports].some(isWasi03)
  );
}

function isWasi03(name: string): boolean {
  return /^wasi:[^@]*@0\.3\./.test(name);
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
