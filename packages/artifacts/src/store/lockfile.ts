/** Reads and writes `svc.lock`, which records the hash of every artifact. */

import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { readTextBeneathIfThere } from '@svc/kit/files/read-beneath.ts';
import { isText } from '@svc/kit/guards.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { sha256Shape } from '@svc/kit/sha256.ts';
import { asJsonObject, parseJson } from '@svc/protocol/json-object.ts';
import { isArtifactName, isExactVersion } from '../manifest/names.ts';
import { parsePinnedFolder } from '../manifest/artifact-place.ts';
import { parsePinnedPlace } from '../manifest/oci-reference.ts';
import { type ArtifactRef, platformShape } from './artifact-ref.ts';
import { decodeSigner, encodeSigner, type Signer } from './trust/signer.ts';

/** Beside the manifest. */
const lockFile = 'svc.lock';

/** The lowest that can hold what is known is written, so that an older svc reads it: signers and places need 2, what skills ask for needs 3. */
const newestVersion = 3;

/** What the folder of a skill asked for when it was accepted (docs/skills.md "When a skill asks for more"). */
export interface LockedSkill {
  /** The words of `allowed-tools`; null without any. */
  readonly allowed: readonly string[] | null;
  /** The name of the program that runs a file, for those that are scripts. */
  readonly scripts: Readonly<Record<string, string>>;
  readonly compatibility: string | null;
}

/** One archive that a project is held to; `platform` is null for the generic file (docs/installing.md "What svc.lock does"). */
export interface LockedArtifact extends ArtifactRef {
  readonly platform: string | null;
  readonly sha256: string;
  /**
   * The document of an OCI registry that it was fetched by, `oci://<host>/<repository>@sha256:…`, or the folder of a commit, `github:<owner>/<repo>@<40 hex
   * digits>#<folder>`; absent where it came in another way.
   */
  readonly from?: string;
  /** The signer; absent where nobody has looked. */
  readonly signedBy?: Signer;
  /** Absent of what is no folder with `SKILL.md`, and where a lock of an earlier version has it. */
  readonly skill?: LockedSkill;
}

/** Where an archive was fetched from, as `LockedArtifact` has it. */
export function fetchedFrom(from: string | undefined): Pick<LockedArtifact, 'from'> {
  return from === undefined ? {} : { from };
}

/** What `svc.lock` beside the manifest holds; null without one. `E-IO-001` when it cannot be read, `E-ART-007` when it cannot be understood. */
export function readLock(manifestDir: string): readonly LockedArtifact[] | null {
  const path = lockPath(manifestDir);
  const text = readTextBeneathIfThere(manifestDir, lockFile);
  if (text === null) return null;
  const artifacts = parseLock(path, text);
  if (new Set(artifacts.map(lockKey)).size < artifacts.length) throw unreadable(path, 'it lists an artifact twice');
  return artifacts;
}

function parseLock(path: string, text: string): readonly LockedArtifact[] {
  const value = parseJson(text);
  if (value === undefined) throw unreadable(path, 'it is not JSON');
  const { lock_version: version, artifacts, ...others } = asJsonObject(value) ?? {};
  if (version !== undefined && ![1, 2, newestVersion].includes(version as number)) {
    throw unreadable(path, 'lock_version is neither 1 nor 2 nor 3, those that this svc knows');
  }
  if (version === undefined || !Array.isArray(artifacts) || Object.keys(others).length > 0) {
    throw unreadable(path, 'it must hold lock_version and artifacts, and nothing else');
  }
  return (artifacts as unknown[]).map((artifact, index) => {
    const locked = lockedArtifact(artifact, version as number);
    if (locked !== null) return locked;
    throw unreadable(
      path,
      `artifacts[${index}] must hold name, version, sha256 and maybe platform, from, signed_by and skill`,
    );
  });
}

