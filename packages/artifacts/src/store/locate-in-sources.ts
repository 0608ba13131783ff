/** Asks registries and repositories for an artifact that this machine does not have. */

import { createHash } from 'node:crypto';
import { basename } from 'node:path';

import { didYouMean } from '@svc/kit/diagnostics/closest-name.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { boundedArchive } from './archive-entry.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';
import type { ArtifactSource, FetchedArchive } from './installed-artifact.ts';
import { storedNames, storedVersions } from './list-stored.ts';
import type { Location } from './store-places.ts';
import type { LocalPlace, StorePlaces } from './store-places.ts';
import { fetchedFrom, type LockedArtifact, readLock } from './lockfile.ts';
import { blockedReason, variantPaths } from './store-layout.ts';
import { holdToLock, receive, type Receipt } from './store-put.ts';
import { trustPlacesOf } from './trust/admit-stored.ts';
import { blockedFault, judgeState, strictRules } from './version-state-rules.ts';

/**
 * Asks the sources for an artifact that is in none of `local`, and puts the archive of the first source that has it into the store at `root`. Throws
 * `E-REG-001`, which names every place, when no source has it, and the error of `receive` when the download is refused.
 */
export async function locateInSources(
  ref: ArtifactRef,
  places: StorePlaces,
  local: readonly LocalPlace[],
  root: string,
): Promise<Location> {
  const receipt = receiptOf(places, root);
  const { fetched, source } = await askSources(ref, places, local, receipt);
  try {
    const from = fetchedFrom(fetched.from);
    const signatures = async (archive: LockedArtifact): Promise<readonly string[]> =>
      (await source.signatures?.({ ...archive, ...from })) ?? [];
    const download = { source: source.name, what: spell(ref), expected: ref, signatures };
    const stored = await receive(fetched, download, receipt);
    return { origin: places.fetching?.into ?? 'project', root, stored, admission: stored.admission, ...from };
  } finally {
    fetched.discard();
  }
}

/** Returns what the first source that has the artifact is about to send. The caller closes its connection. */
async function askSources(
  ref: ArtifactRef,
  places: StorePlaces,
  local: readonly LocalPlace[],
  receipt: Receipt,
): Promise<Arriving> {
  for (const place of local) refuseBlocked(place.root, ref, [places.platform, null]);
  const held = receipt.isFrozen ? lockedFor(ref, places.platform, receipt) : undefined;
  const sources = await sourcesFor(held, places);
  for (const source of sources) {
    const fetched = await source.fetch(ref, places.platform, held);
    if (fetched === null) continue;
    const arriving = { fetched, source, receipt };
    try {
      if (fetched.state !== undefined) await holdToState(ref, arriving, places);
      return arriving;
    } catch (error) {
      fetched.discard();
      throw error;
    }
  }
  throw foundNowhere(ref, places.platform, local, sources);
}

/** Throws `E-REG-010` if a store has a copy that is known to be blocked. */
function refuseBlocked(root: string, ref: ArtifactRef, platforms: readonly (string | null)[]): void {
  for (const platform of platforms) {
    const reason = blockedReason(root, ref, platform);
    if (reason === undefined) continue;
    const { message } = blockedFault(ref, { by: 'the registry that an install asked', reason });
    throw new Diagnostic('E-REG-010', message, {
      hint: `choose another version: svc info ${ref.name} lists them; if it was restored, run svc install`,
    });
  }
}

/** What is known of an archive before it is downloaded. */
export interface AnnouncedArchive {
  readonly platform: string | null;
  readonly sha256: string;
  /** Is null if its source does not say. */
  readonly bytes: number | null;
}

/**
 * Returns what the sources would send, and from where, and stores nothing. It reads the bytes only if their source announces no hash. Throws the errors
 * of `locateInSources`, as far as they show without the bytes.
 */
export async function announcedBySources(
  ref: ArtifactRef,
  places: StorePlaces,
  local: readonly LocalPlace[],
  root: string,
): Promise<AnnouncedArchive & { readonly by: string }> {
  const receipt = receiptOf(places, root);
  const { fetched, source } = await askSources(ref, places, local, receipt);
  try {
    const { platform, size, from } = fetched;
    const { sha256, bytes } =
      fetched.sha256 === null ? await measured(fetched, source.name) : { sha256: fetched.sha256, bytes: size };
    holdToLock({ ...ref, platform, sha256, ...fetchedFrom(from) }, { source: source.name }, receipt);
    return { platform, sha256, bytes, by: source.name };
  } finally {
    fetched.discard();
  }
}

async function measured(fetched: FetchedArchive, by: string): Promise<Pick<AnnouncedArchive, 'sha256' | 'bytes'>> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of boundedArchive(fetched.bytes, by)) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { sha256: hash.digest('hex'), bytes };
}

