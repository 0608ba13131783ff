/** Installs the server that `npx -y <package>` names into a cache of the host, from where it runs without a right to write there. */

import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { readSmallText } from '@svc/kit/files/read-text.ts';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { asJsonObject, parseJsonObject } from '@svc/protocol/json-object.ts';
import { endProcess, OutputTail } from '@svc/sandbox/launched-process.ts';
import type { Launcher } from '@svc/sandbox/launcher.ts';
import type { NpxCommand } from './package-runner.ts';

const dayMs = 86_400_000;
const tailBytes = 4096;
const endGraceMs = 2000;

interface Installation {
  /** The artifact. */
  readonly artifact: string;
  readonly wanted: NpxCommand;
  /** `~/.svc/cache`. */
  readonly cacheDir: string;
  readonly nowMs: number;
  readonly env: Readonly<Record<string, string>>;
  /** Starts npm, which may write in this directory of the host and nowhere else outside the workdir. */
  readonly launcherFor: (directory: string) => Launcher;
  readonly deadlineMs: number;
}

export interface InstalledServer {
  readonly path: string;
  readonly args: readonly string[];
  readonly reads: readonly string[];
}

/**
 * The server's program in the cache, which is filled first where it lacks the package: an exact version stays, anything else is asked for anew each
 * day. Scripts of packages do not run. `E-RUN-036` when npm fails.
 */
export async function installedServer(installation: Installation): Promise<InstalledServer> {
  const { wanted, cacheDir, nowMs, env } = installation;
  const day = wanted.isExact ? '' : String(Math.floor(nowMs / dayMs));
  const directory = join(cacheDir, 'npx');
  const place = join(directory, sha256Hex([wanted.spec, env['npm_config_registry'] ?? '', day].join('\n')));
  const bin = programIn(place, wanted.name) ?? (await install(place, directory, installation));
  if (bin === null) {
    throw failed(installation, 'has no program of its own', `${wanted.spec} names none in its package.json`);
  }
  return { path: bin, args: wanted.args, reads: [place] };
}

async function install(place: string, directory: string, installation: Installation): Promise<string | null> {
  const { wanted } = installation;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const made = mkdtempSync(join(directory, 'new-'));
  try {
    await runNpm(made, installation);
    renameSync(made, place);
  } catch (error) {
    // Another session was faster: what it made is the same.
    const code = errorCode(error);
    if (code === undefined) throw error;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw ioFault(error, `cannot write ${place}`);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
  return programIn(place, wanted.name);
}

async function runNpm(directory: string, installation: Installation): Promise<void> {
  const { wanted, env, launcherFor, deadlineMs } = installation;
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
  const args = ['install', '--prefix', directory, ...quiet, wanted.spec];
  const settings = { npm_config_update_notifier: 'false', npm_config_cache: join(directory, '.npm') };
  const request = { command: 'npm', args, env: { ...settings, ...env }, stdin: 'null' } as const;
  const outcome = await launcherFor(directory).launch(request);
  if (outcome.kind === 'refused') throw failed(installation, `npm could not be started: ${outcome.reason}`, '');
  const { process: npm } = outcome;
  const tail = new OutputTail(tailBytes);
  const timer = setTimeout(() => void endProcess(npm, endGraceMs), deadlineMs);
  const [end] = await Promise.all([npm.ended, tail.read(npm.stderr), new OutputTail(tailBytes).read(npm.stdout)]);
  clearTimeout(timer);
  if (end.kind === 'exited' && end.exitCode === 0) return;
  const how = end.kind === 'exited' ? `exited with status ${end.exitCode}` : `was ended by ${end.signal}`;
  throw failed(installation, `npm ${how}`, [...(outcome.problems ?? []), tail.text()].join(' '));
}

function failed({ artifact, wanted }: Installation, what: string, hint: string): Diagnostic {
  const message = `the server of ${artifact} could not be installed from ${wanted.spec}: ${what}`;
  return new Diagnostic('E-RUN-036', message, hint.trim() === '' ? {} : { hint: hint.replaceAll(/\s+/g, ' ').trim() });
}

/** As npx chooses it: the only program of the package, or the one with its name. Returns null where nothing is installed. */
function programIn(place: string, name: string): string | null {
  const reading = readSmallText(join(place, 'node_modules', name, 'package.json'));
  if (reading.kind !== 'text') return null;
  const own = name.replace(/^@[^/]*\//, '');
  const { bin } = parseJsonObject(reading.text) ?? {};
  const names = typeof bin === 'string' ? [own] : Object.keys(asJsonObject(bin) ?? {});
  const chosen = names.length === 1 ? names[0] : names.find((each) => each === own);
  const isName = chosen !== undefined && /^[\w.-]+$/.test(chosen) && !chosen.startsWith('.');
  if (!isName) return null;
  const path = join(place, 'node_modules', '.bin', chosen);
  const real = unlessRefused(() => realpathSync(path), null);
  return real !== null && isBeneath(realpathSync(place), real) ? path : null;
}
