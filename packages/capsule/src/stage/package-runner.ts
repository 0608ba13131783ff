/** Knows the programs that install a server from a registry before they run it. */

import { mayReach, type NetworkDestination } from '@svc/kit/net/network-destination.ts';

type Variables = Readonly<Record<string, string | undefined>>;

interface Runner {
  /** The variables that name its registry, the first that is set winning, and the registry without them. */
  readonly named: readonly string[];
  readonly registry: string;
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

/** For a program that cannot reach the registry that it installs from; null for every other. */
export function withoutRegistry(
  program: string,
  env: Variables,
  allow: readonly NetworkDestination[],
): WithoutRegistry | null {
  const runner = runners.get(program);
  if (runner === undefined) return null;
  const given = runner.named.map((name) => env[name]).find((value) => value !== undefined) ?? runner.registry;
  const registry = URL.canParse(given) ? new URL(given) : new URL(runner.registry);
  if (mayReach(allow, registry)) return null;
  const { host } = registry;
  const explanation = `${program} installs from ${host}, which capabilities.network.allow does not list for it: list it, or install the server beforehand`;
  return { env: runner.asksOnce, explain: (said) => (said === '' || said.includes(host) ? explanation : null) };
}

/** A package of a registry, with a version, a range or a tag: no path, no address, no option. */
const packageSpec = /^((?:@[a-z0-9][\w.~-]*\/)?[a-z0-9][\w.~-]*)(?:@([\w.^~<>=-]+))?$/i;
const exactVersion = /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/;

export interface NpxCommand {
  readonly name: string;
  readonly spec: string;
  readonly isExact: boolean;
  /** For the server. */
  readonly args: readonly string[];
}

/** Reads `npx -y <package> <arguments>`; null for any other command. */
export function npxCommand([program, yes, spec = '', ...args]: readonly string[]): NpxCommand | null {
  const [, name, version = ''] = packageSpec.exec(spec) ?? [];
  if (program !== 'npx' || (yes !== '-y' && yes !== '--yes') || name === undefined) return null;
  return { name, spec, isExact: exactVersion.test(version), args };
}
