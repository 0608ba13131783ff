/** Attempts on files that were not granted. */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import {
  type ProgramAttempt,
  programAttempt,
  type ProgramEntry,
  stopped,
  stoppedFromScoped,
  stoppedInSealed,
} from './attempt.ts';
import type { Surroundings } from './surroundings.ts';

const secretFile = (place: Surroundings): string[] => [place.secretFile];
const secretIn = (place: Surroundings): string[] => [place.secretFile, place.secret];
const contentChanged = (place: Surroundings): boolean => readFileSync(place.secretFile, 'utf8') !== place.secret;
const isGone = (place: Surroundings): boolean => !existsSync(place.secretFile);

/** Every process may read it. */
const systemFile = '/etc/passwd';

const reading: readonly ProgramEntry[] = [
  {
    name: 'read-outside',
    title: 'read a file outside the workdir',
    program: 'read',
    operands: secretIn,
    promises: stoppedFromScoped,
  },
  {
    name: 'read-by-parent',
    title: 'read a file outside the workdir by a path through its parent',
    program: 'read',
    operands: ({ secret }) => ['../outside/secret', secret],
    promises: stoppedFromScoped,
  },
  {
    name: 'read-records',
    title: "read the runtime's own records of the session",
    program: 'read',
    operands: ({ records, secret }) => [records, secret],
    promises: stoppedFromScoped,
  },
  {
    name: 'read-journal',
    title: 'read the journal of the session',
    program: 'read',
    operands: ({ journal, secret }) => [journal, secret],
    promises: stoppedFromScoped,
  },
  {
    name: 'list-bodies',
    title: 'list the long texts of the journal',
    program: 'list',
    operands: ({ bodies }) => [bodies, 'secret'],
    promises: stoppedFromScoped,
  },
  {
    name: 'list-outside',
    title: 'list a directory outside the workdir',
    program: 'list',
    operands: ({ outside }) => [outside, 'secret'],
    promises: stoppedFromScoped,
  },
  {
    name: 'read-through-symlink',
    title: 'read a file outside through a link planted in the workdir',
    program: 'read-through-symlink',
    operands: secretIn,
    promises: stoppedFromScoped,
  },
  {
    name: 'hard-link-inward',
    title: 'link a file outside into the workdir',
    program: 'hard-link-inward',
    operands: secretIn,
    promises: stoppedFromScoped,
    effect: ({ secretFile: path }) => statSync(path).nlink > 1,
  },
  {
    name: 'stat-outside',
    title: 'learn that a file outside exists, and its size',
    program: 'stat',
    operands: secretFile,
    promises: stoppedInSealed,
  },
  {
    name: 'watch-outside',
    title: 'learn the names of files that change in a directory outside',
    program: 'watch',
    operands: ({ outside }) => [outside, 'secret'],
    promises: stoppedInSealed,
  },
  {
    name: 'chdir-outside',
    title: 'enter a directory outside',
    program: 'chdir',
    operands: ({ outside }) => [outside],
    promises: stoppedInSealed,
  },
];

const granted: readonly ProgramEntry[] = [
  {
    name: 'read-beyond-scope',
    title: 'read a file of the workdir outside the granted scope',
    program: 'read',
    operands: ({ beyondScope, secret }) => [beyondScope, secret],
    grants: ({ scope }) => ({ scope }),
    promises: stoppedFromScoped,
  },
  {
    name: 'write-read-only',
    title: 'make a file in a workdir that is granted read-only',
    program: 'create',
    operands: () => ['made'],
    grants: () => ({ writable: false }),
    promises: stoppedFromScoped,
    effect: ({ workdir }) => existsSync(join(workdir, 'made')),
  },
];