function lockedArtifact(value: unknown, lockVersion: number): LockedArtifact | null {
  const { name, version, sha256, platform, from, signed_by: by, skill, ...others } = asJsonObject(value) ?? {};
  if (!isArtifactName(name) || !isExactVersion(version) || Object.keys(others).length > 0) return null;
  if (!isText(sha256) || !sha256Shape.test(sha256)) return null;
  if (platform !== undefined && !(isText(platform) && platformShape.test(platform))) return null;
  if (versionFor({ from, signedBy: by, skill }) > lockVersion) return null;
  const isPlace = isText(from) && (parsePinnedPlace(from) ?? parsePinnedFolder(from)) !== null;
  if (from !== undefined && !isPlace) return null;
  const asked = skill === undefined ? undefined : lockedSkill(skill);
  if (asked === null) return null;
  const known = { ...fetchedFrom(from), ...(asked === undefined ? {} : { skill: asked }) };
  const locked: LockedArtifact = { name, version, platform: platform ?? null, sha256, ...known };
  if (by === undefined) return locked;
  const signedBy = decodeSigner(by);
  return signedBy === null ? null : { ...locked, signedBy };
}

function lockedSkill(value: unknown): LockedSkill | null {
  const object = asJsonObject(value);
  if (object === null) return null;
  const { allowed_tools: allowed = null, scripts = {}, compatibility = null, ...others } = object;
  const programs = asJsonObject(scripts);
  if (programs === null || !Object.values(programs).every(isText) || Object.keys(others).length > 0) return null;
  if (allowed !== null && !(Array.isArray(allowed) && allowed.length > 0 && allowed.every(isText))) return null;
  if (compatibility !== null && !isText(compatibility)) return null;
  return { allowed, scripts: programs as Record<string, string>, compatibility };
}

function encodeSkill({ allowed, scripts, compatibility }: LockedSkill): object {
  return {
    ...(allowed === null ? {} : { allowed_tools: allowed }),
    ...(Object.keys(scripts).length === 0 ? {} : { scripts }),
    ...(compatibility === null ? {} : { compatibility }),
  };
}

/** The lowest version of the format that can hold it. */
function versionFor(known: { readonly [key in 'from' | 'signedBy' | 'skill']?: unknown }): number {
  if (known.skill !== undefined) return newestVersion;
  return known.from === undefined && known.signedBy === undefined ? 1 : 2;
}

/** Writes `svc.lock` unless there is one; returns the one that is then there. `E-IO-001` when it cannot be written. */
export async function createLock(
  manifestDir: string,
  artifacts: readonly LockedArtifact[],
): Promise<readonly LockedArtifact[]> {
  return await withGuard(lockPath(manifestDir), async () => {
    const existing = readLock(manifestDir);
    if (existing !== null) return existing;
    await replaceFile(lockPath(manifestDir), [Buffer.from(encodeLock(artifacts))]);
    return artifacts;
  });
}

/** Records these artifacts in place of what the lock said of them before; the others stay (docs/installing.md "What svc.lock does"). */
export async function upsertLock(manifestDir: string, artifacts: readonly LockedArtifact[]): Promise<void> {
  await rewriteLock(manifestDir, (before) => [
    ...before.filter((old) => !artifacts.some((artifact) => replaces(artifact, old))),
    ...artifacts.map((artifact) => withKnown(artifact, before)),
  ]);
}

/** Records these beside what the lock says of other versions of them: a manifest that still names the old ones agrees with it, too. */
export async function addToLock(manifestDir: string, artifacts: readonly LockedArtifact[]): Promise<void> {
  const added = new Set(artifacts.map(lockKey));
  await rewriteLock(manifestDir, (before) => [
    ...before.filter((old) => !added.has(lockKey(old))),
    ...artifacts.map((artifact) => withKnown(artifact, before)),
  ]);
}

