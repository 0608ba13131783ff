/** The command `svc-registry key new`: makes a key, and its entry for the file of the keys. */

import { statSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { readTextIfThere } from '@svc/kit/files/read-text.ts';
import { replaceFileSync } from '@svc/kit/files/replace-file.ts';
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
  /** Whole lines for whoever made it. */
  readonly said: string;
}

/**
 * Makes a new key, which nothing keeps but by its hash. Its entry goes into the file of `REGISTRY_KEYS`, or into what is said where there is none.
 * `E-REG-021` for options or a file that cannot be used; nothing is made then.
 */
export function keyCommand(args: readonly string[], keysFile: string | null): NewKey {
  const [verb, ...rest] = args;
  if (verb !== 'new') throw misused('the one command for keys is svc-registry key new');
  const key = `svcr_${Buffer.from(systemClock.randomBytes(32)).toString('base64url')}`;
  const entry = entryOf(rest, sha256Hex(key));
  if (keysFile === null) {
    parseKeys('this entry', encoded([entry]));
    return { key, said: `add this to "keys" of the file that REGISTRY_KEYS names:\n${JSON.stringify(entry)}\n` };
  }
  addTo(keysFile, entry);
  return { key, said: `added ${entry.id} to ${keysFile}\n` };
}

/** Whoever may publish or change states has to see what there is, too. */
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

/** The file is replaced as a whole, so that a server that reads it meanwhile has the old one or the new one. */
function addTo(path: string, entry: Entry): void {
  const present = readTextIfThere(path);
  const before = present === null ? [] : keysIn(path, present);
  const text = encoded([...before, entry]);
  parseKeys(path, text);
  const mode = unlessRefused(() => statSync(path).mode & 0o777, 0o644);
  try {
    replaceFileSync(path, Buffer.from(text), { mode });
  } catch (error) {
    throw ioFault(error, `cannot write ${path}`);
  }
}

/** Its entries as they stand there, checked. */
function keysIn(path: string, text: string): readonly unknown[] {
  parseKeys(path, text);
  return (parseJson(text) as { readonly keys: readonly unknown[] }).keys;
}
