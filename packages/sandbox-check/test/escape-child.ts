import { release } from 'node:os';
import { delimiter, join } from 'node:path';

import { unheld } from '@svc/sandbox/limits/held-limits.ts';
import type { Containment } from '@svc/sandbox/containment.ts';
import { hostContainment } from '@svc/sandbox/host-containment.ts';
import { startProcess } from '@svc/sandbox/start-process.ts';
import { containmentClasses } from '@svc/protocol/containment-class.ts';
import { allAttempts, type AttemptHost, lackingFor, runAttempt } from '../src/attempt-suite.ts';
import { findAttemptTools, ungrantedVariable } from '../src/attempt-tools.ts';
import { formatSeen } from '../src/attempt.ts';
import type { EscapeColumn } from './escape-columns.ts';

/** Makes every attempt as the user of this process, and prints what became of them: a program of its own, started by the tests. */
const [, , packageRoot = '', directory = '', setuidProgram = ''] = process.argv;
const searchPath = ['/usr/local/bin', '/usr/bin', '/bin'].join(delimiter);
const uid = process.getuid?.() ?? -1;
const built = join(packageRoot, 'dist', 'native', `linux-${process.arch}`);
const tools = await findAttemptTools({
  searchPath,
  architecture: process.arch,
  setuidProgram: setuidProgram === '' ? null : setuidProgram,
});
const place: Omit<AttemptHost, 'containment'> = {
  helper: join(built, 'svc-launch'),
  program: join(built, 'svc-attempts'),
  tools,
  directory,
  searchPath,
};

/** Nothing is taken away from what is started: it even gets what a launcher would keep from it. */
const uncontained: Containment = {
  achieved: 'advisory',
  mechanism: 'none',
  reason: null,
  usernsGrant: 'n/a',
  hold: async ({ resources }) => unheld(resources),
  open: ({ workdir }) => ({
    launcher: ({ scope }) => ({
      launch: async ({ command, args, env }) => {
        const started = await startProcess(
          { stdin: 'null' },
          {
            program: command,
            args,
            cwd: join(workdir, scope),
            env: { ...env, [ungrantedVariable]: 'held' },
            others: [0],
            pipes: undefined,
            drainMs: 1000,
          },
        );
        return started.kind === 'refused' ? started : { kind: 'started', process: started.process };
      },
    }),
    close: async () => {},
  }),
};

async function columnOf(name: EscapeColumn['name'], containment: Containment): Promise<EscapeColumn> {
  const promises = name === 'alone' ? 'advisory' : name;
  if (containment.achieved !== promises) return { name, answers: null, reason: containment.reason ?? '' };
  const answers: Record<string, string> = {};
  for (const attempt of allAttempts) {
    if (attempt.promises[promises] === null || lackingFor(attempt, tools) !== null) continue;
    answers[attempt.name] = formatSeen(await runAttempt(attempt, { ...place, containment }));
  }
  return { name, answers, reason: null };
}

const columns = [await columnOf('alone', uncontained)];
for (const ceiling of containmentClasses) {
  const containment = await hostContainment({
    packageRoot,
    platform: process.platform,
    architecture: process.arch,
    uid,
    kernel: release(),
    cacheDirectory: join(directory, 'cache'),
    temporaryDirectory: directory,
    ceiling,
  });
  columns.push(await columnOf(ceiling, containment));
}
process.stdout.write(JSON.stringify(columns));
