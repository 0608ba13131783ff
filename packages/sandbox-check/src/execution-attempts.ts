/** Attempts to run what was not granted. */

import {
  open,
  type ProgramAttempt,
  programAttempt,
  type ProgramEntry,
  stopped,
  stoppedFromScoped,
  stoppedInSealed,
  works,
} from './attempt.ts';
import type { Surroundings } from './surroundings.ts';

const itself = (place: Surroundings): string[] => [place.program];
const withShell = { grants: () => ({ commands: ['sh'] }), needs: ['shell'] } as const;
const withLoader = { grants: () => ({ commands: ['sh'] }), needs: ['shell', 'loader'] } as const;

const attempts: readonly ProgramEntry[] = [
  {
    name: 'run-unlisted',
    title: 'run a command that is not listed',
    program: 'run-unlisted',
    operands: ({ tools }) => [tools.unlisted ?? ''],
    needs: ['unlisted'],
    promises: stoppedFromScoped,
  },
  {
    name: 'run-copy',
    title: 'run a copy of a program in the workdir',
    program: 'run-copy',
    operands: itself,
    promises: stoppedFromScoped,
  },
  {
    name: 'run-copy-where-granted',
    title: 'run a copy of a program in the workdir, with workdir_exec',
    program: 'run-copy',
    operands: itself,
    grants: () => ({ workdirExec: true }),
    promises: works,
  },
  {
    name: 'run-descriptor',
    title: 'run a copy of a program by its descriptor',
    program: 'run-descriptor',
    operands: itself,
    promises: stoppedFromScoped,
  },
  {
    name: 'run-shebang',
    title: 'run a script in the workdir by its first line',
    program: 'run-shebang',
    operands: ({ tools }) => [tools.shell ?? ''],
    ...withShell,
    promises: stoppedFromScoped,
  },
  {
    name: 'run-memory-file',
    title: 'run a program from memory that is no file',
    program: 'run-memory-file',
    operands: itself,
    promises: stopped,
  },
  {
    name: 'load-unlisted',
    title: 'have the loader run a command that is not listed',
    program: 'load-unlisted',
    operands: ({ tools }) => [tools.loader ?? '', tools.unlisted ?? ''],
    grants: withLoader.grants,
    needs: ['shell', 'loader', 'unlisted'],
    promises: stoppedFromScoped,
  },
  {
    name: 'load-copy',
    title: 'have the loader run a copy in the workdir',
    program: 'load-copy',
    operands: ({ tools }) => [tools.loader ?? '', tools.shell ?? ''],
    ...withLoader,
    promises: stoppedInSealed,
  },
  {
    name: 'map-library',
    title: 'load a library from the workdir',
    program: 'map-library',
    promises: stoppedInSealed,
  },
  {
    name: 'interpret',
    title: 'have a listed shell read a script in the workdir',
    program: 'interpret',
    operands: ({ tools }) => [tools.shell ?? ''],
    ...withShell,
    promises: works,
  },
  {
    name: 'run-memory',
    title: 'run instructions written into memory',
    program: 'run-memory',
    promises: open,
  },
];

/** To run what was not granted. */
export const executionAttempts: readonly ProgramAttempt[] = attempts.map(programAttempt);
