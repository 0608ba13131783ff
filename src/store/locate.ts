import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';
import type { ArtifactSource } from './artifact-source.ts';
import type { ArtifactOrigin } from './installed-artifact.ts';
import { storedVersions } from './list-stored.ts';
import { bundledRoot, findStored, readVariant, type StoredArchive, storeRoot } from './store-layout.ts';
import { putArchive } from './store-put.ts';

/** Where artifacts are looked for. */
export interface StorePlaces {
  readonly manifestDir: string;
  readonly userHome: string;
  readonly packageRoot: string;
  /** `<os>-<arch>` of this machine. */
  readonly platform: string;
  /** Asked in this order for what no local place has; none with `--offline`. */
  readonly sources: readonly ArtifactSource[];
}

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
 * The first local place that has the artifact. When none has, the sources are asked, and what one gives goes into the store of
 * the project. Throws `E-REG-001` when it is nowhere, naming every place, `E-REG-002` when it does not arrive as announced.
 */
export async function locate(ref: ArtifactRef, places: StorePlaces): Promise<Location> {
  const location = locateLocally(ref, places);
  if (location !== null) return location;
  for (const source of places.sources) {
    const fetched = await source.fetch(ref, places.platform);
    if (fetched === null) continue;
    const root = storeRoot(places.manifestDir);
    const stored = await putArchive({
      root,
      chunks: fetched.bytes,
      platform: fetched.platform,
      from: source.name,
      expected: ref,
      sha256: fetched.sha256,
    });
    return { origin: 'project', root, stored };
  }
  throw foundNowhere(ref, places);
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

function foundNowhere(ref: ArtifactRef, places: StorePlaces): Diagnostic {
  const local = localPlaces(places).map(({ origin, root }) => ({ name: placeNames[origin], root }));
  const looked = [
    ...local.map(({ name, root }) => `the ${name} (${root})`),
    ...places.sources.map((source) => `the source ${source.name}`),
  ];
  const others = local.flatMap(({ name, root }) =>
    storedVersions(root, ref.name).map((version) => `${version} (${name})`),
  );
  const unasked = places.sources.length === 0 ? '; this version reads no artifact source' : '';
  return new Diagnostic('E-REG-001', `${spell(ref)} for ${places.platform} is not in ${looked.join(', ')}${unasked}`, {
    hint:
      others.length > 0
        ? `there is ${ref.name} in version ${others.join(', ')}`
        : 'check the name and the version, or give the entry a source: with the path of a directory or archive',
  });
}