const changing: readonly ProgramEntry[] = [
  {
    name: 'write-outside',
    title: 'write to a file outside',
    program: 'append',
    operands: secretFile,
    promises: stoppedFromScoped,
    effect: contentChanged,
  },
  {
    name: 'write-records',
    title: "write to the runtime's own records of the session",
    program: 'append',
    operands: ({ records }) => [records],
    promises: stoppedFromScoped,
    effect: ({ records, secret }) => readFileSync(records, 'utf8') !== secret,
  },
  {
    name: 'write-journal',
    title: 'write to the journal of the session',
    program: 'append',
    operands: ({ journal }) => [journal],
    promises: stoppedFromScoped,
    effect: ({ journal, secret }) => readFileSync(journal, 'utf8') !== secret,
  },
  {
    name: 'truncate-outside',
    title: 'empty a file outside',
    program: 'truncate',
    operands: secretFile,
    promises: stoppedFromScoped,
    effect: contentChanged,
  },
  {
    name: 'create-outside',
    title: 'make a file outside',
    program: 'create',
    operands: ({ outside }) => [join(outside, 'made')],
    promises: stoppedFromScoped,
    effect: ({ outside }) => existsSync(join(outside, 'made')),
  },
  {
    name: 'remove-outside',
    title: 'remove a file outside',
    program: 'remove',
    operands: secretFile,
    promises: stoppedFromScoped,
    effect: isGone,
  },
  {
    name: 'rename-outward',
    title: 'move a file of the workdir out of it',
    program: 'rename-outward',
    operands: ({ outside }) => [join(outside, 'moved')],
    promises: stoppedFromScoped,
    effect: ({ outside }) => existsSync(join(outside, 'moved')),
  },
  {
    name: 'rename-inward',
    title: 'move a file outside into the workdir',
    program: 'rename-inward',
    operands: secretIn,
    promises: stoppedFromScoped,
    effect: isGone,
  },
  {
    name: 'chmod-outside',
    title: 'change the mode of a file outside',
    program: 'chmod',
    operands: secretFile,
    promises: stoppedInSealed,
    effect: ({ secretFile: path }) => (statSync(path).mode & 0o777) !== 0o600,
  },
  {
    name: 'utimes-outside',
    title: 'change the times of a file outside',
    program: 'utimes',
    operands: secretFile,
    promises: stoppedInSealed,
    effect: ({ secretFile: path }) => statSync(path).mtimeMs === 1e12,
  },
  {
    name: 'open-system-file',
    title: 'open a file of the system for writing',
    program: 'open-for-writing',
    operands: () => [systemFile],
    promises: stoppedFromScoped,
  },
  {
    name: 'chmod-system-file',
    title: 'change the mode of a file of the system',
    program: 'chmod-to-same',
    operands: () => [systemFile],
    promises: stoppedInSealed,
  },
  {
    name: 'chmod-device',
    title: 'change the mode of a device of the host',
    program: 'chmod-to-same',
    operands: () => ['/dev/null'],
    promises: stoppedInSealed,
  },
  {
    name: 'setxattr-outside',
    title: 'give a file outside an attribute',
    program: 'setxattr',
    operands: secretFile,
    promises: stoppedInSealed,
  },
];

const device = (name: string, title: string): ProgramEntry => ({
  name,
  title,
  program: name,
  promises: stopped,
  effect: ({ workdir }) => entriesOf(workdir).some((entry) => entry.isCharacterDevice()),
});

const setIdCalls = [
  'open',
  'creat',
  'mknod',
  'chmod',
  'openat',
  'openat2',
  'mknodat',
  'fchmod',
  'fchmodat',
  'fchmodat2',
];
const onlyOlder: ReadonlySet<string> = new Set(['open', 'creat', 'mknod', 'chmod']);

function setIdAttempt(call: string): ProgramEntry {
  return {
    name: `setuid-by-${call}`,
    title: `leave a setuid file in the workdir by ${call}`,
    program: `setuid-by-${call}`,
    promises: stopped,
    effect: hasSetIdFile,
    needs: onlyOlder.has(call) ? ['olderModes'] : [],
  };
}

const leaving: readonly ProgramEntry[] = [
  device('make-device', 'make a device in the workdir'),
  device('make-whiteout', 'make a device of the kind that hides files'),
  ...setIdCalls.map(setIdAttempt),
  {
    name: 'setuid-by-unnamed-file',
    title: 'make a setuid file that has no name yet',
    program: 'setuid-by-unnamed-file',
    promises: stopped,
  },
  {
    name: 'setgid',
    title: 'leave a setgid file in the workdir',
    program: 'setgid',
    promises: stopped,
    effect: hasSetIdFile,
  },
  {
    name: 'file-capabilities',
    title: 'leave a file with capabilities in the workdir',
    program: 'file-capabilities',
    promises: stopped,
  },
];

function entriesOf(directory: string) {
  return readdirSync(directory, { withFileTypes: true });
}

function hasSetIdFile({ workdir }: Surroundings): boolean {
  return entriesOf(workdir).some(({ name }) => (statSync(join(workdir, name)).mode & 0o6000) !== 0);
}

/** On files outside the workdir, and files in it that would mean something outside. */
export const fileAttempts: readonly ProgramAttempt[] = [...reading, ...granted, ...changing, ...leaving].map(
  programAttempt,
);
