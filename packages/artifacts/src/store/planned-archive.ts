/** Finds out which archive a change of a project would bring, without bringing it. */

import { stat } from 'node:fs/promises';

import { type ArtifactChange, type ChangeRequest, placesOfChange } from './change-artifacts.ts';
import { archiveFor, type Candidate } from './choose-version.ts';
import { askedAt, copyHere, targetRoot } from './locate.ts';
import { localPlaces } from './store-places.ts';
import { type AnnouncedArchive, announcedBySources, receiptOf } from './locate-in-sources.ts';
import { holdToLock } from './store-put.ts';
import { refuseShadowed } from './taken-copies.ts';

/**
 * The copy of this machine that would be taken, else what the registry lists, else what the source announces when it is asked. Throws what the change would
 * be refused with, as far as that is known before its bytes are. Returns null for what is only taken out.
 */
export async function plannedArchive(
  change: ArtifactChange & { readonly candidate: Candidate | null },
  request: ChangeRequest,
): Promise<AnnouncedArchive | null> {
  const { wanted, candidate, source } = change;
  if (wanted === null) return null;
  const { from, auth, ...ref } = wanted;
  const places = placesOfChange(change, request);
  const here = copyHere(ref, places);
  if (here !== null) {
    const { platform, sha256, path } = here.stored;
    return { platform, sha256, bytes: (await stat(path)).size };
  }
  const root = targetRoot(places);
  const listed = candidate === null ? null : archiveFor(candidate, places.platform);
  if (listed === null) {
    const announced = await announcedBySources(ref, askedAt({ from, auth }, places), localPlaces(places), root);
    refuseShadowed(ref, announced, places);
    return announced;
  }
  const by = source?.name ?? 'the registry in use';
  holdToLock({ ...ref, platform: listed.platform, sha256: listed.sha256 }, { source: by }, receiptOf(places, root));
  refuseShadowed(ref, { ...listed, by }, places);
  return listed;
}
