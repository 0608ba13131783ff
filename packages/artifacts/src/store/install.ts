/** Installs what a manifest needs, or one artifact, into a store. */

import { stat } from 'node:fs/promises';

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { chunksOfFile } from '@svc/kit/files/regular-file.ts';
import type { Chunks } from '@svc/kit/files/replace-file.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import type { ArtifactEntry, ArtifactManifest } from '../manifest/schema.ts';
import { type OciReference, spellOci } from '../manifest/oci-reference.ts';
import { type ArtifactRef, type ReleaseRef, spell } from './artifact-ref.ts';
import type { ArtifactOrigin, FetchedArchive, FoundArtifact, InstalledArtifact } from './installed-artifact.ts';
import { locate, targetRoot, type WantedArtifact } from './locate.ts';
import type { Location } from './store-places.ts';
import type { StorePlaces } from './store-places.ts';
import { fetchedFrom, type LockedArtifact, readLock, upsertLock } from './lockfile.ts';
import { commandWith, usualManifest } from './lock-faults.ts';
import { inspectStored } from './open-stored.ts';
import type { StoredArchive } from './store-layout.ts';
import {
  admissionOf,
  admissionWarnings,
  foundIn,
  inParallel,
  listed,
  lockedOf,
  openBundled,
  refuse,
  resolveArtifacts,
  resolveEach,
  signedBy,
} from './resolve.ts';
import { type AskedEntry, askStates } from './stored-states.ts';
import { type Admitted, putArchive, receive } from './store-put.ts';
import { admit } from './trust/admit.ts';
import { signaturesBeside } from './trust/signature-bundle.ts';
import { packArchive } from './archive-writer.ts';
import { type FolderRequest, readFolder } from './build-archive.ts';
import { receiptOf } from './locate-in-sources.ts';
import { type GithubApi, archivesOfRelease, type ReleaseArchive } from './sources/github-source.ts';
import { fetchReference, type OciAccess, referenceSignatures } from './sources/oci/oci-source.ts';
import type { PackedComponentSource } from './sources/oci/packed-component.ts';

export interface InstallRequest extends StorePlaces {
  /** What the manifest needs; only this is recorded in `svc.lock`. */
  readonly entries: readonly ArtifactEntry[];
  /** The manifest as the user named it: hints repeat it. */
  readonly manifestFile?: string;
  /** Makes an artifact ready for its first run; what it throws refuses the whole install. */
  readonly prepare: (artifact: FoundArtifact) => Promise<void>;
  /**
   * Hears of the skills whose folders `svc.lock` is about to record, and of the lock as it is; what it throws refuses the whole change. Not called without such a
   * skill.
   */
  readonly onSkills: (skills: readonly InstalledArtifact[], lock: readonly LockedArtifact[]) => Promise<void>;
  /** Called for each artifact once it is in the store that it is installed into (`fetching.into`). */
  readonly onStored: (ref: ArtifactRef) => void;
  readonly onWarning: (warning: Diagnostic) => void;
}

/** Where an artifact was found that is now in a store. */
export interface InstalledRef extends ArtifactRef {
  readonly platform: string | null;
  readonly sha256: string;
  readonly origin: ArtifactOrigin;
  readonly admission: Location['admission'];
  /** The document of an OCI registry that it was fetched by just now (`LockedArtifact.from`). */
  readonly from?: string | undefined;
}

/** The same with its size, and with what it is for; null for a capsule. */
export interface BroughtRef extends InstalledRef {
  readonly bytes: number;
  readonly runtime: ArtifactManifest['runtime'] | null;
}

/**
 * Brings every artifact of the manifest into the store of the project, or of the user, and records it in the project's `svc.lock` (D1
 * "Command line" `svc install`). Every problem is thrown at once, and nothing is recorded then; a run that is interrupted can be
 * repeated. With `isFrozen`, `svc.lock` has to agree already and is not written.
 */
