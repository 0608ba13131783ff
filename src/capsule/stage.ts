import { randomBytes } from 'node:crypto';
import { join, relative } from 'node:path';

import type { ComponentHost } from '../components/component-host.ts';
import type { Component, Preopen } from '../components/component.ts';
import type { SessionContainment } from '../containment/containment.ts';
import { containedEnvironment, containedTemporary } from '../containment/contained-environment.ts';
import type { ProcessGrants } from '../containment/launch/process-grants.ts';
import type { Launcher } from '../containment/launcher.ts';
import { diagnosticOf } from '../diagnostics/diagnostic.ts';
import type { ArtifactGrants } from '../grants/artifact-grants.ts';
import { mayReach } from '../grants/network-coverage.ts';
import { createComponentDriver } from '../inference/component-driver.ts';
import type { Driver } from '../inference/driver.ts';
import { createProcessDriver } from '../inference/process-driver.ts';
import { formatDestination } from '../manifest/network-destination.ts';
import type { InstalledArtifact } from '../store/installed-artifact.ts';
import { stageNative } from '../store/stage-native.ts';
import { createNativeTool } from '../tools/native-tool.ts';
import { createShellTools } from '../tools/shell-tool.ts';
import { createSkillTool } from '../tools/skill-tool.ts';
import type { Tool } from '../tools/tool.ts';
import { createWasmTool } from '../tools/wasm-tool.ts';
import type { PreparedLaunch } from './prepare.ts';
import { capsuleProcesses, toolProcesses } from './process-grants.ts';
import { makePrivateDirectory, openScopeDirectory, type ScopeDirectory } from './scope-directory.ts';
import type { SessionDirectories } from './session-directories.ts';

export interface StageRequest {
  readonly launch: PreparedLaunch;
  readonly directories: SessionDirectories;
  readonly host: ComponentHost;
}

/** What a session runs with. */
export interface StagedSession {
  readonly tools: readonly Tool[];
  readonly driver: Driver;
  readonly close: () => Promise<void>;
}

/** What the agent loop calls, from the artifacts, the shell grants and the driver of a capsule. Compiles and starts nothing. */
export async function stageSession(request: StageRequest): Promise<StagedSession> {
  const { launch, directories } = request;
  makeHome(directories);
  const stage = new Stage(request);
  const environment = stage.environmentOf(launch.grants.envAllow);
  const tools: Tool[] = [];
  for (const artifact of launch.artifacts) tools.push(...(await stage.toolsOf(artifact)));
  const { shellAllow } = launch.grants;
  const launcher = stage.launcher(capsuleProcesses(launch.grants));
  const shell = { launcher, env: environment, sessionDirectory: directories.session };
  const driver = await stage.driver();
  return {
    tools: [...tools, ...createShellTools(shellAllow, shell)],
    driver,
    close: async () => {
      await driver.close();
      await stage.close();
    },
  };
}

/** The home of contained programs, with its place for temporary files. */
function makeHome({ workdir }: SessionDirectories): void {
  makePrivateDirectory(workdir, relative(workdir, containedTemporary(workdir)));
}

class Stage {
  readonly #launch: PreparedLaunch;
  readonly #directories: SessionDirectories;
  readonly #host: ComponentHost;
  readonly #components: Component[] = [];
  readonly #scopes: ScopeDirectory[] = [];
  readonly #containment: SessionContainment;

  constructor({ launch, directories, host }: StageRequest) {
    this.#launch = launch;
    this.#directories = directories;
    this.#host = host;
    const { workdir, session: privateDirectory } = directories;
    this.#containment = launch.containment.open({ workdir, privateDirectory });
  }

