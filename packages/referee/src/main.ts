/** The program svc-referee. */

import { availableParallelism, constants, homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

import { platformOf } from '@svc/artifacts/store/artifact-ref.ts';
import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { renderDiagnostic } from '@svc/kit/diagnostics/render.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { createArtifactRegistry } from './artifact-registry.ts';
import { isUnmatchable, parseOptions, type RefereeSettings } from './options.ts';
import { RefereeServer } from './referee-server.ts';

const help = `Usage: svc-referee [options]

Decides which capsules of this machine may spawn which others.

Options:
  --port <number>                port on 127.0.0.1 (default 7700; 0 lets the system choose)
  --registry-path <dir>          where capsules are looked up (default ~/.svc/artifacts)
  --spawn-allow <name>           a capsule that may register without an approval; repeat it for each
  --max-depth <number>           levels of delegation below a top-level capsule (default 3)
  --max-concurrent <number>      live children of one session (default 4)
  --max-live-capsules <number>   live capsules in all (default 8 a core, at least 16, at most 256)
  --version                      print the version
  --help                         print this
`;

const usageError = 2;
const bugInReferee = 70;

/** Requests that are being decided have this long to end after the first SIGTERM or SIGINT. */
const graceMs = 5_000;

/** `svc-referee`: reads flags and environment, serves until a signal stops it. */
export async function main(args: readonly string[]): Promise<void> {
  // A reader of its two lines that went away is no reason to stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  process.on('uncaughtException', (error) => {
    reportBug(error);
    process.exit(bugInReferee);
  });
  const options = parseOptions(args, availableParallelism());
  switch (options.kind) {
    case 'print':
      process.stdout.write(options.what === 'help' ? help : `${packageJson.version}\n`);
      return;
    case 'unknown':
      // The wording is D2's ("Daemon options" 3).
      process.stderr.write(`unknown argument: ${options.argument}\nhint: ${listOptions}\n`);
      process.exitCode = usageError;
      return;
    case 'invalid':
      tell(new Diagnostic('E-REF-001', options.problem, { hint: listOptions }));
      process.exitCode = usageError;
      return;
    case 'serve':
      await serve(options.settings);
  }
}

const listOptions = 'svc-referee --help lists the options';

async function serve({ port, registryPath, spawnAllow, bounds }: RefereeSettings): Promise<void> {
  const root = registryPath === null ? userRegistry() : resolve(registryPath);
  if (root === null) {
    const message = 'HOME names no directory, so that there is no default for --registry-path';
    tell(new Diagnostic('E-REF-001', message, { hint: 'name the registry with --registry-path' }));
    process.exitCode = usageError;
    return;
  }
  [...spawnAllow].filter(isUnmatchable).forEach(warnOfName);
  const registry = createArtifactRegistry({
    root,
    platform: platformOf(process),
    env: process.env,
    now: () => systemClock.now(),
  });
  const server = new RefereeServer({ registry, bounds, spawnAllow, clock: systemClock, onBug: reportBug });
  const outcome = await server.open(port);
  if (outcome.kind !== 'bound') {
    const reason = outcome.kind === 'port-taken' ? 'it is taken' : outcome.reason;
    const hint = 'one referee per host is enough; choose another port with --port';
    tell(new Diagnostic('E-REF-002', `cannot listen on 127.0.0.1:${port}: ${reason}`, { hint }));
    process.exitCode = 1;
    return;
  }
  stopOnSignals(server);
  process.stdout.write(
    `svc-referee ${packageJson.version} listens on 127.0.0.1:${outcome.port}, registry ${root}\n` +
      `machine ceiling: ${bounds.maxLiveCapsules} live capsules (--max-live-capsules)\n`,
  );
}

/** Returns null where neither the environment nor the system knows a home. */
function userRegistry(): string | null {
  try {
    const home = process.env['HOME'] ?? homedir();
    return isAbsolute(home) ? join(home, '.svc', 'artifacts') : null;
  } catch (error) {
    // The user is not in the system's list of users.
    if (errorCode(error) === 'ERR_SYSTEM_ERROR') return null;
    throw error;
  }
}

function warnOfName(name: string): void {
  const hint = 'give --spawn-allow once for each name';
  tell(new Diagnostic('W-REF-001', `--spawn-allow ${name} is the name of no capsule and admits none`, { hint }));
}

/** The first signal lets running requests end, the second ends the process at once. */
function stopOnSignals(server: RefereeServer): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(128 + constants.signals[signal]);
    stopping = true;
    void server.close(graceMs);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
}

function tell(diagnostic: Diagnostic): void {
  process.stderr.write(renderDiagnostic(diagnostic, { color: false }));
}

function reportBug(error: unknown): void {
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(
    `svc-referee: this is a bug in svc-referee ${packageJson.version}, please report it:\n${trace}\n`,
  );
}
