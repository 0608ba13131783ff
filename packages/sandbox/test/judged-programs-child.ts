import { chmodSync, mkdirSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { execFileSync } from 'node:child_process';

import { containedEnvironment, containedTemporary } from '../src/contained-environment.ts';
import { openPlace } from '../src/containment.ts';
import { hostContainment } from '../src/host-containment.ts';
import { minimalGrants } from '../src/launch/process-grants.ts';
import type { StartedProgram } from '../src/launcher.ts';

/**
 * Runs lines of bash in one session whose programs are judged, and prints what became of each. A program with the word `push` is killed; one with the
 * word `later` runs once another one with the word `sooner` was started. A program of its own, started by the tests.
 */
const [, , packageRoot = '', directory = '', given = ''] = process.argv;
const { ceiling, names, lines, sources } = JSON.parse(given) as {
  readonly ceiling: 'sealed' | 'scoped';
  readonly names: readonly string[];
  readonly lines: readonly string[];
  /** Programs in C, compiled into the workdir. */
  readonly sources: readonly string[];
};

const containment = await hostContainment({
  packageRoot,
  platform: process.platform,
  architecture: process.arch,
  uid: process.getuid?.() ?? 0,
  kernel: release(),
  cacheDirectory: join(directory, 'cache'),
  temporaryDirectory: directory,
  ceiling,
});
if (containment.achieved !== ceiling) throw new Error(containment.reason ?? '');

const place = { workdir: join(directory, 'work'), privateDirectory: join(directory, 'private') };
mkdirSync(containedTemporary(place.workdir), { recursive: true });
mkdirSync(place.privateDirectory, { mode: 0o700 });
for (const [at, source] of sources.entries())
  execFileSync('cc', ['-O2', '-pthread', '-o', `p${at}`, '-x', 'c', '-'], { cwd: place.workdir, input: source });
if (sources.length > 0) {
  execFileSync('cp', ['p0', 'hidden'], { cwd: place.workdir });
  chmodSync(join(place.workdir, 'hidden'), 0o111);
}
const limits = { ...minimalGrants.limits, processes: 700 };
const session = await openPlace(containment, place, limits);
let seen: StartedProgram[] = [];
let sooner = (): void => {};
let waiting = new Promise<void>((resolve) => (sooner = resolve));
const judge = {
  judge: async (program: StartedProgram): Promise<boolean> => {
    seen.push(program);
    const { argv } = program;
    if (argv.includes('sooner')) sooner();
    if (argv.includes('later')) await waiting;
    return !argv.includes('push');
  },
};
const launcher = session.launcher({
  ...minimalGrants,
  limits,
  commands: 'bash chmod echo env git grep kill ls make python3 seq setsid sh sleep touch true wc xargs'.split(' '),
  workdirExec: true,
  gate: { names, otherwise: judge },
});
const env = containedEnvironment({ accessibleWorkdir: place.workdir, held: process.env, allow: [], achieved: ceiling });
const results = [];
for (const line of lines) {
  seen = [];
  waiting = new Promise((resolve) => (sooner = resolve));
  const startedAt = performance.now();
  const outcome = await launcher.launch({ command: 'bash', args: ['-c', line], env, stdin: 'null' });
  if (outcome.kind === 'refused') throw new Error(outcome.reason);
  const { stdout, stderr, ended } = outcome.process;
  const [out, err, end] = await Promise.all([text(stdout), text(stderr), ended]);
  const shown = seen.map(({ file, argv, state }) => ({ file, argv: argv.slice(0, 8), words: argv.length, state }));
  results.push({ out, err, end, seen: shown, ms: Math.round(performance.now() - startedAt) });
}
await session.close();
process.stdout.write(`${JSON.stringify(results)}\n`);
