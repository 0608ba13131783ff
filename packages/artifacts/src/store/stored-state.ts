import { type BigIntStats, statSync } from 'node:fs';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { variantPaths } from './store-layout.ts';

/** What the files of an artifact are at one moment, told without reading them. */
export interface StoredState {
  /** Equal for two moments only when nothing was written, replaced, added or removed between them, but see `changedAtMs`. */
  readonly identity: string;
  /** When the youngest of them changed, Unix milliseconds; file systems keep it coarsely, so a later change can bear the same time. */
  readonly changedAtMs: number;
}

/** The files by which `findStored` finds an artifact, whether they are there or not. */
export function filesOf(root: string, ref: ArtifactRef, platform: string): readonly string[] {
  return [variantPaths(root, ref, platform), variantPaths(root, ref, null)].flatMap(({ archive, hash }) => [
    archive,
    hash,
  ]);
}

/** The state of the files now. `E-IO-001` when one cannot be looked at or is no regular file. */
export function stateOf(files: readonly string[]): StoredState {
  let identity = '';
  let changedAtMs = 0;
  for (const file of files) {
    const stat = lookAt(file);
    if (stat === undefined) {
      identity += '-|';
      continue;
    }
    if (!stat.isFile()) throw new Diagnostic('E-IO-001', `cannot read ${file}: it is not a regular file`);
    identity += `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}|`;
    changedAtMs = Math.max(changedAtMs, Number(stat.ctimeMs));
  }
  return { identity, changedAtMs };
}

function lookAt(file: string): BigIntStats | undefined {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    // From Node 24 on, this is told as absent too.
    if (isErrno(error, 'ENOTDIR')) return undefined;
    throw ioFault(error, `cannot read ${file}`);
  }
}
