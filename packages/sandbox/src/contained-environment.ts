/** Makes the variables that a contained command starts with, and says by which of them it finds its way to the network. */

import { delimiter, dirname, isAbsolute, join } from 'node:path';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { isBeneath, realPath } from '@svc/kit/files/resolve-beneath.ts';
import { type StoreDirectory, storePlace, type ProcessGrants, type ProjectFolder } from './launch/process-grants.ts';
import type { Enforcement } from './launch/enforcement.ts';

interface EnvironmentSource {
  readonly accessibleWorkdir: string;
  /** Set as `SVC_SESSION_ID`, and authorises nothing (D2 "Environment variables"); absent without a session. */
  readonly sessionId?: string;
  /** What contains the command. */
  readonly achieved: ContainmentClass;
  /** The variables the runtime holds. */
  readonly held: Readonly<Record<string, string | undefined>>;
  /** `capabilities.env.allow`. */
  readonly allow: readonly string[];
  /** None when absent. */
  readonly stores?: readonly StoreDirectory[];
  /** The folder of its session; none when absent. */
  readonly project?: ProjectFolder | undefined;
}

/** The runtime's own, whatever `env.allow` says: the first shows a program that there are stores. */
const stateVariable = 'SVC_STATE';
const sessionVariable = 'SVC_SESSION_ID';
/** The handle of a delegated session is for its runtime: what an agent could say with it would pass for the session's own end. */
const handleVariable = 'SVC_SPAWNER';
const ownVariables: ReadonlySet<string> = new Set(['PATH', stateVariable, sessionVariable, handleVariable]);

const systemPath = ['/usr/local/bin', '/usr/bin', '/bin'].join(delimiter);

/** The home of contained commands, below the workdir. */
export const homeBelow = '.svc/home';

/** The home directory of contained commands, inside the workdir. The one who stages the workdir makes it. */
export function containedHome(accessibleWorkdir: string): string {
  return join(accessibleWorkdir, homeBelow);
}

/** Where contained commands put temporary files when they have no `/tmp` of their own; made with their home, and in it. */
export function containedTemporary(accessibleWorkdir: string): string {
  return join(containedHome(accessibleWorkdir), 'tmp');
}

/** The place of a composed root for temporary files. */
export const temporary = '/tmp';

/** Whether programs may write there: the right to write in a folder is one to read all that is mounted below it. */
export function opensTemporary(project: ProjectFolder | undefined): boolean {
  const around = project?.git?.around ?? null;
  return around === null || !isBeneath(temporary, around);
}

/**
 * The whole environment of a contained command: a baseline, then the allowed variables the runtime holds, which may
 * override it. `PATH`, allowed or not, is the runtime's without entries that are relative or lead into the workdir, where the
 * agent could plant a program under an allowed name. `SVC_STATE` is the directory that has the state stores by their names, and not set
 * for a process without stores.
 */
export function containedEnvironment(source: EnvironmentSource): Readonly<Record<string, string>> {
  const { accessibleWorkdir, sessionId, achieved, held, allow, stores = [], project } = source;
  const environment: Record<string, string> = {
    PATH: searchPathOutside(held.PATH ?? '', [accessibleWorkdir]),
    HOME: containedHome(accessibleWorkdir),
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    ...(sessionId === undefined ? {} : { [sessionVariable]: sessionId }),
    // A composed root has a `/tmp` that ends with the call; the host's is not the agent's to fill.
    TMPDIR: achieved === 'sealed' && opensTemporary(project) ? temporary : containedTemporary(accessibleWorkdir),
  };
  for (const name of allow) {
    const value = Object.hasOwn(held, name) ? held[name] : undefined;
    if (value !== undefined && !ownVariables.has(name)) environment[name] = value;
  }
  const [store] = stores;
  if (store !== undefined) {
    const place = achieved === 'sealed' ? storePlace(store, accessibleWorkdir) : store.path;
    environment[stateVariable] = dirname(place);
  }
  return environment;
}

/** A search path without entries that are relative or lead into one of these places; that of any system where nothing else is left. */
export function searchPathOutside(heldPath: string, places: readonly string[]): string {
  const leadsInside = (entry: string): boolean => {
    const real = places.length === 0 ? entry : realPath(entry);
    return places.some((place) => isBeneath(place, entry) || isBeneath(place, real));
  };
  const kept = heldPath.split(delimiter).filter((entry) => isAbsolute(entry) && !leadsInside(entry));
  return kept.length === 0 ? systemPath : kept.join(delimiter);
}

const thisMachine = /^(?:localhost$|127\.|\[?::1)/;
const proxyNames = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];

/**
 * What a process must know of its network. Where the class enforces the allow-list, the proxy is the only way out (docs/adr/manifest-and-grants.md "The way
 * out of a sealed network"). Where it does not, names are looked up over TCP, since no class lets datagrams through.
 */
export function networkVariables(
  { bound, ...grants }: Pick<ProcessGrants, 'networkAllow' | 'asksHosts' | 'bound'>,
  enforcement: Enforcement['class'],
): Readonly<Record<string, string>> {
  if (!reachesHosts(grants)) return {};
  if (enforcement !== 'sealed') return { RES_OPTIONS: 'use-vc' };
  const proxy = `http://127.0.0.1:${egressPortOf({ bound })}`;
  const named = (names: readonly string[], value: string): object =>
    Object.fromEntries(names.flatMap((name) => [name, name.toLowerCase()]).map((name) => [name, value]));
  // A command reaches a server that it starts itself in its own network, and nobody is asked about that.
  const isOwn = grants.asksHosts === true && !grants.networkAllow.some(({ host }) => thisMachine.test(host));
  const exempt = isOwn ? named(['NO_PROXY'], 'localhost,127.0.0.1,::1') : {};
  return { ...named(proxyNames, proxy), ...exempt, ...bound?.variables };
}

/** Whether a process has a way to hosts: to those of its grants, or to those that it asks for. */
export function reachesHosts({ networkAllow, asksHosts }: Pick<ProcessGrants, 'networkAllow' | 'asksHosts'>): boolean {
  return networkAllow.length > 0 || asksHosts === true;
}

/** Whether a process connects to anything: a host, or the runtime. */
export function connects(grants: Pick<ProcessGrants, 'networkAllow' | 'asksHosts' | 'servicePort'>): boolean {
  return reachesHosts(grants) || grants.servicePort !== undefined;
}

/** Where contained programs find the egress proxy, inside their own network namespace. */
export const egressPort = 3128;

/** The same for programs that also find hosts there by their names. */
export function egressPortOf({ bound }: { readonly bound?: ProcessGrants['bound'] | undefined }): number {
  return bound?.port ?? egressPort;
}

/**
 * `host:port` at which a contained process finds a port of this host's loopback that its grants name as the runtime's own. In a
 * network of its own that is the address of the proxy, which leads there.
 */
export function serviceAddress(
  servicePort: number,
  achieved: ContainmentClass,
  grants: Pick<ProcessGrants, 'bound'> = {},
): string {
  return `127.0.0.1:${achieved === 'sealed' ? egressPortOf(grants) : servicePort}`;
}
