/** Asks the registry in use what has become of the versions that an install finds on this machine. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { PublishedVersion, StateOfVersion } from '@svc/protocol/version-states.ts';
import type { ArtifactEntry } from '../manifest/schema.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import { isBlocked, markBlocked, unmarkBlocked } from './blocked-copies.ts';
import type { ArtifactSource } from './installed-artifact.ts';
import { localPlaces, type StorePlaces } from './locate.ts';
import { inParallel, refuse } from './resolve.ts';
import { bundledRoot, readVariant, type StoredArchive } from './store-layout.ts';
import { judgeState, strictRules } from './version-state-rules.ts';

const askedAtOnce = 4;

interface Copy {
  readonly root: string;
  readonly stored: StoredArchive;
}

/**
 * Holds copies in the stores of project and user to what the registry in use says of their versions now: `W-REG-004` and `W-REG-005` for what is advised
 * against, every `E-REG-010` at once for what is blocked, whose copies are not used from then on. `W-REG-007` when the registry does not answer: what
 * is here works without it. What is bundled, and what comes from elsewhere (`source`, `from`), is not asked about.
 */
export async function holdToStates(
  entries: readonly Pick<ArtifactEntry, 'name' | 'version' | 'source' | 'from'>[],
  places: StorePlaces,
): Promise<void> {
  const rules = places.fetching?.states ?? strictRules;
  const copies = new Map<ArtifactRef, readonly Copy[]>();
  for (const { name, version, source, from } of entries) {
    const ref = { name, version };
    if (source !== undefined || from !== undefined || isBundled(ref, places)) continue;
    const found = copiesOf(ref, places);
    // What is fetched is judged on its way; a mark may have to go.
    if (found.length > 0 || isMarked(ref, places)) copies.set(ref, found);
  }
  if (copies.size === 0) return;
  const [source] = await places.sources();
  if (source?.versions === undefined) return;
  const lists = await listsOf([...copies.keys()], source, (fault) => rules.onWarning(unknownStates(fault)));
  const faults: Diagnostic[] = [];
  for (const [ref, found] of copies) {
    const state = stateOf(ref, found, lists.get(ref.name) ?? []);
    if (state === null) continue;
    try {
      await holdCopies(ref, found, { state, source, places });
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      faults.push(error);
    }
  }
  refuse(faults);
}

interface Holding {
  readonly state: StateOfVersion;
  readonly source: ArtifactSource;
  readonly places: StorePlaces;
}

async function holdCopies(ref: ArtifactRef, found: readonly Copy[], { state, source, places }: Holding): Promise<void> {
  if (state.state !== 'blocked') {
    for (const { root } of storesOf(places)) await unmarkBlocked(root, ref, [places.platform, null]);
  }
  if (found.length === 0) return;
  if (state.state === 'blocked') {
    for (const { root, stored } of found) await markBlocked(root, stored, state.reason);
  }
  // What is on this machine already is no new install, whatever svc.lock says of it.
  const rules = { ...(places.fetching?.states ?? strictRules), allowsYanked: true };
  judgeState(ref, state, { by: source.name, isLocked: false }, rules);
}

function isBundled(ref: ArtifactRef, { packageRoot }: StorePlaces): boolean {
  return readVariant(bundledRoot(packageRoot), ref, null) !== null;
}

function isMarked(ref: ArtifactRef, places: StorePlaces): boolean {
  return storesOf(places).some(({ root }) => isBlocked(root, ref, [places.platform, null]));
}

function storesOf(places: StorePlaces): readonly { readonly root: string }[] {
  return localPlaces(places).filter(({ origin }) => origin !== 'bundled');
}

function copiesOf(ref: ArtifactRef, places: StorePlaces): readonly Copy[] {
  return storesOf(places).flatMap(({ root }) =>
    [places.platform, null].flatMap((platform) => {
      const stored = readVariant(root, ref, platform);
      return stored === null ? [] : [{ root, stored }];
    }),
  );
}

/** The list of each name once. After the first that cannot be had none of the rest is asked for. */
async function listsOf(
  refs: readonly ArtifactRef[],
  source: ArtifactSource,
  onFault: (fault: Diagnostic) => void,
): Promise<ReadonlyMap<string, readonly PublishedVersion[]>> {
  const lists = new Map<string, readonly PublishedVersion[]>();
  let fault: Diagnostic | null = null;
  await inParallel([...new Set(refs.map(({ name }) => name))], askedAtOnce, async (name) => {
    if (fault !== null) return;
    try {
      lists.set(name, (await source.versions?.(name)) ?? []);
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      fault ??= error;
    }
  });
  if (fault !== null) onFault(fault);
  return lists;
}

/** Null where the registry does not have the version with these bytes: it speaks of another artifact then. */
function stateOf(
  { version }: ArtifactRef,
  found: readonly Copy[],
  versions: readonly PublishedVersion[],
): StateOfVersion | null {
  const listed = versions.find((each) => each.version === version);
  if (listed === undefined) return null;
  const isSame = found.some(({ stored }) => listed.archives.some(({ sha256 }) => sha256 === stored.sha256));
  return isSame || found.length === 0 ? listed : null;
}

function unknownStates(fault: Diagnostic): Diagnostic {
  return new Diagnostic('W-REG-007', `whether versions were yanked or blocked is not known: ${fault.message}`);
}
