/** Finds the artifacts of a manifest and checks them against `svc.lock`. */

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { readSmallText } from '@svc/kit/files/read-text.ts';
import type { ArtifactEntry, ArtifactManifest } from '../manifest/schema.ts';
import { spell } from './artifact-ref.ts';
import {
  capsuleAt,
  checkIdentity,
  type FoundArtifact,
  type InstalledArtifact,
  skillFile,
} from './installed-artifact.ts';
import type { KeptSkills } from './kept-skills.ts';
import { locate } from './locate.ts';
import type { Location } from './store-places.ts';
import type { StorePlaces } from './store-places.ts';
import {
  createLock,
  fetchedFrom,
  type LockedArtifact,
  notNamed,
  readLock,
  recordsAll,
  takeIntoLock,
} from './lockfile.ts';
import type { ArchivedFiles } from './open-stored.ts';
import type { StoredArchive } from './store-layout.ts';

interface ResolveRequest extends StorePlaces {
  readonly entries: readonly ArtifactEntry[];
  /**
   * `hold`: makes `svc.lock` if it is missing, else every artifact must match it. `frozen`: it must exist, and every
   * artifact must match it. `ignore`: only the bytes that a source serves are checked. A folder that `source` names is held to no bytes.
   */
  readonly lock: 'hold' | 'frozen' | 'ignore';
  /** Called with each artifact that `hold` has just added to a lock that named no version of it; absent where those are refused. */
  readonly onTaken?: (artifact: LockedArtifact) => void;
  /** Where `hold` has it, if that is not the manifest's directory. */
  readonly lockDirectory?: string;
  /** The manifest as the user named it: hints repeat it. */
  readonly manifestFile?: string;
}

/** The outcome for one entry. */
type Resolution =
  | { readonly kind: 'installed'; readonly artifact: InstalledArtifact }
  | { readonly kind: 'failed'; readonly entry: ArtifactEntry; readonly fault: Diagnostic | DiagnosticList };

/** So many downloads run at once: each has its 30 seconds, however many there are (D3 "Limits"). */
const maxAtOnce = 4;

/**
 * Finds every artifact of a manifest, in its order: `source:` of the entry, the package, the store of the project, the store of
 * the user, then the registry in use. Throws every problem at once: `E-REG-001` for a missing artifact, `E-ART-…` for
 * an unusable one, `E-RUN-003` for one that differs from `svc.lock`, `E-IO-001` when `svc.lock` cannot be made, and the refusals of
 * downloads.
 */
export async function resolveArtifacts(request: ResolveRequest): Promise<readonly InstalledArtifact[]> {
  const frozen = request.lock === 'frozen' ? readLock(request.manifestDir) : null;
  const isMissing = request.lock === 'frozen' && frozen === null;
  if (isMissing && request.entries.some(({ source }) => source === undefined)) throw await missingLock(request);
  const resolutions = await resolveEach(request.entries, request);
  const faults = resolutions.flatMap((resolution) => (resolution.kind === 'failed' ? listed(resolution.fault) : []));
  refuse(faults);
  const artifacts = resolutions.flatMap(foundIn);
  const found = lockedOf(artifacts);
  if (isMissing && found.length > 0) throw await missingLock(request);
  const lock = request.lock === 'hold' ? await lockOfRun(found, request) : frozen;
  if (lock === null || recordsAll(lock, found)) return artifacts;
  const { lockFaults } = await import('./lock-faults.ts');
  const { manifestFile, manifestDir, lockDirectory: keptIn = manifestDir } = request;
  const holder = request.lock === 'frozen' ? ({ by: 'frozen' } as const) : ({ by: 'run' } as const);
  refuse(lockFaults(lock, found, { ...holder, manifestFile, ...(keptIn === manifestDir ? {} : { keptIn }) }));
  return artifacts;
}

async function missingLock({ manifestDir, manifestFile }: ResolveRequest): Promise<Diagnostic> {
  const { lockMissing } = await import('./lock-faults.ts');
  return lockMissing(manifestDir, manifestFile);
}