export async function installEntries(request: InstallRequest): Promise<readonly InstalledArtifact[]> {
  const { into = 'project', isFrozen = false } = request.fetching ?? {};
  await heedStates(request.entries, request);
  const artifacts = await resolveArtifacts({ ...request, lock: isFrozen ? 'frozen' : 'ignore' });
  for (const warning of admissionWarnings(artifacts)) request.onWarning(warning);
  if (into === 'project' && !isFrozen) await judgeSkills(artifacts, request);
  for (const artifact of artifacts) await request.prepare(artifact);
  for (const artifact of artifacts) {
    // The folder of a skill is where each start reads it: no store is asked for it.
    if (artifact.origin !== into && (artifact.skill === undefined || artifact.origin !== 'source')) {
      await putArchive({
        root: targetRoot(request),
        chunks: artifact.archive(),
        platform: artifact.platform,
        from: artifact.location,
        expected: artifact.entry,
        sha256: artifact.sha256,
        signatures:
          artifact.origin === 'user' || artifact.origin === 'project' ? signaturesBeside(artifact.location) : [],
      });
    }
    request.onStored(artifact.entry);
  }
  if (into === 'project' && !isFrozen) await upsertLock(request.manifestDir, lockedOf(artifacts));
  return artifacts;
}

/** Gives those of the artifacts that are skill folders to `onSkills`. */
export async function judgeSkills(artifacts: readonly InstalledArtifact[], request: InstallRequest): Promise<void> {
  const skills = artifacts.filter(({ skill }) => skill !== undefined);
  if (skills.length > 0) await request.onSkills(skills, readLock(request.manifestDir) ?? []);
}

/**
 * Brings one artifact into the store (D1 "Command line" `svc install <artifact-name@version>`). `svc.lock` records it when the manifest
 * lists it and takes it from no `source:` (`record`).
 */
export async function installRef(ref: ArtifactRef, request: InstallRequest): Promise<InstalledRef> {
  const { from, auth } = request.entries.find((entry) => isSame(entry, ref)) ?? {};
  const installed = await bringRef({ ...ref, from, auth }, request);
  await record([installed], request);
  return installed;
}

/** The same, and nothing of it in `svc.lock`. */
export async function bringRef(
  { name, version, from: place, auth }: WantedArtifact,
  request: InstallRequest,
): Promise<BroughtRef> {
  const ref = { name, version };
  await heedStates([{ ...ref, from: place }], request);
  const { origin, stored, artifact, admission, from } = await findRef({ ...ref, from: place, auth }, request);
  const { platform, path, sha256 } = stored;
  const { size: bytes } = await stat(path);
  if (artifact !== null) await request.prepare(artifact);
  if (origin !== (request.fetching?.into ?? 'project')) {
    const chunks = chunksOfFile(path);
    const signatures = signaturesBeside(path);
    await putArchive({ root: targetRoot(request), chunks, platform, from: path, expected: ref, sha256, signatures });
  }
  return { ...ref, platform, sha256, bytes, origin, admission, from, runtime: artifact?.manifest.runtime ?? null };
}

interface FoundRef {
  readonly origin: Location['origin'];
  readonly stored: StoredArchive;
  readonly artifact: FoundArtifact | null;
  readonly admission: Location['admission'];
  readonly from: string | undefined;
}

/** What a reference names, found as `locate` does. A capsule is no artifact that another uses, and is null. */
export async function findRef(ref: WantedArtifact, places: StorePlaces): Promise<FoundRef> {
  const location = await locate(ref, places);
  const { stored, artifact } = await inspectStored(location, location.stored.platform ?? '');
  const { origin, from } = location;
  const { admission } = admissionOf(location, stored);
  return {
    origin,
    stored,
    artifact: artifact !== null && origin === 'bundled' ? await openBundled(location) : artifact,
    admission,
    from,
  };
}

/** Warns of what the registry in use advises against, and throws what it has blocked, all at once. */
async function heedStates(entries: readonly AskedEntry[], request: InstallRequest): Promise<void> {
  const { warnings, faults } = await askStates(entries, request);
  for (const warning of warnings) request.onWarning(warning);
  refuse(faults);
}