/** Returns what the lock records for this platform: the variant, else the generic file. */
function lockedFor({ name, version }: ArtifactRef, platform: string, { lock }: Receipt): LockedArtifact | undefined {
  const same = lock?.filter((locked) => locked.name === name && locked.version === version) ?? [];
  return same.find((locked) => locked.platform === platform) ?? same.find((locked) => locked.platform === null);
}

/** Returns the sources to ask. If neither the manifest nor the operator names a place, `svc` asks the one in `svc.lock`: the lock says which bytes must come from there. */
async function sourcesFor(
  held: LockedArtifact | undefined,
  { sources }: StorePlaces,
): Promise<readonly ArtifactSource[]> {
  const usual = await sources();
  const place = held?.from;
  return usual.length > 0 || place === undefined
    ? usual
    : await sources(place.startsWith('github:') ? place : place.slice(0, place.lastIndexOf('@')), 'lock');
}

interface Arriving {
  readonly fetched: FetchedArchive;
  readonly source: ArtifactSource;
  readonly receipt: Receipt;
}

/** Applies the rules for the state of a version. The state alone decides; if the source has a list of versions, the reason comes from there. */
async function holdToState(
  ref: ArtifactRef,
  { fetched, source, receipt }: Arriving,
  { fetching }: StorePlaces,
): Promise<void> {
  const { platform, sha256, state = 'deprecated' } = fetched;
  const listed = (await source.versions?.(ref.name))?.find(({ version }) => version === ref.version);
  const isLocked = receipt.lock?.some((locked) => {
    return spell(locked) === spell(ref) && locked.platform === platform && locked.sha256 === sha256;
  });
  const judged = { by: source.name, isLocked: isLocked ?? false };
  const rules = fetching?.states ?? strictRules;
  const warning = judgeState(ref, { state, reason: listed?.reason ?? null }, judged, rules);
  if (warning !== null) rules.onWarning(warning);
}

/** Returns how a download goes into the store at `root`. The store of the user has nothing to do with the lock file of a project. */
export function receiptOf(places: StorePlaces, root: string): Receipt {
  const { manifestDir, fetching = {} } = places;
  const {
    into = 'project',
    observer,
    isFrozen = false,
    movesPlace = false,
    inspectsOnly = false,
    aside,
    checkArtifact,
  } = fetching;
  const lock = into === 'project' && aside === undefined ? readLock(manifestDir) : null;
  const trust = trustPlacesOf(places, () => lock);
  return { root, lock, isFrozen, movesPlace, observer, inspectsOnly, trust, checkArtifact };
}

const placeNames = { bundled: 'bundled artifacts', project: 'project store', user: 'user store' } as const;

function foundNowhere(
  ref: ArtifactRef,
  platform: string,
  local: readonly LocalPlace[],
  sources: readonly ArtifactSource[],
): Diagnostic {
  const named = local.map(({ origin, root }) => ({ name: placeNames[origin], root }));
  const looked = [
    ...named.map(({ name, root }) => `the ${name} (${root})`),
    ...sources.map((source) => `the source ${source.name}`),
  ];
  const others = named.flatMap(({ name, root }) =>
    storedVersions(root, ref.name).map((version) => `${version} (${name})`),
  );
  const meant = didYouMean(
    ref.name,
    local.flatMap(({ root }) => storedNames(root)),
  );
  const unasked = sources.length === 0 ? '; no registry was asked' : '';
  return new Diagnostic('E-REG-001', `${spell(ref)} for ${platform} is not in ${looked.join(', ')}${unasked}`, {
    hint:
      outgrownHint(ref, local) ??
      (others.length > 0
        ? `there is ${ref.name} in version ${others.join(', ')}`
        : (meant ??
          `check the name and the version${sources.length > 0 ? '' : ', install it from the registry that has it'}, or give its entry a source: with the path of a directory or archive`)),
  });
}

/** Returns what to do about a version that came with another `svc`; null for an artifact that this `svc` does not bring. */
function outgrownHint(ref: ArtifactRef, local: readonly LocalPlace[]): string | null {
  const bundled = local.find(({ origin }) => origin === 'bundled');
  const versions = bundled === undefined ? [] : storedVersions(bundled.root, ref.name);
  if (versions.length === 0) return null;
  const file = basename(variantPaths('', ref, null).archive);
  return (
    `this svc brings ${ref.name} in version ${versions.join(', ')}: svc update ${ref.name} moves svc.yaml and svc.lock to it; ` +
    `to stay, download ${file} from the release of svc that had it, and run svc install ./${file}`
  );
}
