/** Looks an artifact up in the places of this machine, and then elsewhere. */

import type { ArtifactRef } from './artifact-ref.ts';
import type { ServerAuth } from '../manifest/schema.ts';
import { findStored, readVariant, storeRoot } from './store-layout.ts';
import { type LocalPlace, localPlaces, type Location, type StorePlaces } from './store-places.ts';

/** An artifact, and where it comes from where that is not the registry in use. */
export interface WantedArtifact extends ArtifactRef {
  readonly from?: string | undefined;
  readonly auth?: ServerAuth | undefined;
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
export function askedAt<Places extends StorePlaces>(
  { from, auth }: Pick<WantedArtifact, 'from' | 'auth'>,
  places: Places,
): Places {
  const { manifestDir, networkAllow = [] } = places;
  const asking = { auth, manifestDir, networkAllow };
  return from === undefined ? places : { ...places, sources: () => places.sources(from, 'entry', asking) };
}

/**
 * The first local place that has the artifact. When none has, the sources are asked, and what one gives goes into a store. Throws
 * `E-REG-001` when it is nowhere, naming every place, what a download is refused with (`receive`), and what the trust policy refuses (`admit`).
 */
export async function locate({ from, auth, ...ref }: WantedArtifact, wherever: StorePlaces): Promise<Location> {
  const places = askedAt({ from, auth }, wherever);
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
