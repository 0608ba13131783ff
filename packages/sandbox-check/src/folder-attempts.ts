/** Attempts on what is kept and masked in a folder that somebody has given to a session as its workdir. */

import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { systemClock } from '@svc/kit/system-clock.ts';
import type { ProcessGrants } from '@svc/sandbox/launch/process-grants.ts';
import { openProjectFolder } from '@svc/sandbox/project-folder.ts';
import { type ProgramAttempt, programAttempt, type ProgramEntry, stoppedByMounts } from './attempt.ts';
import type { Surroundings } from './surroundings.ts';

/** The workdir as `--workdir` would give it, with a file for each of these paths; what `node` is loaded from lies in it. */
function givenWorkdir(...paths: readonly string[]): (place: Surroundings) => Partial<ProcessGrants> {
  return ({ workdir, secret }) => {
    for (const path of paths) {
      mkdirSync(dirname(join(workdir, path)), { recursive: true });
      writeFileSync(join(workdir, path), secret);
    }
    const project = openProjectFolder({
      path: workdir,
      isWorkdir: true,
      writable: true,
      keepsGit: true,
      own: ['node', 'lib']
        .map((name) => ({ path: join(workdir, name), what: null }))
        .filter(({ path }) => existsSync(path)),
      splits: false,
      clock: systemClock,
      uid: statSync(workdir).uid,
    });
    return { project };
  };
}

const attempts: readonly ProgramEntry[] = [
  {
    name: 'replace-node',
    title: 'remove the node that runs svc from a workdir that holds it',
    program: 'remove',
    operands: ({ workdir }) => [join(workdir, 'node')],
    grants: givenWorkdir('node'),
    promises: stoppedByMounts,
    effect: ({ workdir }) => !existsSync(join(workdir, 'node')),
  },
  {
    name: 'plant-library',
    title: 'make a library in a folder of the workdir in which node looks for them',
    program: 'create',
    operands: ({ workdir }) => [join(workdir, 'lib/planted')],
    grants: givenWorkdir('lib/other'),
    promises: stoppedByMounts,
    effect: ({ workdir }) => existsSync(join(workdir, 'lib/planted')),
  },
  {
    name: 'plant-hook',
    title: 'make a hook in the repository of a workdir that was named',
    program: 'create',
    operands: ({ workdir }) => [join(workdir, '.git/hooks/planted')],
    grants: givenWorkdir('.git/HEAD'),
    promises: stoppedByMounts,
    effect: ({ workdir }) => existsSync(join(workdir, '.git/hooks/planted')),
  },
  {
    name: 'change-git-config',
    title: 'change the configuration of that repository',
    program: 'append',
    operands: ({ workdir }) => [join(workdir, '.git/config')],
    grants: givenWorkdir('.git/config'),
    promises: stoppedByMounts,
    effect: ({ workdir, secret }) => readFileSync(join(workdir, '.git/config'), 'utf8') !== secret,
  },
  {
    name: 'lead-git-elsewhere',
    title: 'lead git to another configuration than that of the repository of a workdir that was named',
    program: 'append',
    operands: ({ workdir }) => [join(workdir, '.git/commondir')],
    grants: givenWorkdir('.git/commondir'),
    promises: stoppedByMounts,
    effect: ({ workdir, secret }) => readFileSync(join(workdir, '.git/commondir'), 'utf8') !== secret,
  },
  {
    name: 'read-masked',
    title: 'read a file .env of a workdir that was named',
    program: 'read',
    operands: ({ workdir, secret }) => [join(workdir, '.env'), secret],
    grants: givenWorkdir('.env'),
    promises: stoppedByMounts,
  },
];

export const folderAttempts: readonly ProgramAttempt[] = attempts.map(programAttempt);
