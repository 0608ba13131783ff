import { expect, it } from 'vitest';

import { composeRoot } from './compose-plan.ts';
import { minimalGrants, type ProcessGrants, type ProjectFolder } from './process-grants.ts';

const project: ProjectFolder = {
  path: '/tmp/work',
  isWorkdir: true,
  writable: true,
  masked: [
    { path: '.env', isDirectory: false },
    { path: 'api/.env.d', isDirectory: true },
  ],
  keepsGit: true,
  own: [],
  kept: [
    { path: '.svc', writable: false },
    { path: 'api/.git', writable: true },
    { path: 'api/.git/hooks', writable: false },
  ],
  git: null,
  parts: null,
  look: () => {},
};

/** The steps about the workdir: what is mounted, its attributes, and where below it. */
function steps(over: Partial<ProcessGrants>): readonly string[] {
  const files = { read: [], execute: [], links: [], problems: [] };
  const grants = { ...minimalGrants, project, ...over };
  return composeRoot({ files, grants, workdir: '/tmp/work', proc: false, mapped: false }).flatMap((step) => {
    if (!step.target.startsWith('/tmp/work') || !('attributes' in step)) return [];
    const source = step.kind !== 'bind' ? step.kind : step.source === step.target ? 'itself' : step.source;
    return [`${step.target.slice('/tmp/work'.length)} ${source} ${step.attributes}`];
  });
}

const home = '/.svc/home itself 14';

it('A folder that is the workdir is kept and covered in place, and the home of the program lies above all', () => {
  expect(steps({})).toEqual([
    ' itself 14',
    '/.svc itself 15',
    '/api/.git itself 14',
    '/api/.git/hooks itself 15',
    '/.env /dev/null 15',
    '/api/.env.d tmpfs 15',
    home,
  ]);
});

it('A scope shows what is kept and covered below it, and is covered itself inside of something covered', () => {
  expect(steps({ scope: 'api/.git', writable: false })).toEqual([
    '/api/.git itself 15',
    '/api/.git itself 15',
    '/api/.git/hooks itself 15',
    home,
  ]);
  expect(steps({ scope: 'api/.env.d/x' })).toEqual(['/api/.env.d/x itself 14', '/api/.env.d/x tmpfs 15', home]);
});
