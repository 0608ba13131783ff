/** Attempts to have more than was granted, and to stay. */

import { minimalGrants, type ProcessGrants, type ResourceLimits } from '@svc/sandbox/launch/process-grants.ts';
import { open, type ProgramAttempt, programAttempt, type ProgramEntry, stopped, stoppedInSealed } from './attempt.ts';
import { ungrantedVariable } from './attempt-tools.ts';

const mebibyte = 1024 * 1024;

const limitedTo = (limits: Partial<ResourceLimits>) => (): Partial<ProcessGrants> => ({
  limits: { ...minimalGrants.limits, ...limits },
});

const attempts: readonly ProgramEntry[] = [
  {
    name: 'descriptors',
    title: 'find a descriptor that was not handed to it',
    program: 'find-descriptor',
    promises: stopped,
  },
  {
    name: 'environment',
    title: 'find a variable that is not allowed',
    program: 'find-variable',
    operands: () => [ungrantedVariable],
    promises: stopped,
  },
  {
    name: 'processes',
    title: 'start more processes than granted',
    program: 'fork-many',
    // Far more, because processes of the user that end meanwhile make room.
    operands: () => ['1500'],
    grants: limitedTo({ processes: 16 }),
    promises: stopped,
    limit: 'processes',
  },
  {
    name: 'memory',
    title: 'take more memory than granted',
    program: 'take-memory',
    operands: () => ['128'],
    grants: limitedTo({ memory: 64 * mebibyte }),
    promises: stopped,
  },
  {
    name: 'shared-memory',
    title: 'take more shared memory than memory is granted',
    program: 'take-shared-memory',
    operands: () => ['128'],
    grants: limitedTo({ memory: 64 * mebibyte }),
    promises: open,
  },
  {
    name: 'open-files',
    title: 'open more files than granted',
    program: 'open-many',
    operands: () => ['128'],
    grants: limitedTo({ open_files: 64 }),
    promises: stopped,
  },
  {
    name: 'file-size',
    title: 'make a file larger than granted',
    program: 'write-far',
    operands: () => [`${2 * mebibyte}`],
    grants: limitedTo({ file_size: mebibyte }),
    promises: stopped,
  },
  {
    name: 'daemon',
    title: 'go on running after the session',
    program: 'leave-daemon',
    promises: stoppedInSealed,
    effect: (place) => place.releaseDaemon(),
  },
];

/** To have more than was granted, find what was not granted, and stay. */
export const limitAttempts: readonly ProgramAttempt[] = attempts.map(programAttempt);