/** The same as `resolveArtifacts` without the lock; an entry that cannot be used has its own problem. */
export async function resolveEach(entries: readonly ArtifactEntry[], places: StorePlaces): Promise<Resolution[]> {
  const skills = entries.some(isFolderSkill) ? new (await import('./kept-skills.ts')).KeptSkills(places) : null;
  const where = { ...places, skills };
  const resolutions = await inParallel(entries, maxAtOnce, async (entry) => await resolveEntry(entry, where));
  skills?.keep();
  return resolutions;
}

/** The artifact of an entry, if there is one. */
export function foundIn(resolution: Resolution): readonly InstalledArtifact[] {
  return resolution.kind === 'installed' ? [resolution.artifact] : [];
}

/** What `svc.lock` records of these artifacts. */
export function lockedOf(
  artifacts: readonly InstalledArtifact[],
): readonly (LockedArtifact & Pick<InstalledArtifact, 'location' | 'origin'>)[] {
  return artifacts.filter(({ inPlace }) => inPlace === undefined).map(lockedAs);
}

function lockedAs(artifact: InstalledArtifact): LockedArtifact & Pick<InstalledArtifact, 'location' | 'origin'> {
  const { manifest, platform, sha256, location, origin, admission, from, skill } = artifact;
  const known = { ...fetchedFrom(from), ...signedBy(admission), ...askedBy(skill) };
  return { name: manifest.name, version: manifest.version, platform, sha256, location, origin, ...known };
}

function askedBy(folder: FoundArtifact['skill']): Pick<LockedArtifact, 'skill'> {
  if (folder === undefined) return {};
  const { allowed, scripts, compatibility } = folder;
  return { skill: { allowed, scripts, compatibility } };
}

/** The signer, for `svc.lock`. */
export function signedBy(admission: FoundArtifact['admission']): Pick<LockedArtifact, 'signedBy'> {
  return admission?.kind === 'signed' ? { signedBy: admission.signer } : {};
}

/** What the trust policy warns of. */
export function admissionWarnings(
  found: readonly { readonly admission?: FoundArtifact['admission'] | undefined }[],
): readonly Diagnostic[] {
  return found.flatMap(({ admission }) => (admission?.kind === 'warned' ? [admission.warning] : []));
}

/** The stores, and what is kept of the folders of skills where an entry is one. */
interface Places extends StorePlaces {
  readonly skills: KeptSkills | null;
}

async function resolveEntry(entry: ArtifactEntry, places: Places): Promise<Resolution> {
  try {
    return { kind: 'installed', artifact: await installedFor(entry, places) };
  } catch (error) {
    // Reported with the problems of the other entries; everything that is no problem of the operator goes on its way.
    if (error instanceof Diagnostic || error instanceof DiagnosticList) return { kind: 'failed', entry, fault: error };
    throw error;
  }
}

async function installedFor(entry: ArtifactEntry, places: Places): Promise<InstalledArtifact> {
  const found = await findFor(entry, places);
  checkIdentity(found.manifest, entry, found.location);
  if (found.manifest.runtime !== entry.runtime) {
    throw new Diagnostic(
      'E-ART-005',
      `${spell(entry)} is a ${found.manifest.runtime}, but the manifest lists it as a ${entry.runtime}`,
      { hint: `set runtime: ${found.manifest.runtime} on its entry of artifacts` },
    );
  }
  // A folder of `svc.yaml` is held to no bytes.
  if (entry.discovered === true && found.skill === undefined)
    throw new Diagnostic('E-ART-006', `${found.location} was replaced while the session began`, {
      hint: 'run the command again',
    });
  const isOwnSkill = entry.runtime === 'skill' && found.skill === undefined;
  const skillText = isOwnSkill ? (await found.read(skillFile)).toString('utf8') : null;
  return { ...found, entry, skillText };
}

function isFolderSkill(entry: ArtifactEntry): entry is ArtifactEntry & { readonly source: string } {
  return entry.source !== undefined && entry.runtime === 'skill';
}

