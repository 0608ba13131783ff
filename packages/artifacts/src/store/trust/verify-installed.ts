/** Looks again at what is installed: its bytes, what `svc.lock` records, and its signatures. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ArtifactEntry } from '../../manifest/schema.ts';
import { type ArtifactRef, spell } from '../artifact-ref.ts';
import type { ArtifactOrigin } from '../installed-artifact.ts';
import { listStored } from '../list-stored.ts';
import { localPlaces } from '../store-places.ts';
import type { LocalPlace, StorePlaces } from '../store-places.ts';
import { lockFaults } from '../lock-faults.ts';
import type { LockedArtifact } from '../lockfile.ts';
import { openStored } from '../open-stored.ts';
import { readVariant, type StoredArchive } from '../store-layout.ts';
import { type SourceEntry, openSource } from '../open-source.ts';
import { loadTrustPolicy, ruleFor } from '../../manifest/trust-policy.ts';
import type { Admission } from './admit.ts';
import { admitStored } from './admit-stored.ts';
import { dropPass } from './passes.ts';
import type { Signer } from './signer.ts';

/** What is found of one archive. */
export interface VerifiedArchive {
  readonly ref: ArtifactRef;
  readonly platform: string | null;
  /** Is null if no place has it. */
  readonly origin: ArtifactOrigin | null;
  readonly sha256: string | null;
  /**
   * `signed`: as a rule of the policy wants it. `unchecked`: no rule is for it, so that only its hash was looked at. `bundled` comes with `svc`, and only its
   * hash was looked at. `source` lies where the manifest says, and no rule is for it. `refused` and `warned` are what the policy says, `damaged`,
   * `changed` and `missing` what the bytes do. `absent` is not here either, and the capsule does not need it here: it is for another platform, or no longer
   * in the manifest.
   */
  readonly state:
    | 'signed'
    | 'unchecked'
    | 'bundled'
    | 'source'
    | 'refused'
    | 'warned'
    | 'damaged'
    | 'changed'
    | 'missing'
    | 'absent';
  readonly signer: Signer | null;
  /** What is wrong: an error, or the warning of a rule that only warns. */
  readonly problem: Diagnostic | null;
}

/** A project: what its manifest lists, and where that is looked for. */
type ProjectPlaces = StorePlaces & { readonly entries: readonly ArtifactEntry[] };

/** Everything that `svc.lock` records, where the capsule would find it. What other machines need, or a manifest of before, need not be there. */
export async function verifyLocked(
  lock: readonly LockedArtifact[],
  places: ProjectPlaces,
): Promise<readonly VerifiedArchive[]> {
  const verified: VerifiedArchive[] = [];
  for (const locked of lock) {
    const found = await verifyOne(locked, places);
    const isAbsent = found.state === 'missing' && !isNeededHere(locked, lock, places);
    verified.push(isAbsent ? { ...found, state: 'absent', problem: null } : found);
  }
  return verified;
}

/** Whether a run of the project on this machine would look for it. */
function isNeededHere(
  { name, version, platform }: LockedArtifact,
  lock: readonly LockedArtifact[],
  { entries, platform: own }: ProjectPlaces,
): boolean {
  const isSame = (other: ArtifactRef): boolean => other.name === name && other.version === version;
  if (!entries.some(isSame)) return false;
  if (platform !== null) return platform === own;
  // The generic file is for machines that have no archive of their own.
  return !lock.some((other) => isSame(other) && other.platform === own);
}

/** Everything in the stores of project and user, and what is bundled. */
export async function verifyStores(places: StorePlaces): Promise<readonly VerifiedArchive[]> {
  const verified: VerifiedArchive[] = [];
  for (const place of localPlaces(places)) {
    for (const stored of listStored(place.root)) verified.push(await verifyStored(stored, place, places));
  }
  return verified;
}

async function verifyOne(locked: LockedArtifact, places: ProjectPlaces): Promise<VerifiedArchive> {
  const entry = places.entries.find(({ name, version }) => name === locked.name && version === locked.version);
  if (entry?.source !== undefined) return await verifySource(locked, { ...locked, source: entry.source }, places);
  for (const place of localPlaces(places)) {
    const stored = readVariant(place.root, locked, locked.platform);
    if (stored === null) continue;
    const [fault] = lockFaults([locked], [{ ...stored, location: stored.path }]);
    if (fault === undefined) return await verifyStored(stored, place, places);
    return { ...blank(locked), origin: place.origin, sha256: stored.sha256, state: 'changed', problem: fault };
  }
  const problem = new Diagnostic('E-REG-001', `${spell(locked)} is in svc.lock and on no place of this machine`, {
    hint: 'svc install brings it',
  });
  return { ...blank(locked), state: 'missing', problem };
}

/** Without a rule for it, it is not looked at: its author changes it all the time. */
async function verifySource(locked: LockedArtifact, entry: SourceEntry, places: StorePlaces): Promise<VerifiedArchive> {
  const found = { ...blank(locked), origin: 'source', state: 'source' } as const;
  const policy = loadTrustPolicy(places.userHome);
  if (policy === null || ruleFor(policy, locked.name) === null) return found;
  const said = await saidBy(async () => (await openSource(entry, places)).admission);
  return { ...found, ...said };
}

async function verifyStored(stored: StoredArchive, place: LocalPlace, places: StorePlaces): Promise<VerifiedArchive> {
  const found = { ...blank(stored), origin: place.origin, sha256: stored.sha256 };
  try {
    const { archive } = await openStored(place.root, stored, stored.platform ?? '');
    try {
      await archive.verify();
    } finally {
      await archive.file.close();
    }
  } catch (error) {
    if (error instanceof Diagnostic) return { ...found, state: 'damaged', problem: error };
    throw error;
  }
  if (place.origin === 'bundled') return { ...found, state: 'bundled' };
  dropPass({ userHome: places.userHome, sha256: stored.sha256 });
  return { ...found, ...(await saidBy(async () => await admitStored(stored, places))) };
}

async function saidBy(
  ask: () => Promise<Admission | undefined>,
): Promise<Pick<VerifiedArchive, 'state' | 'signer' | 'problem'>> {
  try {
    const said = (await ask()) ?? { kind: 'unchecked' };
    if (said.kind === 'signed') return { state: 'signed', signer: said.signer, problem: null };
    return { state: said.kind, signer: null, problem: said.kind === 'warned' ? said.warning : null };
  } catch (error) {
    // A policy that cannot be read is no answer about one archive: it fails the command.
    if (error instanceof Diagnostic && error.code !== 'E-REG-013')
      return { state: 'refused', signer: null, problem: error };
    throw error;
  }
}

function blank({ name, version, platform }: ArtifactRef & { readonly platform: string | null }): VerifiedArchive {
  return {
    ref: { name, version },
    platform,
    origin: null,
    sha256: null,
    state: 'missing',
    signer: null,
    problem: null,
  };
}
