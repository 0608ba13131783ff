/** Installs the server that `npx -y <package>` or `uvx <package>` names into a cache of the host, from where it runs without a right to write there. */

import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { startRequest } from '@svc/kit/net/connections.ts';
import { isNetworkError, networkReason } from '@svc/kit/net/network-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { readSmallText } from '@svc/kit/files/read-text.ts';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { asJsonObject, parseJsonObject } from '@svc/protocol/json-object.ts';
import { endProcess, OutputTail } from '@svc/sandbox/launched-process.ts';
import type { Launcher } from '@svc/sandbox/launcher.ts';
import { isProgramName, type PackageCommand } from '../launch/package-runner.ts';

const dayMs = 86_400_000;
const tailBytes = 4096;
const endGraceMs = 2000;
const reachMs = 5000;
const waitToldMs = 3000;

interface Installation {
  /** The artifact. */
  readonly artifact: string;
  readonly wanted: PackageCommand;
  /** `~/.svc/cache`. */
  readonly cacheDir: string;
  readonly nowMs: number;
  readonly env: Readonly<Record<string, string>>;
  /** Starts these commands, which may write in this directory of the host and nowhere else outside the workdir. */
  readonly launcherFor: (directory: string, commands: readonly string[]) => Launcher;
  readonly deadlineMs: number;
  /** The addresses that it installs from, if they are asked without a proxy. */
  readonly registries: readonly URL[];
  /** Called when the installation takes longer than three seconds. */
  readonly onWaiting: () => void;
}

export interface InstalledServer {
  readonly path: string;
  readonly args: readonly string[];
  readonly reads: readonly string[];
}

interface Installer {
  /** What installs, first, and what that starts. */
  readonly commands: readonly [string, ...string[]];
  /** Variables that say where it finds packages: another registry has other packages under the same names. */
  readonly registries: readonly string[];
  readonly args: (directory: string, spec: string) => readonly string[];
  readonly env: (directory: string) => Readonly<Record<string, string>>;
  /** What it needs only while it installs, below the directory. */
  readonly cache: string;
  /** The words that start the server; null where it is not installed. */
  readonly server: (place: string, wanted: PackageCommand) => readonly [string, ...string[]] | null;
}

const installers: Readonly<Record<PackageCommand['runner'], Installer>> = {
  npx: {
    commands: ['npm'],
    registries: ['npm_config_registry', 'NPM_CONFIG_REGISTRY'],
    args: (directory, spec) => ['install', '--prefix', directory, ...quietNpm, spec],
    env: (directory) => ({ npm_config_update_notifier: 'false', npm_config_cache: join(directory, '.npm') }),
    cache: '.npm',
    server: npmServer,
  },
  uvx: {
    commands: ['uv', 'python3', 'python'],
    registries: ['UV_DEFAULT_INDEX', 'UV_INDEX_URL', 'UV_INDEX', 'UV_EXTRA_INDEX_URL'],
    // Building a package would run its scripts.
    args: (_, spec) => ['tool', 'install', '--no-build', '--no-config', '--compile-bytecode', '--quiet', spec],
    env: (directory) => ({
      UV_TOOL_DIR: join(directory, 'tools'),
      UV_TOOL_BIN_DIR: join(directory, 'bin'),
      UV_CACHE_DIR: join(directory, '.uv'),
      UV_PYTHON_DOWNLOADS: 'never',
    }),
    cache: '.uv',
    server: uvServer,
  },
};

const quietNpm = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];

/**
 * The server's program in the cache, which is filled first where it lacks the package: an exact version stays, anything else is asked for anew each
 * day. Scripts of packages do not run. `E-RUN-036` when the installation fails.
 */
export async function installedServer(installation: Installation): Promise<InstalledServer> {
  const { wanted, cacheDir, nowMs, env } = installation;
  const { registries, server } = installers[wanted.runner];
  const day = wanted.isExact ? '' : String(Math.floor(nowMs / dayMs));
  const directory = join(cacheDir, wanted.runner);
  const key = sha256Hex([wanted.spec, ...registries.map((name) => env[name] ?? ''), day].join('\n'));
  const place = join(directory, `${wanted.name.replaceAll(/[^\w.-]/g, '_').slice(0, 80)}-${key.slice(0, 32)}`);
  const found = server(place, wanted);
  if (found === null) await install(place, directory, installation);
  const [path, ...args] = found ?? server(place, wanted) ?? [null];
  if (path === null) {
    const what = wanted.program === null ? 'a program of its own' : `the program ${wanted.program}`;
    throw failed(installation, `the package does not have ${what}`, '');
  }
  return { path, args: [...args, ...wanted.args], reads: [place] };
}

