/** Reads and writes `svc.lock`, which records the hash of every artifact. */

import { join } from 'node:path';

import * as z from 'zod/mini';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { artifactName, exactVersion } from '../manifest/names.ts';
import { readSmallText, unreadableFile } from '@svc/kit/files/read-text.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import { type ArtifactRef, platformShape } from './artifact-ref.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { sha256Shape } from '@svc/kit/sha256.ts';

const lockVersion = 1;

const lockedArtifact = z.strictObject({
  name: artifactName,
  version: exactVersion,
  platform: z.optional(z.string().check(z.regex(platformShape))),
  sha256: z.string().check(z.regex(sha256Shape)),
});

const lockFile = z.strictObject({
  lock_version: z.literal(lockVersion, `lock_version is not ${lockVersion}, the one that this svc knows`),
  artifacts: z.array(lockedArtifact),
});

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
  const value = parseJson(reading.text);
  if (value === undefined) throw unreadable(path, 'it is not JSON');
  // One parse a start: generated code would cost more than it saves.
  const parsed = lockFile.safeParse(value, { jitless: true });
  if (!parsed.success) throw unreadable(path, parsed.error.issues[0]?.message ?? 'it has another shape');
  const artifacts = parsed.data.artifacts.map(({ name, version, platform, sha256 }) => {
    return { name, version, platform: platform ?? null, sha256 };
  });
  if (new Set(artifacts.map(lockKey)).size < artifacts.length) throw unreadable(path, 'it lists an artifact twice');
  return artifacts;
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
