import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';
import type { ArtifactSource, FetchObserver } from './artifact-source.ts';
import { receive, type Receipt } from './fetch-artifact.ts';
import type { ArtifactOrigin } from './installed-artifact.ts';
import { storedVersions } from './list-stored.ts';
import { readLock } from './lockfile.ts';
import { bundledRoot, findStored, readVariant, type StoredArchive, storeRoot } from './store-layout.ts';

/** Where artifacts are looked for. */
export interface StorePlaces {
  readonly manifestDir: string;
  readonly userHome: string;
  readonly packageRoot: string;
  /** `<os>-<arch>` of this machine. */
  readonly platform: string;
  /** Asked in this order for what no local place has; none with `--offline`. Called only then: it may read the configuration. */
  readonly sources: () => readonly ArtifactSource[];
  readonly fetching?: Fetching;
}

/** How what a source gives is taken in. */
export interface Fetching {
  readonly observer?: FetchObserver;
  /** The store that takes it in; the project's when absent. */
  readonly into?: StoreOrigin;
  /** Takes nothing that `svc.lock` does not record. */
  readonly isFrozen?: boolean;
}

/** The stores that can be written to. */
export type StoreOrigin = 'project' | 'user';

/** The local places in the order of looking. */
export interface LocalPlace {
  readonly origin: Exclude<ArtifactOrigin, 'source'>;
  readonly root: string;
}

export interface Location extends LocalPlace {
  readonly stored: StoredArchive;
}

export function localPlaces(places: StorePlaces): readonly LocalPlace[] {
  return [
    { origin: 'bundled', root: bundledRoot(places.packageRoot) },
    { origin: 'project', root: storeRoot(places.manifestDir) },
    { origin: 'user', root: storeRoot(places.userHome) },
  ];
}

/**
 * The first local place that has the artifact. When none has, the sources are asked, and what one gives goes into a store. Throws
 * `E-REG-001` when it is nowhere, naming every place, and what a download is refused with (`receive`).
 */
export async function locate(ref: ArtifactRef, places: StorePlaces): Promise<Location> {
  const location = locateLocally(ref, places);
  if (location !== null) return location;
  const sources = places.sources();
  const receipt = receiptOf(places);
  for (const source of sources) {
    const fetched = await source.fetch(ref, places.platform);
    if (fetched === null) continue;
    const stored = await receive(fetched, { source: source.name, what: spell(ref), expected: ref }, receipt);
    return { origin: places.fetching?.into ?? 'project', root: receipt.root, stored };
  }
  throw foundNowhere(ref, places, sources);
}

/** How a download is taken in here: the user's store has nothing to do with the lock file of a project. */
export function receiptOf({ manifestDir, userHome, fetching = {} }: StorePlaces): Receipt {
  const { into = 'project', observer, isFrozen = false } = fetching;
  const isProject = into === 'project';
  return {
    root: storeRoot(isProject ? manifestDir : userHome),
    lock: isProject ? readLock(manifestDir) : null,
    isFrozen,
    observer,
  };
}

function locateLocally(ref: ArtifactRef, places: StorePlaces): Location | null {
  for (const place of localPlaces(places)) {
    // What comes with the package runs everywhere: it has no variants to look for.
    const isBundled = place.origin === 'bundled';
    const stored = isBundled ? readVariant(place.root, ref, null) : findStored(place.root, ref, places.platform);
    if (stored !== null) return { ...place, stored };
  }
  return null;
}

const placeNames = { bundled: 'bundled artifacts', project: 'project store', user: 'user store' } as const;

function foundNowhere(ref: ArtifactRef, places: StorePlaces, sources: readonly ArtifactSource[]): Diagnostic {
  const local = localPlaces(places).map(({ origin, root }) => ({ name: placeNames[origin], root }));
  const looked = [
    ...local.map(({ name, root }) => `the ${name} (${root})`),
    ...sources.map((source) => `the source ${source.name}`),
  ];
  const others = local.flatMap(({ name, root }) =>
    storedVersions(root, ref.name).map((version) => `${version} (${name})`),
  );
  const unasked = sources.length === 0 ? '; no registry was asked' : '';
  return new Diagnostic('E-REG-001', `${spell(ref)} for ${places.platform} is not in ${looked.join(', ')}${unasked}`, {
    hint:
      others.length > 0
        ? `there is ${ref.name} in version ${others.join(', ')}`
        : `check the name and the version${sources.length > 0 ? '' : ', install it from the registry that has it'}, or give its entry a source: with the path of a directory or archive`,
  });
}
