/** Knows the programs that install a server from a registry before they run it. */

import { destinationOf, mayReach, type NetworkDestination } from '@svc/kit/net/network-destination.ts';

type Variables = Readonly<Record<string, string | undefined>>;

interface Runner {
  /** The variables that name its registry, the first that is set winning, and the registry without them. */
  readonly named: readonly string[];
  readonly registry: string;
  /** Where that keeps the packages, if elsewhere. */
  readonly files?: string;
  /** Keeps it from asking again for minutes where it can never be answered. */
  readonly asksOnce: Readonly<Record<string, string>>;
}

const npm: Runner = {
  named: ['npm_config_registry', 'NPM_CONFIG_REGISTRY'],
  registry: 'https://registry.npmjs.org',
  asksOnce: { npm_config_fetch_retries: '0' },
};
const uv: Runner = {
  named: ['UV_DEFAULT_INDEX', 'UV_INDEX_URL'],
  registry: 'https://pypi.org',
  files: 'https://files.pythonhosted.org',
  asksOnce: { UV_HTTP_RETRIES: '0' },
};
const runners: ReadonlyMap<string, Runner> = new Map([
  ['npx', npm],
  ['npm', npm],
  ['uvx', uv],
  ['uv', uv],
]);

interface WithoutRegistry {
  readonly env: Readonly<Record<string, string>>;
  /** What may explain its end, by its last words; null when they are about something else. */
  readonly explain: (said: string) => string | null;
}

/** The addresses that a package is installed from. */
export function addressesOf(runner: PackageCommand['runner'], env: Variables): readonly URL[] {
  return registryUrls(runner === 'npx' ? npm : uv, env);
}

function registryUrls({ named, registry: usual, files }: Runner, env: Variables): readonly URL[] {
  const given = named.map((name) => env[name]).find((value) => value !== undefined) ?? usual;
  const registry = URL.canParse(given) ? new URL(given) : new URL(usual);
  const isUsual = registry.href === new URL(usual).href;
  return [registry, ...(isUsual && files !== undefined ? [new URL(files)] : [])];
}

/** Where a program that an entry lets its server run installs from, with the variables that the entry sets; empty for any other program. */
export function registryOf(program: string, env: Variables = {}): readonly NetworkDestination[] {
  const runner = runners.get(program);
  return runner === undefined ? [] : registryUrls(runner, env).flatMap((url) => destinationOf(url) ?? []);
}

/** For a program that cannot reach the registry that it installs from; null for every other. */
export function withoutRegistry(
  program: string,
  env: Variables,
  allow: readonly NetworkDestination[],
): WithoutRegistry | null {
  const runner = runners.get(program);
  if (runner === undefined) return null;
  const hosts = registryUrls(runner, env)
    .filter((url) => !mayReach(allow, url))
    .map(({ host }) => host);
  if (hosts.length === 0) return null;
  const explanation = `${program} installs from ${hosts.join(' and ')}, which capabilities.network.allow does not list for it: list it, set runs: [${program}] on its entry, or install the server beforehand`;
  const isAbout = (said: string): boolean => said === '' || hosts.some((host) => said.includes(host));
  return { env: runner.asksOnce, explain: (said) => (isAbout(said) ? explanation : null) };
}

/** A package of a registry, with a version, a range or a tag: no path, no address, no option. */
const npmSpec = /^((?:@[a-z0-9][\w.~-]*\/)?[a-z0-9][\w.~-]*)(?:@([\w.^~<>=-]+))?$/i;
const pythonSpec =
  /^([a-z0-9](?:[\w.-]*[a-z0-9])?)(?:\[[\w.,-]+\])?(?:(?:@|==)([\w.+!-]+)|[<>=~!]=?[\w.*+!<>=~,-]+)?$/i;
const exactVersion = /^\d+\.\d+(?:\.\d+)*(?:[-+.]?[\w.+]+)?$/;
const exactNpmVersion = /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/;

export interface PackageCommand {
  readonly runner: 'npx' | 'uvx';
  /** The name of the package. */
  readonly name: string;
  readonly spec: string;
  readonly isExact: boolean;
  /** The program of the package; null where the package decides. */
  readonly program: string | null;
  /** For the server. */
  readonly args: readonly string[];
}

/** Reads `npx -y <package> …`, `uvx <package> …`, `uvx --from <package> <program> …` and the same of `uv tool run`; null for any other command. */
export function packageCommand(words: readonly string[]): PackageCommand | null {
  const [program, ...rest] = words;
  if (program === 'npx') return npxCommand(rest);
  if (program === 'uvx') return uvxCommand(rest);
  return program === 'uv' && rest[0] === 'tool' && rest[1] === 'run' ? uvxCommand(rest.slice(2)) : null;
}

function npxCommand([yes, spec = '', ...args]: readonly string[]): PackageCommand | null {
  const [, name, version = ''] = npmSpec.exec(spec) ?? [];
  if ((yes !== '-y' && yes !== '--yes') || name === undefined) return null;
  return { runner: 'npx', name, spec, isExact: exactNpmVersion.test(version), program: null, args };
}

function uvxCommand(words: readonly string[]): PackageCommand | null {
  const isNamed = words[0] === '--from';
  const [spec = '', ...rest] = isNamed ? words.slice(1) : words;
  const [, name, version = ''] = pythonSpec.exec(spec) ?? [];
  if (name === undefined) return null;
  const [program, ...args] = isNamed ? rest : [name, ...rest];
  if (program === undefined || !isProgramName(program)) return null;
  return { runner: 'uvx', name, spec, isExact: exactVersion.test(version), program, args };
}

export function isProgramName(name: string): boolean {
  return /^\w[\w.-]*$/.test(name);
}

/**
 * Variables for `uv run`: it takes the virtual environment of the project as it is, which its server cannot write, and keeps no cache in the home of the
 * session. Empty for any other command.
 */
export function projectVariables(words: readonly string[]): Readonly<Record<string, string>> {
  const isRun = words[0] === 'uv' && words.includes('run') && packageCommand(words) === null;
  return isRun ? { UV_NO_SYNC: '1', UV_NO_CACHE: '1', UV_PYTHON_DOWNLOADS: 'never' } : {};
}
