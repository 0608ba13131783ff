/** Opens the WebAssembly components of a session. */

import type { ArtifactGrants } from '@svc/artifacts/grants/artifact-grants.ts';
import { type bundledDrivers, isBundledDriver } from '@svc/artifacts/manifest/names.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import type { ComponentHost } from '@svc/components/component-host.ts';
import type { Component, ComponentGrants, Preopen } from '@svc/components/component.ts';
import type { ImportMode } from '@svc/components/import-log.ts';
import { mayReach, formatDestination } from '@svc/kit/net/network-destination.ts';
import type { ProxyFor } from '@svc/kit/net/proxy.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { openScopeDirectory, openStateStore } from '@svc/record/sessions/session-directories.ts';
import { statePath } from '@svc/sandbox/launch/process-grants.ts';
import type { GivenProject } from '../launch/running-capsule.ts';
import { isTelemetryVariable } from '../launch/telemetry-variables.ts';
import type { LateGrantUsage } from './late-grant-usage.ts';
import type { SessionSkills } from './session-skills.ts';
import type { SessionKeys } from './session-keys.ts';

interface SessionComponentsDeps {
  readonly host: ComponentHost;
  /** The accessible workdir, links resolved. */
  readonly workdir: string;
  /** The user's, with the state stores below it. */
  readonly home: string;
  /** The variables that `svc run` holds. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Shown to tools; null, or absent, without any whose folder holds `SKILL.md`. */
  readonly skills?: Pick<SessionSkills, 'scope' | 'preopen'> | null;
  /** Seen by tools that see the workdir, or itself the workdir; null when no project is given. */
  readonly project: GivenProject | null;
  /** The proxy of a request; null where all go straight. */
  readonly proxyFor: ProxyFor | null;
  /** What is put into their requests, and held of them; null where no host is granted with more than its name. */
  readonly keys: SessionKeys | null;
  /** Where their imports get their answers. */
  readonly imports: ImportMode;
  /** The tools whose changes of files are decided by rules of paths. */
  readonly decided: ReadonlySet<string>;
  /** Sees what they do with their grants. */
  readonly grantUsage: LateGrantUsage;
}

/**
 * What a driver's component gets beside its grants: its endpoint, and the key that only requests there carry (docs/adr/components.md "The key does not come
 * back").
 */
type DriverExtras = Pick<ComponentGrants, 'credential' | 'onExchange'> & {
  /** The one place a driver may always reach. */
  readonly endpoint: EndpointGrant | null;
};

type ComponentSource = Parameters<ComponentHost['open']>[0];

type EndpointGrant = Parameters<typeof formatDestination>[0];

/** Where the host finds the component of an artifact. */
export function componentSource(artifact: InstalledArtifact): ComponentSource {
  return {
    name: artifact.entry.name,
    wasm: () => artifact.read('component.wasm'),
    // The store has held the bytes to the hash of their archive.
    sha256: null,
    ...(artifact.compiledDir === null ? {} : { precompiledDir: artifact.compiledDir }),
    ...ownCodeOf(artifact),
  };
}

/** The bundled drivers are part of this program, and run in it. */
const ownCode: Readonly<Record<(typeof bundledDrivers)[number], NonNullable<ComponentSource['code']>>> = {
  'svc-driver-openai': async () => (await import('@svc/guest/provider/chat/chat-driver.ts')).openDriver(),
  'svc-driver-anthropic': async () => (await import('@svc/guest/provider/messages/messages-driver.ts')).openDriver(),
  'svc-driver-script': async () => (await import('@svc/guest/provider/script/script-driver.ts')).openDriver(),
};

function ownCodeOf({ origin, entry }: InstalledArtifact): Pick<ComponentSource, 'code'> {
  return origin === 'bundled' && isBundledDriver(entry.name) ? { code: ownCode[entry.name] } : {};
}

