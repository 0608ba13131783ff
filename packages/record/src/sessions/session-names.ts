/** How people name sessions, and what they are sessions of. */

import { basename } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';

/** People name a session by so many of its last characters at least. */
export const shortestSuffix = 4;

/** As many of its last characters as no other session ends with. */
export function suffixOf(id: string, ids: readonly string[]): string {
  for (let length = shortestSuffix; length < id.length; length += 1) {
    const suffix = id.slice(-length);
    if (ids.filter((each) => each.endsWith(suffix)).length === 1) return suffix;
  }
  return id;
}

/** What a list calls the capsule of a session: one without a manifest by its folder too, as `task ./shop`. */
export function capsuleCell({
  capsule,
  folder,
}: {
  readonly capsule: string | null;
  readonly folder: string | null;
}): string {
  if (capsule === null) return '-';
  return folder === null ? capsule : `${capsule} ./${basename(folder)}`;
}

/** `E-RUN-091`, which ends a command with the exit code of a wrong command line. */
export function severalFit(wanted: string, ids: readonly string[]): Diagnostic {
  return new Diagnostic('E-RUN-091', `${wanted} fits more than one session: ${ids.join(', ')}`, {
    hint: 'give more characters of the id',
  });
}

/** The context under which a session has the conversation of the one that it goes on with: no other session knows it. */
export function continuedContext(sessionId: string): string {
  return `continued-${sessionId}`;
}
