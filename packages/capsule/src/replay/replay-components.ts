/** Opens the components of a capsule to run their recorded calls again, without files, variables or network. */

import { join } from 'node:path';
import { arch, platform } from 'node:process';

import { lower } from '@svc/artifacts/grants/effective-grants.ts';
import type { ArtifactGrants } from '@svc/artifacts/grants/artifact-grants.ts';
import { declaredArtifacts } from '@svc/artifacts/manifest/declared-artifacts.ts';
import { loadEnvironment } from '@svc/artifacts/manifest/env-file.ts';
import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import { platformOf } from '@svc/artifacts/store/artifact-ref.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { resolveArtifacts } from '@svc/artifacts/store/resolve.ts';
import { createComponentHost } from '@svc/components/component-host.ts';
import type { Component, ComponentGrants } from '@svc/components/component.ts';
import { loggedPlaceholder } from '@svc/components/import-log.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { redactedJson } from '@svc/record/trace/file-trace.ts';
import { createComponentDriver, DriverRequests } from '@svc/session/model/component-driver.ts';
import { createWasmTool } from '@svc/session/tools/wasm-tool.ts';
import { driverConfig } from '../launch/scripted-driver.ts';
import { componentSource } from '../stage/session-components.ts';
import { listenerTokenOf, sessionRedactor } from '../launch/session-secrets.ts';
import type { ReplayedComponents } from './replay-session.ts';

interface ComponentsRequest {
  readonly manifestFile: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Opens the drivers, tools and hooks of a manifest, in the versions of its `svc.lock`, and fetches nothing. They have no directory, no variable and no
 * network: the recording answers each import. Throws the error that refuses a launch when the manifest is not valid, or when an artifact is missing
 * or is not the one of the lock.
 */
export async function openReplayedComponents({
  manifestFile,
  home,
  env,
}: ComponentsRequest): Promise<ReplayedComponents> {
  const packageRoot = findPackageRoot(import.meta.filename);
  const directory = join(manifestFile, '..');
  const variables = loadEnvironment({ directory, process: env, useFile: true });
  const loaded = loadCapsuleManifest({ file: manifestFile, env: variables, purpose: 'inspect' });
  const { inference } = loaded.manifest;
  const artifacts = await resolveArtifacts({
    userHome: home,
    packageRoot,
    platform: platformOf({ platform, arch }),
    sources: async () => [],
    entries: declaredArtifacts(loaded.manifest),
    manifestDir: directory,
    manifestFile,
    lock: 'frozen',
  });
  const { grants } = lower(loaded);
  const { references } = loaded;
  const redactor = await sessionRedactor({
    apiKey: null,
    listenerToken: listenerTokenOf(env),
    grants,
    references,
    env: variables,
    headers: [],
  });
  const redact = (text: string): string => redactor.redact(text);
  const host = createComponentHost({ cacheDir: join(home, '.svc', 'cache'), packageRoot });
  const found = (name: string | undefined, runtime: ArtifactGrants['runtime']): FoundComponent | null => {
    const artifact = artifacts.find(({ entry }) => entry.name === name && entry.runtime === runtime);
    const own = grants.artifacts.find((each) => each.name === name);
    if (artifact === undefined || own === undefined || artifact.manifest.implementation !== 'wasm') return null;
    return {
      artifact,
      deadlineMs: own.deadlineSecs * 1000,
      component: host.open(componentSource(artifact), granted(own)),
    };
  };
  return {
    tool: (name) => {
      const tool = found(name, 'tool');
      return tool === null ? null : createWasmTool({ name, description: '', inputSchema: {}, ...tool });
    },
    hook: (name) => found(name, 'hook'),
    driver: (hasKey) => {
      const driver = found(inference.driver?.artifact, 'driver');
      if (driver === null) return null;
      return createComponentDriver({
        label: driver.artifact.entry.name,
        component: driver.component,
        requests: new DriverRequests(),
        deadlineMs: driver.deadlineMs,
        endpoint: redact((inference.endpoint ?? '').replace(/\/+$/, '')),
        apiKeyPlaceholder: hasKey ? loggedPlaceholder : undefined,
        // The driver reaches nothing, and the recording has no secret. If the driver asks for something else than it did then, the replay reports it.
        config: redactedJson(driverConfig(loaded), redact) as ReturnType<typeof driverConfig>,
        redact: (text) => text,
      });
    },
    close: () => host.close(),
  };
}

interface FoundComponent {
  readonly artifact: InstalledArtifact;
  readonly component: Component;
  readonly deadlineMs: number;
}

/** Grants the memory that a session grants, and nothing else. */
function granted({ maxMemoryBytes }: ArtifactGrants): ComponentGrants {
  return { preopens: [], env: {}, mayReach: () => false, maxMemoryBytes, imports: { kind: 'played' } };
}