async function findFor(entry: ArtifactEntry, { skills, ...places }: Places): Promise<FoundArtifact> {
  const { name, version, source } = entry;
  if (skills !== null && isFolderSkill(entry)) return await skills.open(entry);
  if (source !== undefined) {
    const { openSource } = await import('./open-source.ts');
    return await openSource({ name, version, source }, places);
  }
  const location = await locate(entry, places);
  if (location.origin === 'bundled') return await openBundled(location);
  const { inspectStored } = await import('./open-stored.ts');
  const { stored, artifact } = await inspectStored(location, places.platform);
  if (artifact === null) throw capsuleAt(stored.path);
  return { ...artifact, ...admissionOf(location, stored), ...fetchedFrom(location.from) };
}

/** The policy judged the bytes that were located, so its verdict is void for others that lie there since. */
export function admissionOf({ stored, admission }: Location, opened: StoredArchive): Pick<FoundArtifact, 'admission'> {
  if (admission === undefined || admission.kind === 'unchecked' || opened.sha256 === stored.sha256) {
    return admission === undefined ? {} : { admission };
  }
  throw new Diagnostic('E-ART-006', `${opened.path} was replaced while its signature was looked at`, {
    hint: 'run the command again',
  });
}

/** The lock that a run must match, made if it is missing; null for a run that needs none. What no version of is in it is added where somebody hears of that. */
async function lockOfRun(
  found: readonly LockedArtifact[],
  { manifestDir, lockDirectory = manifestDir, onTaken }: ResolveRequest,
): Promise<readonly LockedArtifact[] | null> {
  if (found.length === 0) return null;
  const lock = readLock(lockDirectory) ?? (await createLock(lockDirectory, found));
  if (onTaken === undefined || notNamed(lock, found).length === 0) return lock;
  const { added, after } = await takeIntoLock(lockDirectory, found);
  for (const artifact of added) onTaken(artifact);
  return after;
}

export function listed(fault: Diagnostic | DiagnosticList): readonly Diagnostic[] {
  return fault instanceof Diagnostic ? [fault] : fault.diagnostics;
}

/** Throws them, all at once. */
export function refuse(faults: readonly Diagnostic[]): void {
  const [first] = faults;
  if (first !== undefined) throw faults.length === 1 ? first : new DiagnosticList(faults);
}

/**
 * The bundled artifact at a place. This is on the start path of `svc run`: it reads the manifest from beside the archive and
 * neither unpacks nor hashes, because the package is trusted as the program itself is. It checks what `read` gives.
 */
export async function openBundled({ origin, stored }: Location): Promise<FoundArtifact> {
  const directory = dirname(stored.path);
  const compiledDir = join(directory, 'compiled');
  const open = async (): Promise<ArchivedFiles> => await openArchived(stored);
  return {
    manifest: manifestJson(directory) ?? (await manifestYaml(directory)),
    origin,
    location: stored.path,
    platform: stored.platform,
    sha256: stored.sha256,
    compiledDir: existsSync(compiledDir) ? compiledDir : null,
    read: async (name) => await (await open()).read(name),
    archive: () => chunksOf(open),
  };
}

/** The manifest as the build of the package checked it: JSON takes a tenth of the time that the YAML takes. */
function manifestJson(directory: string): ArtifactManifest | null {
  const reading = readSmallText(join(directory, 'manifest.json'));
  return reading.kind === 'text' ? (JSON.parse(reading.text) as ArtifactManifest) : null;
}

async function manifestYaml(directory: string): Promise<ArtifactManifest> {
  const file = join(directory, 'svc.yaml');
  const reading = readSmallText(file);
  if (reading.kind !== 'text') {
    throw new Diagnostic('E-ART-004', `${directory} has no readable svc.yaml`, { hint: 'install svc again' });
  }
  const { parseArtifactManifest } = await import('../manifest/artifact-manifest.ts');
  return parseArtifactManifest(reading.text, file).manifest;
}

async function openArchived({ path, sha256 }: StoredArchive): Promise<ArchivedFiles> {
  const { ArchivedFiles } = await import('./open-stored.ts');
  return new ArchivedFiles(path, sha256, null);
}

async function* chunksOf(open: () => Promise<ArchivedFiles>): AsyncGenerator<Uint8Array> {
  yield* (await open()).chunks();
}

/** The results of `work` on each item, in their order; at most `most` are worked on at once. Rejects with the first failure. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of waiting) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  return results;
}
