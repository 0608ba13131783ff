/** Reads what a person granted to a session while it ran. */

import { closeSync } from 'node:fs';

import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { asJsonObject, type JsonObject, parseJsonObject } from '@svc/protocol/json-object.ts';
import { openOwn } from '../journal/line-file.ts';
import { approvalFile } from './approval-log.ts';
import { thisUser } from './recorded-process.ts';

const largestApprovals = 64 * 1024 * 1024;

/** What was granted: a command with the place where it lies, a host with its scheme and its port, or writing in a folder. */
type GrantedThing =
  | { readonly command: string; readonly program: string }
  | { readonly host: string }
  | { readonly write: string };

export type LaterGrant = GrantedThing & {
  /** `session`: to all further commands. `once`: to one. */
  readonly option: 'once' | 'session';
  readonly by: string;
  /** Unix milliseconds. */
  readonly at: number;
};

/** In the order in which they were granted; empty without `approvals.jsonl`. `E-RUN-072` for a file that is not of this user. */
export function laterGrantsIn(directory: HeldDirectory): readonly LaterGrant[] {
  const fd = openOwn(directory, approvalFile, thisUser());
  if (fd === null) return [];
  try {
    return laterGrants(readFileUpTo(fd, largestApprovals)?.toString('utf8') ?? '');
  } finally {
    closeSync(fd);
  }
}

/** Skips a line that was cut off. */
export function laterGrants(text: string): readonly LaterGrant[] {
  const asked = new Map<unknown, GrantedThing>();
  return text.split('\n').flatMap((line) => {
    const { k, id, effect, decision, option, by, at } = parseJsonObject(line) ?? {};
    if (k === 'asked') {
      const thing = grantedThing(asJsonObject(effect) ?? {});
      if (thing !== null) asked.set(id, thing);
      return [];
    }
    const granted = k === 'settled' && decision === 'allow' ? asked.get(id) : undefined;
    const isKnown = (option === 'once' || option === 'session') && typeof by === 'string' && typeof at === 'number';
    return granted === undefined || !isKnown ? [] : [{ ...granted, option, by, at }];
  });
}

function grantedThing({ kind, command, program, host, write }: JsonObject): GrantedThing | null {
  if (kind !== 'grant') return null;
  if (typeof host === 'string') return { host };
  if (typeof write === 'string') return { write };
  return typeof command === 'string' && typeof program === 'string' ? { command, program } : null;
}
