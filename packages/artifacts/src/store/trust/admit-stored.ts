/** Checks an archive in a store of this machine against the trust policy, with the signatures that lie beside it. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { chunksOfFile } from '@svc/kit/files/regular-file.ts';
import type { StorePlaces } from '../store-places.ts';
import { type LockedArtifact, readLock } from '../lockfile.ts';
import type { StoredArchive } from '../store-layout.ts';
import { admit, type Admission, type Candidate, type TrustPlaces } from './admit.ts';
import { signaturesBeside } from './signature-bundle.ts';
import { addSignatures } from './stored-signatures.ts';

/** Where the policy and its surroundings are for what is looked for in these places. */
export function trustPlacesOf(places: StorePlaces, lock: TrustPlaces['lock']): TrustPlaces {
  const { userHome, packageRoot, fetching } = places;
  return { userHome, packageRoot, lock, acceptSigner: fetching?.acceptSigner === true };
}

/**
 * What the policy says to an archive of a store; throws what it refuses it with (`admit`). An install asks the sources for signatures that came after the
 * archive, and keeps those that suffice.
 */
export async function admitStored(stored: StoredArchive, places: StorePlaces): Promise<Admission> {
  const trust = trustPlacesOf(places, () => lockOf(places));
  const candidate = candidateOf(stored, () => signaturesBeside(stored.path));
  if (places.fetching?.renewsSignatures !== true) return await admit(candidate, trust);
  try {
    const admission = await admit(candidate, trust);
    if (admission.kind !== 'warned') return admission;
  } catch (error) {
    if (!(error instanceof Diagnostic && renewable.has(error.code))) throw error;
  }
  const found = await signaturesOfSources(stored, places);
  const admission = await admit(
    candidateOf(stored, () => [...found, ...signaturesBeside(stored.path)]),
    trust,
  );
  if (admission.kind === 'signed') await addSignatures(stored.path, found);
  return admission;
}

/** What lies where `source:` of an entry says. */
interface SourceArchive extends Omit<Candidate, 'signatures' | 'unsignedHint'> {
  /** The archive; null for a folder, which nobody signs: its program is run in place, with whatever lies beside it. */
  readonly path: string | null;
}

/** What the policy says to what a manifest takes from a path; throws what it refuses it with (`admit`). */
export async function admitSource({ path, ...archive }: SourceArchive, places: StorePlaces): Promise<Admission> {
  if (places.fetching?.inspectsOnly === true) return { kind: 'unchecked' };
  const signatures = (): readonly string[] => (path === null ? [] : signaturesBeside(path));
  const unsignedHint = path === null ? folderHint : archiveHint;
  return await admit(
    { ...archive, signatures, unsignedHint },
    trustPlacesOf(places, () => lockOf(places)),
  );
}

const ownWorkHint = 'if you work on it yourself, put a rule with mode: warn for its name before that one';
const folderHint = `the manifest takes it from a folder (source), which nobody can sign: ${ownWorkHint}; else name an archive that is signed, or none`;
const archiveHint = `the manifest takes it from an archive (source) without a signature beside it: svc sign signs it; ${ownWorkHint}`;

/** What a signature that came later may mend. */
const renewable: ReadonlySet<string> = new Set(['E-REG-009', 'E-REG-011', 'E-REG-012']);

function candidateOf(stored: StoredArchive, signatures: Candidate['signatures']): Candidate {
  return { ref: stored, sha256: stored.sha256, chunks: () => chunksOfFile(stored.path), signatures };
}

/** Returns null where the store of the user is meant, which no project has a part in. */
function lockOf({ manifestDir, fetching }: StorePlaces): readonly LockedArtifact[] | null {
  return fetching?.into === 'user' ? null : readLock(manifestDir);
}

/** All bundles that the sources have for an archive, asked by the document that it came by where `svc.lock` has that. */
export async function signaturesOfSources(stored: StoredArchive, places: StorePlaces): Promise<readonly string[]> {
  const locked = lockOf(places)?.find(({ sha256, name, version }) => {
    return sha256 === stored.sha256 && name === stored.name && version === stored.version;
  });
  const asked = locked?.from === undefined ? stored : { ...stored, from: locked.from };
  const found: string[] = [];
  for (const source of await places.sources()) found.push(...((await source.signatures?.(asked)) ?? []));
  return found;
}
