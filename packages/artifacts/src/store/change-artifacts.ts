/** Changes which artifacts a project uses: fetches what is new, then changes `svc.lock` and `svc.yaml`, in an order that can be interrupted. */

import { realpathSync, statSync } from 'node:fs';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { readTextIfThere } from '@svc/kit/files/read-text.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { type ArtifactEdit, editArtifacts } from '../manifest/edit-artifacts.ts';
import type { ArtifactEntry } from '../manifest/schema.ts';
import type { ArtifactSource, InstalledArtifact } from './installed-artifact.ts';
import { bringRef, type BroughtRef, type InstallRequest, judgeSkills, record } from './install.ts';
import type { WantedArtifact } from './locate.ts';
import type { CopyRule, StorePlaces } from './store-places.ts';
import { addToLock, dropFromLock, readLock } from './lockfile.ts';
import { lockedOf, resolveArtifacts } from './resolve.ts';
import { refuseShadowed } from './taken-copies.ts';

/** What becomes of one artifact of the project. */
export interface ArtifactChange {
  /** What is brought; null for one that is only taken out. */
  readonly wanted: WantedArtifact | null;
  /** Asked in place of the registry in use as it is. */
  readonly source?: ArtifactSource;
  /** Which copies of this machine are as good as what the source has; all of them when absent. */
  readonly mayTake?: CopyRule;
  /** Whether somebody named another place for the same version: what `svc.lock` says of the old one does not count. */
  readonly movesPlace?: boolean;
  /** Makes the edit of the manifest; `runtime` is what the archive that was brought says of itself. */
  readonly edit: (runtime: ArtifactEntry['runtime'] | null) => ArtifactEdit;
}

export interface ChangeRequest extends Omit<InstallRequest, 'entries'> {
  /** Absolute. */
  readonly manifestPath: string;
  /** The entries of a text of the manifest, which it checks whole; throws what is wrong with it. */
  readonly entriesOf: (text: string) => readonly ArtifactEntry[];
}

/** The text of the manifest now. `E-IO-001` when it cannot be read. */
export function readManifest(path: string): string {
  const text = readTextIfThere(path);
  if (text !== null) return text;
  throw new Diagnostic('E-IO-001', `cannot read ${path}: no such file`);
}

/**
 * Makes the changes: everything is fetched, checked and stored first; then `svc.lock` records what is new beside what is old, under its guard; then the
 * manifest is replaced by its edited text; then what is old goes from the lock. A kill at any moment leaves a manifest that agrees with the lock,
 * which may hold more than is needed. The edit is made on the text as it is then, so that of two changes at once none is lost.
 */
export async function changeArtifacts(
  changes: readonly ArtifactChange[],
  request: ChangeRequest,
): Promise<readonly BroughtRef[]> {
  const brought: BroughtRef[] = [];
  const edits: ArtifactEdit[] = [];
  for (const change of changes) {
    const { wanted, source, edit } = change;
    if (wanted === null) {
      edits.push(edit(null));
      continue;
    }
    const installed = await bringRef(wanted, { ...request, ...placesOfChange(change, request), entries: [] });
    const { name, runtime } = installed;
    if (runtime === null) throw new Diagnostic('E-ART-005', `${name} is a capsule, which no other capsule uses`);
    refuseShadowed(wanted, { ...installed, by: source?.name ?? 'the registry in use' }, request);
    brought.push(installed);
    edits.push(edit(runtime));
  }
  const { manifestPath, manifestDir, manifestFile = manifestPath } = request;
  const path = realpathSync(manifestPath);
  await withGuard(path, async () => {
    const edited = editArtifacts(manifestFile, readManifest(path), edits);
    const entries = request.entriesOf(edited);
    const folders = await judgedFolders(edits, { ...request, entries });
    await record(brought, { ...request, entries }, addToLock);
    if (readLock(manifestDir) !== null) await addToLock(manifestDir, lockedOf(folders));
    await replaceFile(path, [Buffer.from(edited)], { mode: statSync(path).mode & 0o777 });
    await dropFromLock(manifestDir, ({ name, version }) => isStale(edits, entries, { name, version }));
  });
  return brought;
}

/** New entries whose `source` is an archive or a skill, and those that name the folder of a repository, for a lock that is there or comes to be; a run makes a missing one. Nothing is written for one that is refused. */
async function judgedFolders(
  edits: readonly ArtifactEdit[],
  request: InstallRequest,
): Promise<readonly InstalledArtifact[]> {
  const hasLock = readLock(request.manifestDir) !== null;
  const isAdded = ({ name, from }: ArtifactEntry): boolean =>
    edits.some((edit) =>
      edit.kind === 'add' && edit.row.source !== undefined
        ? edit.row.name === name
        : from?.includes('#') === true && nameOf(edit) === name,
    );
  const entries = request.entries.filter((entry) => isAdded(entry) && (hasLock || entry.runtime === 'skill'));
  const artifacts = await resolveArtifacts({ ...request, entries, lock: 'ignore' });
  await judgeSkills(artifacts, request);
  return artifacts;
}

/** Where the artifact of a change is looked for. */
export function placesOfChange(
  { source, mayTake, movesPlace = false }: ArtifactChange,
  places: StorePlaces,
): StorePlaces {
  const sources = source === undefined ? places.sources : (): readonly ArtifactSource[] => [source];
  return {
    ...places,
    sources,
    fetching: { ...places.fetching, movesPlace, ...(mayTake === undefined ? {} : { mayTake }) },
  };
}

/** Only of the artifacts that were changed: other entries of a lock may be another branch's. */
function isStale(
  edits: readonly ArtifactEdit[],
  entries: readonly ArtifactEntry[],
  { name, version }: WantedArtifact,
): boolean {
  const isConcerned = edits.some((edit) => nameOf(edit) === name);
  return isConcerned && !entries.some((entry) => entry.name === name && entry.version === version);
}

function nameOf(edit: ArtifactEdit): string {
  return edit.kind === 'add' ? edit.row.name : edit.name;
}
