import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { Enforcement } from './enforcement.ts';
import { type LaunchTemplate, LaunchTemplates, UnwrittenTemplate } from './launch-templates.ts';
import { minimalGrants } from './process-grants.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let directory: string;
let asked: string[];
let counted: number;
eachFolder('svc-templates-', (made) => {
  directory = made;
  asked = [];
  counted = 0;
});

function templatesOf(enforcement: Enforcement): LaunchTemplates {
  return new LaunchTemplates({
    enforcement,
    grants: {
      ...minimalGrants,
      commands: ['one', 'two'],
      limits: { processes: 1, open_files: 1, file_size: 1, cpu: 1, memory: 1 },
    },
    cgroups: { joins: ['/group/cgroup.procs'], room: null },
    users: null,
    workdir: '/work',
    privateDirectory: directory,
    filter: Buffer.from('filter'),
    filesOf: (programs) => {
      asked.push(programs.join(' '));
      return { read: [], execute: programs, links: [], problems: [] };
    },
    countProcesses: () => (counted += 1),
  });
}

/** The largest file that this process may write; Node ignores the signal that would end it. */
function limitFiles(most: string): void {
  execFileSync('prlimit', ['--pid', `${process.pid}`, `--fsize=${most}:`]);
}

function canLimit(): boolean {
  return unlessRefused(() => execFileSync('prlimit', ['--version']) !== null, false);
}

const commands = ['/bin/one', '/bin/two'];

describe('the templates of a session', () => {
  it('have one plan for all who may run the same programs, and look for the files of these once', () => {
    const templates = templatesOf({ class: 'scoped', landlockAbi: 6 });
    const one = templates.templateFor({ program: '/bin/one', commands, searchPath: ['/bin'] });
    const two = templates.templateFor({ program: '/bin/two', commands, searchPath: ['/bin'] });
    expect(two.plan).toBe(one.plan);
    expect(asked).toEqual(['/bin/one /bin/two']);
    expect([one.program, two.program]).toEqual(['/bin/one', '/bin/two']);
    templates.close();
  });

  it('have another plan for a program that the others may not run, and for another search path', () => {
    const templates = templatesOf({ class: 'scoped', landlockAbi: 6 });
    const plans = [
      templates.templateFor({ program: '/bin/one', commands, searchPath: ['/bin'] }),
      templates.templateFor({ program: '/tools/own', commands, searchPath: ['/bin'] }),
      templates.templateFor({ program: '/bin/one', commands, searchPath: ['/usr/bin'] }),
    ];
    expect(new Set(plans.map(({ plan }) => plan)).size).toBe(3);
    expect(asked).toEqual(['/bin/one /bin/two', '/bin/one /bin/two /tools/own', '/bin/one /bin/two']);
    templates.close();
  });

  it('leave nothing when they cannot be written, say why, and can be written later', (context) => {
    context.skip(!canLimit(), 'needs prlimit');
    const templates = templatesOf({ class: 'scoped', landlockAbi: 6 });
    const templateOf = (): LaunchTemplate =>
      templates.templateFor({ program: '/bin/one', commands, searchPath: ['/bin'] });
    // Half of the filter can be written.
    limitFiles('3');
    try {
      expect(templateOf).toThrow(UnwrittenTemplate);
      expect(templateOf).toThrow(
        `it could not be contained: what contains it could not be written to ${directory}: EFBIG`,
      );
    } finally {
      limitFiles('unlimited');
    }
    expect(readdirSync(directory)).toEqual([]);
    expect(templateOf().program).toBe('/bin/one');
    templates.close();
  });

  it('report a program that the agent could write', () => {
    const templates = templatesOf({ class: 'scoped', landlockAbi: 6 });
    const { problems } = templates.templateFor({ program: '/work/bin/own', commands, searchPath: ['/bin'] });
    expect(problems).toEqual([
      '/work/bin/own lies where the command may write, and runs only where that is granted too (workdir_exec)',
    ]);
    templates.close();
  });

  it('count the processes of the user only where they count against a limit', () => {
    const sealed = (userNamespace: boolean): Enforcement => ({
      class: 'sealed',
      landlockAbi: 6,
      root: { userNamespace, proc: true },
    });
    for (const [enforcement, times] of [
      [sealed(true), 0],
      [sealed(false), 1],
      [{ class: 'scoped', landlockAbi: 6 } as const, 2],
    ] as const) {
      const templates = templatesOf(enforcement);
      templates.templateFor({ program: '/bin/one', commands, searchPath: [] });
      expect(counted).toBe(times);
      templates.close();
    }
  });
});