/** A capsule is stored like any artifact; the artifacts that it needs in turn are installed when it is run. */
async function prepareStored(location: Location, request: InstallRequest): Promise<void> {
  const { artifact } = await inspectStored(location, location.stored.platform ?? '');
  if (artifact !== null) await request.prepare(artifact);
}

/**
 * Records what is in the store of the project now in `svc.lock`, as far as the manifest lists it. A lock that does not exist yet is made whole
 * or not at all (docs/adr/registry.md "The lock is made whole"): of what is on this machine, else `W-REG-002` says what it would lack. `write` changes a lock
 * that is there.
 */
export async function record(
  installed: readonly InstalledRef[],
  request: InstallRequest,
  write: typeof upsertLock = upsertLock,
): Promise<void> {
  for (const warning of admissionWarnings(installed)) request.onWarning(warning);
  for (const ref of installed) request.onStored(ref);
  const { manifestDir, entries, fetching } = request;
  const needed = installed.filter((ref) => entries.some((entry) => isSame(entry, ref)));
  if (needed.length === 0 || fetching?.into === 'user') return;
  if (readLock(manifestDir) !== null) {
    await write(manifestDir, needed.map(lockedRef));
    return;
  }
  const resolutions = await resolveEach(entries, { ...request, sources: () => [] });
  const missing = resolutions.flatMap((resolution) => (resolution.kind === 'failed' ? [resolution.entry] : []));
  if (missing.length > 0) request.onWarning(lockNotMade(missing, request.manifestFile));
  else await upsertLock(manifestDir, withPlaces(lockedOf(resolutions.flatMap(foundIn)), needed));
}

function lockedRef({ name, version, platform, sha256, admission, from }: InstalledRef): LockedArtifact {
  return { name, version, platform, sha256, ...fetchedFrom(from), ...signedBy(admission) };
}

/** What was found in the stores, with where it was fetched from just before. */
function withPlaces(found: readonly LockedArtifact[], fetched: readonly InstalledRef[]): readonly LockedArtifact[] {
  return found.map((artifact) => {
    const same = fetched.find((each) => spell(each) === spell(artifact) && each.sha256 === artifact.sha256);
    return { ...artifact, ...fetchedFrom(same?.from) };
  });
}

function lockNotMade(missing: readonly ArtifactEntry[], manifestFile = usualManifest): Diagnostic {
  const what = missing.map(spell).join(', ');
  return new Diagnostic('W-REG-002', `svc.lock is not written yet: the manifest also needs ${what}`, {
    hint: `${commandWith('svc install', manifestFile)} installs all that the manifest needs, and writes svc.lock`,
  });
}

function isSame(entry: ArtifactEntry, ref: ArtifactRef): boolean {
  return entry.source === undefined && entry.name === ref.name && entry.version === ref.version;
}

interface PathInstall {
  /** Absolute; an archive, or the folder of an artifact or a capsule. */
  readonly path: string;
  readonly folder: Omit<FolderRequest, 'directory'>;
}

/** Installs what lies at a path, in place of another of the same name and version: what an operator names by path is meant. */
export async function installPath(install: PathInstall, request: InstallRequest): Promise<InstalledRef> {
  const root = targetRoot(request);
  const stored = await putArchive({
    root,
    chunks: await chunksAt(install, request),
    platform: null,
    from: install.path,
    admit: async (found, pieces) => await admitPath(found, { path: install.path, chunks: pieces, request }),
    checkArtifact: request.fetching?.checkArtifact,
  });
  await prepareStored({ origin: request.fetching?.into ?? 'project', root, stored }, request);
  const { name, version, sha256, admission } = stored;
  const installed: InstalledRef = { name, version, platform: null, sha256, origin: 'source', admission };
  await record([installed], request);
  return installed;
}

interface AdmittedPath {
  readonly path: string;
  readonly chunks: () => Chunks;
  readonly request: InstallRequest;
}

/** The signatures of an archive lie beside it; a folder has none. */
async function admitPath(found: LockedArtifact, { path, chunks, request }: AdmittedPath): Promise<Admitted> {
  const { trust } = receiptOf(request, targetRoot(request));
  const signatures = signaturesBeside(path);
  const { sha256 } = found;
  const admission = await admit({ ref: found, sha256, chunks, signatures: () => signatures }, trust);
  return { admission, signatures };
}

