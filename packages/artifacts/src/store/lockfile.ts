/** Reads and writes `svc.lock`, which records the hash of every artifact. */

import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isArtifactName, isExactVersion } from '../manifest/names.ts';
import { readSmallText, unreadableFile } from '@svc/kit/files/read-text.ts';
import { asJsonObject, parseJson } from '@svc/protocol/json-object.ts';
import { isText } from '@svc/kit/guards.ts';
import { type ArtifactRef, platformShape } from './artifact-ref.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { sha256Shape } from '@svc/kit/sha256.ts';

const lockVersion = 1;

/** One archive that a project is held to; `platform` is null for the generic file (docs/installing.md "What svc.lock does"). */
export interface LockedArtifact extends ArtifactRef {
  readonly platform: string | null;
  readonly sha256: string;
}

/** What `svc.lock` beside the manifest holds; null when there is none. `E-IO-001` when it cannot be read, `E-ART-007` when it cannot be understood. */
export function readLock(manifestDir: string): readonly LockedArtifact[] | null {
  const path = lockPath(manifestDir);
  const reading = readSmallText(path);
  if (reading.kind === 'absent') return null;
  if (reading.kind === 'unreadable') throw unreadableFile(path, reading);
  const artifacts = parseLock(path, reading.text);
  if (new Set(artifacts.map(lockKey)).size < artifacts.length) throw unreadable(path, 'it lists an artifact twice');
  return artifacts;
}

function parseLock(path: string, text: string): readonly LockedArtifact[] {
  const value = parseJson(text);
  if (value === undefined) throw unreadable(path, 'it is not JSON');
  const { lock_version: version, artifacts, ...others } = asJsonObject(value) ?? {};
  if (version !== undefined && version !== lockVersion) {
    throw unreadable(path, `lock_version is not ${lockVersion}, the one that this svc knows`);
  }
  if (version === undefined || !Array.isArray(artifacts) || Object.keys(others).length > 0) {
    throw unreadable(path, 'it must hold lock_version and artifacts, and nothing else');
  }
  return (artifacts as unknown[]).map((artifact, index) => {
    const locked = lockedArtifact(artifact);
    if (locked === null)
      throw unreadable(path, `artifacts[${index}] must hold name, version, sha256 and maybe platform`);
    return locked;
  });
}

function lockedArtifact(value: unknown): LockedArtifact | null {
  const { name, version, sha256, platform, ...others } = asJsonObject(value) ?? {};
  if (!isArtifactName(name) || !isExactVersion(version) || Object.keys(others).length > 0) return null;
  if (!isText(sha256) || !sha256Shape.test(sha256)) return null;
  if (platform === undefined) return { name, version, platform: null, sha256 };
  return isText(platform) && platformShape.test(platform) ? { name, version, platform, sha256 } : null;
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
  await withGuard(lockPath(manifestDir), async () => {
    const before = readLock(manifestDir) ?? [];
    const kept = before.filter((old) => !artifacts.some((artifact) => replaces(artifact, old)));
    const text = encodeLock([...kept, ...artifacts]);
    if (before.length > 0 && text === encodeLock(before)) return;
    await replaceFile(lockPath(manifestDir), [Buffer.from(text)]);
  });
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
    .map(({ name, version, platform, sha256 }) => ({
      name,
      version,
      ...(platform === null ? {} : { platform }),
      sha256,
    }))
    .map((artifact) => ({ key: `${artifact.name} ${artifact.version} ${artifact.platform ?? ''}`, artifact }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ artifact }) => artifact);
  return `${JSON.stringify({ lock_version: lockVersion, artifacts: lines }, null, 2)}\n`;
}

function unreadable(path: string, reason: string): Diagnostic {
  return new Diagnostic('E-ART-007', `cannot understand ${path}: ${reason}`, {
    hint: 'restore the file, or remove it and run svc install to write it again',
  });
}

/** Where the lock of a project lies. */
export function lockPath(manifestDir: string): string {
  return join(manifestDir, 'svc.lock');
}
