/** Finds the containment helper of this machine and, by trying it once, the strongest containment that it gives. */

import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';

import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { AbilityCache, abilityKey } from './ability-cache.ts';
import { noContainment, type Containment, kernelContainment } from './containment.ts';
import { ownGroupFacts, ownGroupId } from './own-facts.ts';
import type { HostAbility } from './launch/host-ability.ts';
import type { Architecture } from './seccomp/allowed-calls.ts';

export interface HostFacts extends HelperSearch {
  /** The user the process is. */
  readonly uid: number;
  /** The release of the kernel. */
  readonly kernel: string;
  /** `~/.svc/cache`. Where it cannot be made, the host is tried anew by each start. */
  readonly cacheDirectory: string;
  /** For files of a moment: the system's temporary directory. */
  readonly temporaryDirectory: string;
  /** Nothing stronger is used. */
  readonly ceiling: ContainmentClass;
  /** Tries the host whatever is kept of it, for somebody who asks what it offers now; what is found is kept. */
  readonly triesAnew?: true;
}

/**
 * The strongest containment of this host under a ceiling. The host is tried, not asked for a version, and what it showed is kept for
 * as long as nothing changes that it is seen to depend on (D1 "Command line" 2).
 */
export async function hostContainment(facts: HostFacts): Promise<Containment> {
  const { platform, architecture: name, ceiling, uid } = facts;
  if (platform !== 'linux') return noContainment(`${platform} has no sandbox that svc uses`);
  const architecture = architectureOf(name);
  if (architecture === undefined) return noContainment(`system calls of ${name} cannot be filtered by this version`);
  const helper = findHelper(facts);
  if (helper === null) {
    return noContainment(
      'the helper svc-launch is missing: install svc anew, or run npm run build in a checkout, which says what it needs',
    );
  }
  const ability = await abilityOf(facts, { helper, architecture });
  const containment = kernelContainment({ helper, ability, architecture, uid, ceiling, ownGroups: ownGroupFacts });
  return containment ?? noContainment(ability.obstacles.filter ?? '');
}

interface Probed {
  readonly helper: string;
  readonly architecture: Architecture;
}

interface ProbePlaces extends Pick<HostFacts, 'uid' | 'kernel' | 'temporaryDirectory' | 'triesAnew'> {
  /** Is null where nothing is to be kept. */
  readonly cacheDirectory: string | null;
}

/** What this host can enforce: what is kept of it, or what a trial shows, which is kept then. */
export async function abilityOf(places: ProbePlaces, { helper, architecture }: Probed): Promise<HostAbility> {
  const { uid, kernel, cacheDirectory } = places;
  const cache = cacheDirectory === null ? null : new AbilityCache(cacheDirectory, uid);
  const key = cache === null ? null : abilityKey({ helper, uid, kernel });
  const known = key === null || places.triesAnew === true ? null : (cache?.read(key) ?? null);
  if (known !== null) return known;
  const kept = key !== null && cacheDirectory !== null && wasMade(cacheDirectory) ? cacheDirectory : null;
  const [{ probeHost }, { strictestFilter }] = await Promise.all([
    import('./probe-host.ts'),
    import('./seccomp/assemble.ts'),
  ]);
  const ability = await probeHost({
    helper,
    filter: strictestFilter(architecture),
    // Without capabilities root does not get into a home that belongs to somebody else.
    directory: kept !== null && uid !== 0 ? kept : places.temporaryDirectory,
    isSuperuser: uid === 0,
    self: { uid, gid: ownGroupId() },
  });
  if (kept !== null && key !== null) cache?.write(key, ability);
  return ability;
}

function wasMade(directory: string): boolean {
  return unlessRefused(() => {
    makeDirectories(directory, 0o700);
    accessSync(directory, constants.W_OK);
    return true;
  }, false);
}

interface HelperSearch {
  /** The folder of this package, installed or a checkout. */
  readonly packageRoot: string;
  /** As `process.platform` and `process.arch` have them. */
  readonly platform: string;
  readonly architecture: string;
}

const architectures: Readonly<Record<string, Architecture>> = { x64: 'x86_64', arm64: 'aarch64' };

/** An architecture by the name that Node has for it; undefined for one whose system calls cannot be filtered. */
export function architectureOf(nodeName: string): Architecture | undefined {
  return architectures[nodeName];
}

/** Where `svc-launch` is. Returns null if it is missing: off Linux, on other architectures, and in a checkout whose build said why. */
export function findHelper({ packageRoot, platform, architecture }: HelperSearch): string | null {
  if (platform !== 'linux') return null;
  const path = join(packageRoot, 'dist', 'native', `linux-${architecture}`, 'svc-launch');
  return isProgram(path) ? path : null;
}

function isProgram(path: string): boolean {
  // Whatever keeps us from looking at it keeps us from starting it.
  return unlessRefused(() => {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  }, false);
}