async function install(place: string, directory: string, installation: Installation): Promise<void> {
  const { cache } = installers[installation.wanted.runner];
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const made = mkdtempSync(join(directory, 'new-'));
  try {
    await runInstaller(made, installation);
    rmSync(join(made, cache), { recursive: true, force: true });
    renameSync(made, place);
  } catch (error) {
    // Another session was faster: what it made is the same.
    const code = errorCode(error);
    if (code === undefined) throw error;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw ioFault(error, `cannot write ${place}`);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

async function runInstaller(directory: string, installation: Installation): Promise<void> {
  const { wanted, env, launcherFor, deadlineMs, registries, onWaiting } = installation;
  const { commands, args, env: settings } = installers[wanted.runner];
  const [command] = commands;
  const outcome = await launcherFor(directory, commands).launch({
    command,
    args: args(directory, wanted.spec),
    env: { ...settings(directory), ...env },
    stdin: 'null',
  });
  if (outcome.kind === 'refused') throw failed(installation, `${command} could not be started: ${outcome.reason}`, '');
  const { process: installer, problems = [] } = outcome;
  const tail = new OutputTail(tailBytes);
  const timer = setTimeout(() => void endProcess(installer, endGraceMs), deadlineMs);
  const told = setTimeout(onWaiting, waitToldMs);
  // An installer asks again for minutes where nothing can answer.
  const done = new AbortController();
  const unreached = firstUnreached(registries, done.signal).then((found) => {
    if (found !== null) void endProcess(installer, endGraceMs);
    return found;
  });
  const stdout = new OutputTail(tailBytes).read(installer.stdout);
  const [end] = await Promise.all([installer.ended, tail.read(installer.stderr), stdout]);
  clearTimeout(timer);
  clearTimeout(told);
  done.abort();
  const missing = await unreached;
  if (end.kind === 'exited' && end.exitCode === 0) return;
  if (missing !== null) throw failed(installation, missing, 'look at the network, or install the server beforehand');
  const how = end.kind === 'exited' ? `exited with status ${end.exitCode}` : `was ended by ${end.signal}`;
  const refused = (installer.takeRefusedHosts?.() ?? []).map((sentence) => `[${sentence}]`);
  const said = tail.text();
  const words = said === '' ? [] : [`its last words on stderr:\n${said}`];
  throw failed(installation, `${command} ${how}`, [...problems, ...refused, ...words].join(' '));
}

/** What keeps the first of these addresses from being reached, as a clause; null where each can be, and once `signal` is aborted. Sends nothing. */
async function firstUnreached(urls: readonly URL[], signal: AbortSignal): Promise<string | null> {
  const [first, ...more] = urls;
  if (first === undefined || signal.aborted) return null;
  const asked = startRequest(first, { method: 'HEAD', signal });
  const silent = Object.assign(new Error('no connection was made in time'), { code: 'ETIMEDOUT' });
  const late = setTimeout(() => asked.destroy(silent), reachMs);
  try {
    await new Promise<void>((resolve, reject) => {
      asked.on('error', reject);
      asked.once('socket', (socket) => socket.once('connect', resolve));
    });
  } catch (error) {
    if (signal.aborted) return null;
    if (!isNetworkError(error)) throw error;
    return `${first.host} cannot be reached: ${networkReason(error)}`;
  } finally {
    clearTimeout(late);
    asked.destroy();
  }
  return await firstUnreached(more, signal);
}

function failed({ artifact, wanted }: Installation, what: string, hint: string): Diagnostic {
  const message = `the server of ${artifact} could not be installed from ${wanted.spec}: ${what}`;
  return new Diagnostic('E-RUN-036', message, hint === '' ? {} : { hint });
}

/** As npx chooses it: the only program of the package, or the one with its name. */
function npmServer(place: string, { name }: PackageCommand): readonly [string] | null {
  const reading = readSmallText(join(place, 'node_modules', name, 'package.json'));
  if (reading.kind !== 'text') return null;
  const own = name.replace(/^@[^/]*\//, '');
  const { bin } = parseJsonObject(reading.text) ?? {};
  const names = typeof bin === 'string' ? [own] : Object.keys(asJsonObject(bin) ?? {});
  const chosen = names.length === 1 ? names[0] : names.find((each) => each === own);
  if (chosen === undefined || !isProgramName(chosen)) return null;
  const path = join(place, 'node_modules', '.bin', chosen);
  return isFileBelow(place, path) ? [path] : null;
}

/** Its own Python runs the script, whose first line names the place where it was made. */
function uvServer(place: string, { name, program }: PackageCommand): readonly [string, string] | null {
  const bin = join(place, 'tools', name.toLowerCase().replaceAll(/[-_.]+/g, '-'), 'bin');
  const script = join(bin, program ?? name);
  return isFileBelow(place, script) ? [join(bin, 'python'), script] : null;
}

function isFileBelow(place: string, path: string): boolean {
  const real = unlessRefused(() => realpathSync(path), null);
  return real !== null && isBeneath(realpathSync(place), real);
}