/** The artifacts of which the lock names no version. */
export function notNamed(
  lock: readonly LockedArtifact[],
  artifacts: readonly LockedArtifact[],
): readonly LockedArtifact[] {
  return artifacts.filter(({ name }) => !lock.some((locked) => locked.name === name));
}

/** Records those of which the lock names no version, with the lock as it is then. `E-IO-001` when it cannot be written. */
export async function takeIntoLock(
  manifestDir: string,
  artifacts: readonly LockedArtifact[],
): Promise<{ readonly added: readonly LockedArtifact[]; readonly after: readonly LockedArtifact[] }> {
  let added: readonly LockedArtifact[] = [];
  let after: readonly LockedArtifact[] = [];
  await rewriteLock(manifestDir, (before) => {
    added = notNamed(before, artifacts);
    after = [...before, ...added];
    return after;
  });
  return { added, after };
}

/** Takes out of the lock what no manifest needs any more; a lock that does not exist stays so. */
export async function dropFromLock(manifestDir: string, isStale: (old: LockedArtifact) => boolean): Promise<void> {
  if (readLock(manifestDir) === null) return;
  await rewriteLock(manifestDir, (before) => before.filter((old) => !isStale(old)));
}

async function rewriteLock(
  manifestDir: string,
  change: (before: readonly LockedArtifact[]) => readonly LockedArtifact[],
): Promise<void> {
  await withGuard(lockPath(manifestDir), async () => {
    const before = readLock(manifestDir);
    const text = encodeLock(change(before ?? []));
    if (before !== null && text === encodeLock(before)) return;
    await replaceFile(lockPath(manifestDir), [Buffer.from(text)]);
  });
}

/**
 * What was recorded of who signed these bytes, and of where they came from, stays where nobody has looked this time: not everybody who works on a
 * project has a policy, and what a store has is not fetched again.
 */
function withKnown(artifact: LockedArtifact, before: readonly LockedArtifact[]): LockedArtifact {
  const known = before.find((old) => lockKey(old) === lockKey(artifact) && old.sha256 === artifact.sha256);
  return known === undefined ? artifact : { ...known, ...artifact };
}

/** Whether the lock records every one of these, with these very bytes. */
export function recordsAll(lock: readonly LockedArtifact[], found: readonly LockedArtifact[]): boolean {
  const recorded = new Map(lock.map((locked) => [lockKey(locked), locked.sha256]));
  return found.every((artifact) => recorded.get(lockKey(artifact)) === artifact.sha256);
}

function replaces(artifact: LockedArtifact, old: LockedArtifact): boolean {
  return old.name === artifact.name && (old.version !== artifact.version || old.platform === artifact.platform);
}

function lockKey(artifact: LockedArtifact): string {
  return `${artifact.name} ${artifact.version} ${artifact.platform ?? ''}`;
}

function encodeLock(artifacts: readonly LockedArtifact[]): string {
  const lines = artifacts
    .map(({ name, version, platform, sha256, from, signedBy, skill }) => ({
      name,
      version,
      ...(platform === null ? {} : { platform }),
      sha256,
      ...fetchedFrom(from),
      ...(signedBy === undefined ? {} : { signed_by: encodeSigner(signedBy) }),
      ...(skill === undefined ? {} : { skill: encodeSkill(skill) }),
    }))
    .map((artifact) => ({ key: `${artifact.name} ${artifact.version} ${artifact.platform ?? ''}`, artifact }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ artifact }) => artifact);
  const version = Math.max(1, ...artifacts.map(versionFor));
  return `${JSON.stringify({ lock_version: version, artifacts: lines }, null, 2)}\n`;
}

function unreadable(path: string, reason: string): Diagnostic {
  return new Diagnostic('E-ART-007', `cannot understand ${path}: ${reason}`, {
    hint: 'restore the file, or remove it and run svc install to write it again',
  });
}

/** Where the lock of a project lies. */
export function lockPath(manifestDir: string): string {
  return join(manifestDir, lockFile);
}