async function chunksAt({ path, folder }: PathInstall, { onWarning }: InstallRequest): Promise<Chunks> {
  if (!(await isDirectory(path))) return chunksOfFile(path);
  const { content, warnings } = await readFolder({ ...folder, directory: path });
  for (const warning of warnings) onWarning(warning);
  return packArchive(content.files);
}

/** `E-IO-001` when there is nothing at the path. */
export async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw ioFault(error, `cannot read ${path}`);
  }
}

const maxAtOnce = 4;

/**
 * Installs every archive of a release (D1 "Command line" `svc install github:…`, docs/cli.md "svc install"). Each is taken in for what its own manifest
 * says it is. Throws every problem at once; the archives without one are in the store then, and in no `svc.lock`.
 */
export async function installRelease(
  release: ReleaseRef,
  api: GithubApi,
  request: InstallRequest,
): Promise<readonly InstalledRef[]> {
  const { archives, faults } = await archivesOfRelease(api, release, request.platform);
  const outcomes = await inParallel(archives, maxAtOnce, async (archive) => {
    try {
      return await takeIn(archive, api, request);
    } catch (error) {
      // Reported with the other archives' problems.
      if (error instanceof Diagnostic || error instanceof DiagnosticList) return error;
      throw error;
    }
  });
  const isFault = (outcome: (typeof outcomes)[number]): outcome is Diagnostic | DiagnosticList =>
    outcome instanceof Diagnostic || outcome instanceof DiagnosticList;
  refuse([...faults, ...outcomes.filter(isFault).flatMap(listed)]);
  const installed = outcomes.flatMap((outcome) => (isFault(outcome) ? [] : [outcome]));
  await record(installed, request);
  return installed;
}

async function takeIn(archive: ReleaseArchive, api: GithubApi, request: InstallRequest): Promise<InstalledRef> {
  const { asset, platform } = archive;
  const signatures = async ({ sha256 }: LockedArtifact): Promise<readonly string[]> =>
    await api.signaturesOf(archive.signatures, sha256);
  const fetched = await api.fetchAsset(asset, platform);
  const download = { source: `${api.label}: ${asset.name}`, what: asset.name, signatures };
  return await takeInFetched(fetched, download, request);
}

/** Installs what one OCI reference names, for what its own manifest says it is. */
export async function installOci(
  reference: OciReference,
  access: OciAccess,
  request: InstallRequest,
): Promise<InstalledRef> {
  const name = spellOci(reference);
  const fetched = await fetchReference(reference, request.platform, access);
  const signatures = async ({ sha256 }: LockedArtifact): Promise<readonly string[]> =>
    await referenceSignatures(reference, sha256, access);
  const download = { source: name, what: name, signatures };
  const installed = await takeInFetched(fetched, download, request);
  await record([installed], request);
  return installed;
}

/** Installs what a component of another project is packed into (`PackedComponentSource`). Nobody has signed that. */
export async function installPacked(source: PackedComponentSource, request: InstallRequest): Promise<InstalledRef> {
  const { name, ref } = source;
  const signatures = (): Promise<readonly string[]> => Promise.resolve([]);
  const download = { source: name, what: spell(ref), expected: ref, signatures };
  const installed = await takeInFetched(await source.fetch(), download, request);
  await record([installed], request);
  return installed;
}

async function takeInFetched(
  fetched: FetchedArchive,
  download: Parameters<typeof receive>[1],
  request: InstallRequest,
): Promise<InstalledRef> {
  const { platform } = fetched;
  const receipt = receiptOf(request, targetRoot(request));
  const stored = await receive(fetched, download, receipt).finally(() => fetched.discard());
  const origin = request.fetching?.into ?? 'project';
  await prepareStored({ origin, root: receipt.root, stored }, request);
  const { name, version, sha256, admission } = stored;
  return { name, version, platform, sha256, origin, admission, from: fetched.from };
}
