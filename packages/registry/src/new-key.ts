/** The command `svc-registry key new`: makes a key, and its entry for the file of the keys. */

import { fchmodSync, fchownSync, fstatSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { readTextIfThere } from '@svc/kit/files/read-text.ts';
import { syncDirectory, writeTemporary } from '@svc/kit/files/replace-file.ts';
import { realPath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import { parseKeys } from './keys-file.ts';

const options = {
  id: { type: 'string' },
  read: { type: 'string', multiple: true },
  publish: { type: 'string', multiple: true },
  state: { type: 'string', multiple: true },
  expires: { type: 'string' },
} as const;

interface Entry {
  readonly id: string;
  readonly sha256: string;
  readonly read: readonly string[];
  readonly publish: readonly string[];
  readonly state: readonly string[];
  readonly expires?: string;
}

/** What is printed of a new key. */
export interface NewKey {
  readonly key: string;
  /** Whole lines for its maker. */
  readonly said: string;
}

/**
 * Makes a new key, which nothing keeps but by its hash. Its entry goes into the file of `REGISTRY_KEYS`, or is printed without one.
 * `E-REG-021` for options or a file that cannot be used, `E-IO-001` for one that cannot be written; nothing is made then.
 */
export async function keyCommand(args: readonly string[], keysFile: string | null): Promise<NewKey> {
  const [verb, ...rest] = args;
  if (verb !== 'new') throw misused('the one command for keys is svc-registry key new');
  const key = `svcr_${Buffer.from(systemClock.randomBytes(32)).toString('base64url')}`;
  const entry = entryOf(rest, sha256Hex(key));
  if (keysFile === null) {
    parseKeys('this entry', encoded([entry]));
    return { key, said: `add this to "keys" of the file that REGISTRY_KEYS names:\n${JSON.stringify(entry)}\n` };
  }
  await addTo(keysFile, entry);
  return { key, said: `added ${entry.id} to ${keysFile}\n` };
}

/** A key that may publish or change states has to see what there is, too. */
function entryOf(args: readonly string[], sha256: string): Entry {
  const { id, read = ['*'], publish = [], state = [], expires } = parsed(args);
  if (id === undefined) throw misused('svc-registry key new needs --id');
  return { id, sha256, read, publish, state, ...(expires === undefined ? {} : { expires }) };
}

function parsed(args: readonly string[]): ReturnType<typeof parseArgs<{ options: typeof options }>>['values'] {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    if (error instanceof TypeError) throw misused(error.message);
    throw error;
  }
}

function misused(message: string): Diagnostic {
  return new Diagnostic('E-REG-021', message, {
    hint: "svc-registry key new --id ci-acme --publish 'acme-*' --state 'acme-*' --expires 2027-06-01",
  });
}

function encoded(keys: readonly unknown[]): string {
  return `${JSON.stringify({ keys }, null, 2)}\n`;
}

/** One process at a time adds to the file, so that no entry gets lost. A link to it stays a link. */
async function addTo(named: string, entry: Entry): Promise<void> {
  const path = realPath(named);
  await withGuard(path, async () => {
    const present = readTextIfThere(path);
    const before = present === null ? [] : keysIn(named, present);
    const text = encoded([...before, entry]);
    parseKeys(named, text);
    await writeWhole(path, text);
  });
}

/** The file is replaced as a whole: a server that reads it meanwhile has the old one or the new one, and may read the new one if it may the old one. */
async function writeWhole(path: string, text: string): Promise<void> {
  const there = unlessRefused(() => statSync(path), null);
  const mode = there === null ? 0o644 : there.mode & 0o777;
  const file = await writeTemporary(dirname(path), [Buffer.from(text)], { mode });
  try {
    if (there !== null) makeLike(there, file.fd, path);
    // What has the name and is not there is a link to nothing.
    if (there === null) file.keepAsNew(path);
    else file.keepAs(path);
    await syncDirectory(dirname(path));
  } catch (error) {
    throw ioFault(error, `cannot write ${path}`);
  } finally {
    file.close();
  }
}

/** Gives an open file the owner, the group and the mode that the one at `path` has. `E-IO-001` where the system refuses: only root gives files away. */
function makeLike({ uid, gid, mode }: Stats, fd: number, path: string): void {
  try {
    const own = fstatSync(fd);
    if (own.uid !== uid || own.gid !== gid) fchownSync(fd, uid, gid);
    fchmodSync(fd, mode & 0o777);
  } catch (error) {
    throw ioFault(error, `cannot write ${path} and keep its owner and group`);
  }
}

/** Its entries as they stand there, checked. */
function keysIn(path: string, text: string): readonly unknown[] {
  parseKeys(path, text);
  return (parseJson(text) as { readonly keys: readonly unknown[] }).keys;
}