/** The components of one session, each under the grants of its artifact. */
export class SessionComponents {
  readonly #deps: SessionComponentsDeps;
  readonly #components = new Map<Component, readonly Preopen[]>();
  readonly #scopes: HeldDirectory[] = [];

  constructor(deps: SessionComponentsDeps) {
    this.#deps = deps;
  }

  /** Reads, compiles and starts nothing yet. */
  open(artifact: InstalledArtifact, own: ArtifactGrants, extras: DriverExtras = { endpoint: null }): Component {
    const { endpoint, ...ofDriver } = extras;
    const preopens = [...this.#scopeOf(own), ...this.#storesOf(own)];
    const component = this.#deps.host.open(componentSource(artifact), {
      preopens,
      env: this.#variablesOf(own),
      mayReach: (url) => mayReach(own.networkAllow, url) || (endpoint !== null && mayReach([endpoint], url)),
      ...(endpoint === null ? {} : { endpointOrigin: formatDestination(endpoint) }),
      ...this.#boundFor(artifact.entry.name),
      ...(this.#deps.proxyFor === null ? {} : { proxyFor: this.#deps.proxyFor }),
      maxMemoryBytes: own.maxMemoryBytes,
      // A driver notes there that it waits (docs/drivers.md "Notes").
      tellsOutput: own.runtime === 'hook' || own.runtime === 'driver',
      imports: this.#deps.imports,
      asksChanges: own.runtime === 'tool' && this.#deps.decided.has(artifact.entry.name),
      ...this.#deps.grantUsage.ofComponent(artifact.entry.name),
      ...ofDriver,
    });
    this.#components.set(component, preopens);
    return component;
  }

  /** The directories that one of them sees. */
  preopensOf(component: Component): readonly Preopen[] {
    return this.#components.get(component) ?? [];
  }

  async close(): Promise<void> {
    await Promise.all([...this.#components.keys()].map((component) => component.close()));
    for (const scope of this.#scopes) scope.close();
  }

  /** A component sees its scope as `/`. */
  #scopeOf({ preopen, runtime, seesProject }: ArtifactGrants): readonly Preopen[] {
    if (preopen === null) return [];
    const directory = openScopeDirectory(this.#deps.workdir, preopen.scope);
    this.#scopes.push(directory);
    const { project, skills } = this.#deps;
    const shown = runtime === 'tool' && skills?.scope === preopen.scope ? [skills.preopen] : [];
    const place = { guestPath: '/', hostPath: directory.path, writable: preopen.writable, ...project?.mask(preopen) };
    const isGiven = seesProject || (runtime === 'tool' && project?.grant.project?.isWorkdir === true);
    return [place, ...(isGiven ? (project?.preopens(preopen, this.#scopes) ?? []) : []), ...shown];
  }

  /** Each state store is `/state/<store>`: a path below it is looked up there and not in `/`. */
  #storesOf({ stateStores }: ArtifactGrants): readonly Preopen[] {
    return stateStores.map((store) => {
      const directory = openStateStore(this.#deps.home, store);
      this.#scopes.push(directory);
      return { guestPath: statePath(store), hostPath: directory.path, writable: true };
    });
  }

  #boundFor(subject: string): Pick<ComponentGrants, 'bound'> {
    const { keys } = this.#deps;
    return keys === null ? {} : { bound: keys.hostsFor(subject) };
  }

  #variablesOf({ name: subject, envAllow }: ArtifactGrants): Readonly<Record<string, string>> {
    const { keys } = this.#deps;
    const held = envAllow.flatMap((name) => {
      // The handle of a delegated session is for its runtime alone, and so is what telemetry is configured with.
      const isOwn = name === 'SVC_SPAWNER' || isTelemetryVariable(name);
      const { env } = this.#deps;
      const value = isOwn || !Object.hasOwn(env, name) ? undefined : env[name];
      return value === undefined || keys?.isIn(value) === true ? [] : [[name, value] as const];
    });
    return { ...Object.fromEntries(held), ...keys?.variablesFor(subject) };
  }
}
