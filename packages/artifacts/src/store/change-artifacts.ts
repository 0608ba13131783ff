/** Changes which artifacts a project uses: fetches what is new, then changes `svc.lock` and `svc.yaml`, in an order that can be interrupted. */

import { realpathSync, statSync } from 'node:fs';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { readSmallText, unreadableFile } from '@svc/kit/files/read-text.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { type ArtifactEdit, editArtifacts } from '../manifest/edit-artifacts.ts';
import type { ArtifactEntry } from '../manifest/schema.ts';
import type { ArtifactSource } from './installed-artifact.ts';
import { bringRef, type InstallRequest, type InstalledRef, record } from './install.ts';
import type { WantedArtifact } from './locate.ts';
import { addToLock, dropFromLock } from './lockfile.ts';

/** What becomes of one artifact of the project. */
export interface ArtifactChange {
  /** What is brought; null for one that is only taken out. */
  readonly wanted: WantedArtifact | null;
  /** Asked in place of the registry in use as it is. */
  readonly source?: ArtifactSource;
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
  const reading = readSmallText(path);
  if (reading.kind === 'text') return reading.text;
  if (reading.kind === 'unreadable') throw unreadableFile(path, reading);
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
): Promise<readonly InstalledRef[]> {
  const brought: InstalledRef[] = [];
  const edits: ArtifactEdit[] = [];
  for (const { wanted, source, edit } of changes) {
    if (wanted === null) {
      edits.push(edit(null));
      continue;
    }
    const sources = source === undefined ? request.sources : () => [source];
    const { runtime, ...installed } = await bringRef(wanted, { ...request, entries: [], sources });
    if (runtime === null) throw new Diagnostic('E-ART-005', `${wanted.name} is a capsule, which no other capsule uses`);
    brought.push(installed);
    edits.push(edit(runtime));
  }
  const { manifestPath, manifestDir, manifestFile = manifestPath } = request;
  const path = realpathSync(manifestPath);
  await withGuard(path, async () => {
    const edited = editArtifacts(manifestFile, readManifest(path), edits);
    const entries = request.entriesOf(edited);
    await record(brought, { ...request, entries }, addToLock);
    await replaceFile(path, [Buffer.from(edited)], { mode: statSync(path).mode & 0o777 });
    await dropFromLock(manifestDir, ({ name, version }) => isStale(edits, entries, { name, version }));
  });
  return brought;
}

/** Only of the artifacts that were changed: other entries of a lock may be another branch's. */
function isStale(
  edits: readonly ArtifactEdit[],
  entries: readonly ArtifactEntry[],
  { name, version }: WantedArtifact,
): boolean {
  const isConcerned = edits.some((edit) => (edit.kind === 'add' ? edit.row.name : edit.name) === name);
  return isConcerned && !entries.some((entry) => entry.name === name && entry.version === version);
}
