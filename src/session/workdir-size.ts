import { closeSync } from 'node:fs';
import { opendir, lstat } from 'node:fs/promises';
import { join } from 'node:path';

import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { isSystemError } from '../diagnostics/system-reason.ts';
import { openWithoutLinks, type OpenPath } from '../store/open-without-links.ts';
import type { SessionClock } from './clock.ts';

/** A walk never takes more than this share of the time between two walks. */
const restPerWalk = 20;

export interface WorkdirLimit {
  /** Canonical. */
  readonly workdir: string;
  readonly maxBytes: number;
  readonly clock: Pick<SessionClock, 'monotonicMs'>;
}

/**
 * Watches the whole workdir against `capabilities.resources.workdir_max_bytes`. The returned check throws the Diagnostic
 * `E-RUN-028` on a breach (D1 "Task states" 2). A large tree is walked the less often the longer a walk takes.
 */
export function workdirSizeCheck({ workdir, maxBytes, clock }: WorkdirLimit): () => Promise<void> {
  let notBeforeMs = 0;
  return async () => {
    const startedMs = clock.monotonicMs();
    if (startedMs < notBeforeMs) return;
    const bytes = await bytesOf(workdir);
    const tookMs = clock.monotonicMs() - startedMs;
    notBeforeMs = clock.monotonicMs() + tookMs * restPerWalk;
    if (bytes <= maxBytes) return;
    throw new Diagnostic('E-RUN-028', `the workdir holds ${bytes} bytes, more than the ${maxBytes} it may hold`, {
      hint: `raise capabilities.resources.workdir_max_bytes, or clean ${workdir}`,
    });
  };
}

/** A link that has come to be on the way leads to what is not the workdir, and does not count. */
async function bytesOf(workdir: string): Promise<number> {
  const base = openOrNull(workdir);
  if (base === null) return 0;
  try {
    return await bytesBelow(base.path);
  } finally {
    closeSync(base.fd);
  }
}

function openOrNull(workdir: string): OpenPath | null {
  try {
    return openWithoutLinks(workdir);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return null;
  }
}

/** Bytes of the files below a directory. Links are not followed; what the system does not let be looked at does not count. */
async function bytesBelow(root: string): Promise<number> {
  let total = 0;
  const directories = [root];
  for (let directory = directories.pop(); directory !== undefined; directory = directories.pop()) {
    for (const path of await entriesOf(directory, directories)) total += await sizeOf(path);
  }
  return total;
}

async function entriesOf(directory: string, directories: string[]): Promise<string[]> {
  const files: string[] = [];
  try {
    for await (const entry of await opendir(directory)) {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) directories.push(path);
      else if (entry.isFile()) files.push(path);
    }
  } catch (error) {
    if (!isSystemError(error)) throw error;
  }
  return files;
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await lstat(path)).size;
  } catch (error) {
    if (isSystemError(error)) return 0;
    throw error;
  }
}
