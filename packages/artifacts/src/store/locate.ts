/** Looks an artifact up in the places of this machine, and then elsewhere. */

import type { ArtifactRef } from './artifact-ref.ts';
import type { ArtifactSource, FetchObserver, ArtifactOrigin } from './installed-artifact.ts';
import type { Admission } from './trust/admit.ts';
import type { StateRules } from './version-state-rules.ts';
import { bundledRoot, findStored, readVariant, type StoredArchive, storeRoot } from './store-layout.ts';

/** Where artifacts are looked for. */
export interface StorePlaces {
  readonly manifestDir: string;
  readonly userHome: string;
  readonly packageRoot: string;
  /** `<os>-<arch>` of this machine. */
  readonly platform: string;
  /**
   * Asked in this order for what no local place has; none with `--offline`. Called only then: it may read the configuration. `from` is that of the
   * entry, or that of `svc.lock`, which names the one place to ask; the latter counts only where the operator named no registry.
   */
  readonly sources: (
    from?: string,
    by?: 'entry' | 'lock',
  ) => readonly ArtifactSource[] | Promise<readonly ArtifactSource[]>;
  readonly fetching?: Fetching;
}

/** How what a source gives is taken in. */
interface Fetching {
  readonly observer?: FetchObserver;
  /** The store that takes it in; the project's when absent. */
  readonly into?: StoreOrigin;
  /** A folder that takes in what is fetched in place of the project, which has no part in it then. */
  readonly aside?: string;
  /** Takes nothing that `svc.lock` does not record. */
  readonly isFrozen?: boolean;
  /** Asks the sources for signatures of what is stored already without one that suffices. */
  readonly renewsSignatures?: boolean;
  /** Lets a signer take the place of the one that `svc.lock` records. */
  readonly acceptSigner?: boolean;
  /** Nothing is used of what is found, so that the trust policy is not asked: for commands that tell what a rule would refuse. */
  readonly inspectsOnly?: boolean;
  /** Which copies of this machine are taken in place of what the sources have; all when absent. */
  readonly mayTake?: CopyRule;
  /** How versions are taken that somebody advises against; strictly when absent. */
  readonly states?: StateRules;
}

/** Whether a copy of this machine is what was asked for (`store/taken-copies.ts`). */
export type CopyRule = (stored: StoredArchive, origin: LocalPlace['origin']) => boolean;

/** The stores that can be written to. */
type StoreOrigin = 'project' | 'user';

/** An artifact, and where it comes from where that is not the registry in use. */
export interface WantedArtifact extends ArtifactRef {
  readonly from?: string | undefined;
}

/** The local places in the order of looking. */
export interface LocalPlace {
  readonly origin: Exclude<ArtifactOrigin, 'source'>;
  readonly root: string;
}

export interface Location extends LocalPlace {
  readonly stored: StoredArchive;
  /** What the trust policy says to the bytes that `stored.sha256` is of; absent for what comes with the package. */
  readonly admission?: Admission;
  /** The document of an OCI registry that it was fetched by just now (`LockedArtifact.from`). */
  readonly from?: string;
}

export function localPlaces(places: StorePlaces): readonly LocalPlace[] {
  return [
    { origin: 'bundled', root: bundledRoot(places.packageRoot) },
    { origin: 'project', root: storeRoot(places.manifestDir) },
    { origin: 'user', root: storeRoot(places.userHome) },
  ];
}

/** The first local place that has the artifact, as far as its copy may be taken, and what it has; null when none has. */
export function copyHere(ref: ArtifactRef, places: StorePlaces): (LocalPlace & Pick<Location, 'stored'>) | null {
  for (const place of localPlaces(places)) {
    // What comes with the package runs everywhere: it has no variants to look for.
    const isBundled = place.origin === 'bundled';
    const stored = isBundled ? readVariant(place.root, ref, null) : findStored(place.root, ref, places.platform);
    if (stored !== null && places.fetching?.mayTake?.(stored, place.origin) !== false) return { ...place, stored };
  }
  return null;
}

/** The archive and its signatures are asked for where `from` says, and nowhere else. */
export function askedAt<Places extends StorePlaces>(from: WantedArtifact['from'], places: Places): Places {
  return from === undefined ? places : { ...places, sources: () => places.sources(from) };
}

/**
 * The first local place that has the artifact. When none has, the sources are asked, and what one gives goes into a store. Throws
 * `E-REG-001` when it is nowhere, naming every place, what a download is refused with (`receive`), and what the trust policy refuses (`admit`).
 */
export async function locate({ from, ...ref }: WantedArtifact, wherever: StorePlaces): Promise<Location> {
  const places = askedAt(from, wherever);
  const here = copyHere(ref, places);
  if (here === null) {
    const { locateInSources } = await import('./locate-in-sources.ts');
    return await locateInSources(ref, places, localPlaces(places), targetRoot(places));
  }
  if (here.origin === 'bundled') return here;
  if (places.fetching?.inspectsOnly === true) return { ...here, admission: { kind: 'unchecked' } };
  const { admitStored } = await import('./trust/admit-stored.ts');
  return { ...here, admission: await admitStored(here.stored, places) };
}

/** The store that takes in what is installed or fetched. */
export function targetRoot({ manifestDir, userHome, fetching }: StorePlaces): string {
  return storeRoot(fetching?.into === 'user' ? userHome : (fetching?.aside ?? manifestDir));
}
