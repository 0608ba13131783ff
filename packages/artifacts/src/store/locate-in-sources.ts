import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';
import type { ArtifactSource } from './artifact-source.ts';
import { receive, type Receipt } from './fetch-artifact.ts';
import { storedVersions } from './list-stored.ts';
import { localPlaces, type Location, type StorePlaces } from './locate.ts';
import { readLock } from './lockfile.ts';
import { storeRoot } from './store-layout.ts';

/**
 * Asks the sources for what no local place has, and takes in what the first of them gives. Throws `E-REG-001` naming every place when none
 * gives it, and what a download is refused with (`receive`).
 */
export async function locateInSources(ref: ArtifactRef, places: StorePlaces): Promise<Location> {
  const sources = await places.sources();
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
