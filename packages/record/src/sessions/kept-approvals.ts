/** Keeps the calls that a person has allowed in every session of a manifest. They lie in the home of that person, so no repository brings its own. */

import { lstatSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { readOwnFile } from '@svc/kit/files/own-file.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { namesIfThere } from '@svc/kit/files/unless-refused.ts';
import { type Guarded, isListOf, isObjectOf, isText, isWhole } from '@svc/kit/guards.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { parseJsonObject } from '@svc/protocol/json-object.ts';
import { thisUser } from './recorded-process.ts';

/** The most calls of one manifest. */
export const maxKept = 1000;
const maxBytes = 1024 * 1024;

const isKeptCall = isObjectOf({
  /** A hash of the call and of where its programs lie. */
  key: isText,
  /** The approval that allowed it. */
  id: isText,
  /** Unix milliseconds. */
  at: isWhole,
  by: isText,
  /** The beginning of the call, for a person. */
  call: isText,
});
const isKept = isObjectOf({
  /** Its real path. */
  manifest: isText,
  /** A hash of what the calls are bound to; with another one none of them counts. */
  bound: isText,
  calls: isListOf(isKeptCall),
});

export type KeptCall = Guarded<typeof isKeptCall>;

/** The file of one manifest. */
export type KeptApprovals = Guarded<typeof isKept>;

function folderOf(home: string): string {
  return join(home, '.svc', 'approvals');
}

/** `manifest` is the real path of the file. */
export function keptPath(home: string, manifest: string): string {
  return join(folderOf(home), `${sha256Hex(manifest)}.json`);
}

/** The files of all manifests. `E-IO-001` for a folder that cannot be listed. */
export function keptPaths(home: string): readonly string[] {
  const folder = folderOf(home);
  const names = namesIfThere(folder, `cannot read ${folder}`);
  return names.filter((name) => /^[0-9a-f]{64}\.json$/.test(name)).map((name) => join(folder, name));
}

/** Returns null without a file. Throws `W-APR-007` if others can have written or read it, or if it is not what `svc` wrote: callers warn, and go on without it. */
export function readKept(path: string): KeptApprovals | null {
  const file = readOwnFile(path, { uid: thisUser() ?? undefined, maxBytes });
  if (file.kind === 'absent') return null;
  if (file.kind === 'refused') throw notUsable(path, file.what, file.cause);
  const folder = lstatSync(dirname(path));
  if (!folder.isDirectory()) throw notUsable(path, 'is in a folder that is a link');
  if ((folder.mode & 0o022) !== 0) throw notUsable(path, 'is in a folder that other users can write to');
  const kept = parseJsonObject(file.bytes.toString());
  if (!isKept(kept) || kept.calls.length > maxKept || basename(path) !== `${sha256Hex(kept.manifest)}.json`)
    throw notUsable(path, 'holds no approvals of its manifest');
  return kept;
}

/** One program at a time; null removes the file. The change is on the disk once this resolves. `W-APR-007` as above, `E-IO-001` for what cannot be written. */
export async function changeKept(
  path: string,
  change: (kept: KeptApprovals | null) => KeptApprovals | null,
): Promise<void> {
  await makeDirectory(dirname(path), 0o700);
  await withGuard(path, async () => {
    const kept = change(readKept(path));
    if (kept === null) await remove(path);
    else await replaceFile(path, [Buffer.from(`${JSON.stringify(kept)}\n`)], { mode: 0o600 });
  });
}

/** Also one that cannot be read. Waits for a program that changes it now, and would write it again. */
export async function removeKept(path: string): Promise<void> {
  await withGuard(path, async () => await remove(path));
}

async function remove(path: string): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (error) {
    throw ioFault(error, `cannot remove ${path}`);
  }
}

function notUsable(path: string, fault: string, cause?: unknown): Diagnostic {
  const message = `calls that were approved for every session do not count: ${path} ${fault}`;
  return new Diagnostic('W-APR-007', message, {
    cause,
    hint: 'see who made it so; svc approve --forget all removes what was approved so far',
  });
}