  async toolsOf(artifact: InstalledArtifact): Promise<readonly Tool[]> {
    const { name, description, input_schema: inputSchema = anyObject } = artifact.manifest;
    if (artifact.entry.runtime === 'skill') {
      return [createSkillTool({ name, description, text: artifact.skillText ?? '' })];
    }
    if (artifact.entry.runtime !== 'tool') return [];
    const grants = this.#grantsOf(name);
    const deadlineMs = grants.deadlineSecs * 1000;
    if (artifact.manifest.implementation === 'wasm') {
      return [createWasmTool({ name, description, inputSchema, component: this.#component(artifact), deadlineMs })];
    }
    const program = await stageNative(artifact, join(this.#directories.session, 'tools'));
    const launcher = this.launcher(toolProcesses(grants, this.#launch.grants));
    const place = { launcher, program, env: this.environmentOf(grants.envAllow) };
    return [createNativeTool({ name, description, inputSchema, deadlineMs, ...place })];
  }

  async driver(): Promise<Driver> {
    const { artifacts, grants, loaded } = this.#launch;
    const { inference } = loaded.manifest;
    const redact = (text: string): string => this.#launch.redactor.redact(text);
    if (inference.transport === 'process') {
      const place = {
        manifestDirectory: loaded.directory,
        launcher: this.launcher(capsuleProcesses(grants)),
        env: this.environmentOf(grants.envAllow),
      };
      return createProcessDriver({ command: inference.command ?? '', redact, ...place });
    }
    const artifact = artifacts.find(({ entry }) => entry.name === inference.driver?.artifact);
    if (artifact === undefined) throw new Error('the manifest was checked to name a driver it lists');
    const driverGrants = this.#grantsOf(artifact.entry.name);
    const placeholder = loaded.apiKey === undefined ? null : `svc-key-${randomBytes(16).toString('hex')}`;
    return createComponentDriver({
      label: artifact.entry.name,
      component: this.#component(artifact, placeholder),
      deadlineMs: driverGrants.deadlineSecs * 1000,
      endpoint: (inference.endpoint ?? '').replace(/\/+$/, ''),
      apiKeyPlaceholder: placeholder ?? undefined,
      config: this.#launch.driverConfig,
      redact,
    });
  }

  /** The door for processes with these grants; their scope is made when it is not there. */
  launcher(grants: ProcessGrants): Launcher {
    openScopeDirectory(this.#directories.workdir, grants.scope).close();
    const contained = this.#containment.launcher(grants);
    return {
      ...contained,
      launch: async (request) => {
        // A command may have removed it, with everything else that git does not know.
        const lost = diagnosticOf(() => makeHome(this.#directories));
        return lost === null ? await contained.launch(request) : { kind: 'refused', reason: lost.message };
      },
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#components.map((component) => component.close()));
    await this.#containment.close();
    for (const scope of this.#scopes) scope.close();
  }

  /** The origin of `inference.endpoint` is the driver's own, and the only one that gets the key (contracts §4). */
  #component(artifact: InstalledArtifact, placeholder: string | null = null): Component {
    const { grants, loaded } = this.#launch;
    const own = this.#grantsOf(artifact.entry.name);
    const { endpoint } = grants;
    const isDriver = artifact.entry.runtime === 'driver';
    const credential =
      placeholder === null || loaded.apiKey === undefined || loaded.manifest.inference.endpoint === undefined
        ? {}
        : {
            credential: {
              origin: new URL(loaded.manifest.inference.endpoint).origin,
              placeholder,
              secret: loaded.apiKey,
            },
          };
    const component = this.#host.open(
      {
        name: artifact.entry.name,
        wasm: () => artifact.read('component.wasm'),
        // The store has held the bytes to the hash of their archive.
        sha256: null,
        ...(artifact.compiledDir === null ? {} : { precompiledDir: artifact.compiledDir }),
      },
      {
        preopens: this.#preopensOf(own),
        env: this.#variablesOf(own),
        mayReach: (url) =>
          mayReach(own.networkAllow, url) || (isDriver && endpoint !== null && mayReach([endpoint], url)),
        ...(isDriver && endpoint !== null ? { endpointOrigin: formatDestination(endpoint) } : {}),
        maxMemoryBytes: own.maxMemoryBytes,
        ...credential,
      },
    );
    this.#components.push(component);
    return component;
  }

  /** A component sees its scope as `/`. */
  #preopensOf({ preopen }: ArtifactGrants): readonly Preopen[] {
    if (preopen === null) return [];
    const directory = openScopeDirectory(this.#directories.workdir, preopen.scope);
    this.#scopes.push(directory);
    return [{ guestPath: '/', hostPath: directory.path, writable: preopen.writable }];
  }

  #grantsOf(name: string): ArtifactGrants {
    const grants = this.#launch.grants.artifacts.find((each) => each.name === name);
    if (grants === undefined) throw new Error(`${name} was not lowered`);
    return grants;
  }

  /** Of a program, with these variables of the runtime's. */
  environmentOf(allow: readonly string[]): Readonly<Record<string, string>> {
    const { workdir: accessibleWorkdir } = this.#directories;
    const { containment, env } = this.#launch;
    return containedEnvironment({ accessibleWorkdir, achieved: containment.achieved, held: env, allow });
  }

  #variablesOf({ envAllow }: ArtifactGrants): Readonly<Record<string, string>> {
    const held = envAllow.flatMap((name) => {
      const value = this.#launch.env[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    return Object.fromEntries(held);
  }
}

const anyObject = { type: 'object' } as const;
