/** Asks the registry in use what has become of the versions that an install finds on this machine, and marks the copies of those that are blocked. */

import { rm } from 'node:fs/promises';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import type { PublishedVersion, StateOfVersion } from '@svc/protocol/version-states.ts';
import type { ArtifactEntry } from '../manifest/schema.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import type { ArtifactSource } from './installed-artifact.ts';
import type { StorePlaces } from './store-places.ts';
import { inParallel } from './resolve.ts';
import {
  blockedReason,
  bundledRoot,
  encodeBlockedMark,
  hashFileOf,
  readVariant,
  type StoredArchive,
  storeRoot,
  variantPaths,
} from './store-layout.ts';
import { judgeState, strictRules } from './version-state-rules.ts';

const askedAtOnce = 4;

/** What an entry of the manifest says of its version, as far as it shows which registry knows it. */
export type AskedEntry = Pick<ArtifactEntry, 'name' | 'version' | 'source' | 'from'>;

/** What the registry in use says now of what is on this machine. */
interface StatesNow {
  /** `W-REG-004` and `W-REG-005` for what is advised against; `W-REG-007` when the registry does not answer: what is here works without it. */
  readonly warnings: readonly Diagnostic[];
  /** Every `E-REG-010` for what is blocked, and what keeps its copies from being marked. */
  readonly faults: readonly Diagnostic[];
}

/**
 * Asks about the versions that have copies in the stores of project and user; copies of what is blocked are not used from then on. What is bundled,
 * and what comes from elsewhere (`source`, `from`), is not asked about.
 */
export async function askStates(entries: readonly AskedEntry[], places: StorePlaces): Promise<StatesNow> {
  const versions = entries.flatMap((entry) => versionHere(entry, places) ?? []);
  const [source] = versions.length === 0 ? [] : await places.sources();
  if (source?.versions === undefined) return { warnings: [], faults: [] };
  const { lists, fault } = await listsOf(versions, source);
  const warnings = fault === null ? [] : [unknownStates(fault)];
  const faults: Diagnostic[] = [];
  for (const version of versions) {
    const state = stateOf(version, lists);
    if (state === null) continue;
    try {
      const warning = await holdCopies(version, state, source.name, places);
      if (warning !== null) warnings.push(warning);
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      faults.push(error);
    }
  }
  return { warnings, faults };
}

interface VersionHere {
  readonly ref: ArtifactRef;
  /** Those in the stores of project and user. */
  readonly copies: readonly StoredArchive[];
}

/** Returns null for what is not asked about. */
function versionHere({ name, version, source, from }: AskedEntry, places: StorePlaces): VersionHere | null {
  const ref = { name, version };
  const isElsewhere = source !== undefined || from !== undefined;
  if (isElsewhere || readVariant(bundledRoot(places.packageRoot), ref, null) !== null) return null;
  const stores = storesOf(places);
  const platforms = [places.platform, null];
  const copies = stores.flatMap((root) => platforms.flatMap((platform) => readVariant(root, ref, platform) ?? []));
  // What is fetched is judged on its way; a mark may have to go.
  const isMarked = stores.some((root) => markedPlatforms(root, ref, platforms).length > 0);
  return copies.length > 0 || isMarked ? { ref, copies } : null;
}

function storesOf({ manifestDir, userHome }: StorePlaces): readonly string[] {
  return [storeRoot(manifestDir), storeRoot(userHome)];
}

type Lists = ReadonlyMap<string, readonly PublishedVersion[]>;

/** The list of each name once. After the first that cannot be had none of the rest is asked for. */
async function listsOf(
  versions: readonly VersionHere[],
  source: ArtifactSource,
): Promise<{ readonly lists: Lists; readonly fault: Diagnostic | null }> {
  const lists = new Map<string, readonly PublishedVersion[]>();
  let fault: Diagnostic | null = null;
  await inParallel([...new Set(versions.map(({ ref }) => ref.name))], askedAtOnce, async (name) => {
    if (fault !== null) return;
    try {
      lists.set(name, (await source.versions?.(name)) ?? []);
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      fault ??= error;
    }
  });
  return { lists, fault };
}

/** Returns null where the registry does not have the version with these bytes: it speaks of another artifact then. */
function stateOf({ ref, copies }: VersionHere, lists: Lists): StateOfVersion | null {
  const listed = lists.get(ref.name)?.find(({ version }) => version === ref.version);
  if (listed === undefined) return null;
  const isSame = copies.some((copy) => listed.archives.some(({ sha256 }) => sha256 === copy.sha256));
  return isSame || copies.length === 0 ? listed : null;
}

/** What is to be warned of; null for nothing. */
async function holdCopies(
  { ref, copies }: VersionHere,
  state: StateOfVersion,
  by: string,
  places: StorePlaces,
): Promise<Diagnostic | null> {
  if (state.state === 'blocked') for (const copy of copies) await markBlocked(copy, state.reason);
  else for (const root of storesOf(places)) await unmarkBlocked(root, ref, [places.platform, null]);
  if (copies.length === 0) return null;
  // What is on this machine already is no new install, whatever svc.lock says of it.
  const rules = { ...(places.fetching?.states ?? strictRules), allowsYanked: true };
  return judgeState(ref, state, { by, isLocked: false }, rules);
}

function unknownStates(fault: Diagnostic): Diagnostic {
  return new Diagnostic('W-REG-007', `whether versions were yanked or blocked is not known: ${fault.message}`);
}

/** Has a copy count as absent, and as blocked where it would be fetched anew. */
async function markBlocked({ path }: StoredArchive, reason: string | null): Promise<void> {
  await withGuard(path, async () => {
    await replaceFile(hashFileOf(path), [Buffer.from(encodeBlockedMark(reason))]);
  });
}

/** Takes such marks away, so that the version is fetched anew. */
async function unmarkBlocked(root: string, ref: ArtifactRef, platforms: readonly (string | null)[]): Promise<void> {
  for (const platform of markedPlatforms(root, ref, platforms)) {
    const { hash } = variantPaths(root, ref, platform);
    try {
      await rm(hash, { force: true });
    } catch (error) {
      throw ioFault(error, `cannot remove ${hash}`);
    }
  }
}

function markedPlatforms(
  root: string,
  ref: ArtifactRef,
  platforms: readonly (string | null)[],
): readonly (string | null)[] {
  return platforms.filter((platform) => blockedReason(root, ref, platform) !== undefined);
}
