import { dirname, resolve } from 'node:path';
import { arch, platform } from 'node:process';

import { createDirectLauncher } from '../containment/direct-launcher.ts';
import { effectiveFloor, floorRefusal, type HostContainment } from '../containment/floor.ts';
import type { Launcher } from '../containment/launcher.ts';
import { DiagnosticList, type Diagnostic } from '../diagnostics/diagnostic.ts';
import { Redactor } from '../diagnostics/redactor.ts';
import { lower, type EffectiveGrants } from '../grants/effective-grants.ts';
import { encodeScope, type ScopeObject } from '../grants/scope-object.ts';
import { loadWorkspaceConfig } from '../manifest/config.ts';
import { declaredArtifacts } from '../manifest/declared-artifacts.ts';
import { loadEnvironment } from '../manifest/env-file.ts';
import { loadCapsuleManifest, type LoadedManifest } from '../manifest/load.ts';
import type { Environment } from '../manifest/references.ts';
import type { InstalledArtifact } from '../store/installed-artifact.ts';
import { findPackageRoot } from '../store/package-root.ts';
import { platformOf } from '../store/platform.ts';
import { resolveArtifacts } from '../store/resolve.ts';
import type { ContainmentClass } from '../wire/containment-class.ts';
import { driverConfig } from './driver-config.ts';
import { findInitialTask, type InitialTask } from './initial-task.ts';
import type { RunRequest } from './running-capsule.ts';
import { unavailableParts } from './unavailable-parts.ts';

/** Everything that is decided before a port is bound or anything is written but `svc.lock`. */
export interface PreparedLaunch {
  readonly loaded: LoadedManifest;
  /** The process environment over the `.env` file. */
  readonly env: Environment;
  readonly redactor: Redactor;
  readonly floor: ContainmentClass;
  readonly launcher: Launcher;
  readonly grants: EffectiveGrants;
  readonly scope: ScopeObject;
  readonly initialTask: InitialTask | null;
  readonly driverConfig: Readonly<Record<string, unknown>>;
  readonly artifacts: readonly InstalledArtifact[];
  readonly packageRoot: string;
}

/**
 * Reads the manifest and the configuration, holds the host to the floor, and finds the task and the artifacts, in this order:
 * a refused floor precedes any fetch (D1 "Command line" 2). Throws a Diagnostic or a DiagnosticList.
 */
export async function prepareLaunch(
  request: RunRequest,
  onWarning: (warning: Diagnostic) => void,
): Promise<PreparedLaunch> {
  const file = resolve(request.cwd, request.manifestFile);
  const directory = dirname(file);
  const env = loadEnvironment({ directory, process: request.env, useFile: request.readEnvFile });
  const loaded = loadCapsuleManifest({ file: request.manifestFile, env });
  const workspace = loadWorkspaceConfig({ directory, env });
  const { grants, warnings } = lower(loaded);
  const { manifest } = loaded;
  const launcher = createDirectLauncher();
  const floor = effectiveFloor({
    manifest: manifest.capabilities.containment,
    workspace: workspace.containment,
    flag: request.floor,
  });
  const refusal = floorRefusal(floor, hostContainment(launcher));
  if (refusal !== null) throw refusal;
  const unavailable = unavailableParts(loaded);
  if (unavailable.refusals.length > 0) throw new DiagnosticList(unavailable.refusals);
  const initialTask = findInitialTask({
    flag: request.task,
    cwd: request.cwd,
    manifestDirectory: directory,
    taskAcceptance: manifest.lifecycle.task_acceptance,
  });
  for (const warning of [...loaded.warnings, ...workspace.warnings, ...warnings, ...unavailable.warnings])
    onWarning(warning);
  for (const warning of initialTask?.warnings ?? []) onWarning(warning);
  const packageRoot = findPackageRoot(import.meta.url);
  const redactor = new Redactor();
  if (loaded.apiKey !== undefined) redactor.register(loaded.apiKey);
  return {
    loaded,
    env,
    redactor,
    floor,
    launcher,
    grants,
    scope: scopeOf({ grants, floor, launcher }),
    initialTask,
    driverConfig: driverConfig(loaded),
    packageRoot,
    artifacts: await resolveArtifacts({
      entries: declaredArtifacts(manifest),
      manifestDir: directory,
      userHome: request.home,
      packageRoot,
      platform: platformOf({ platform, arch }),
      sources: [],
      lock: 'hold',
    }),
  };
}

/** Contained processes get no kernel enforcement from this launcher, and the reports say so. */
function hostContainment({ achieved, mechanism }: Launcher): HostContainment {
  return { achieved, mechanism, reason: 'this version enforces nothing in the kernel' };
}

interface ScopeParts {
  readonly grants: EffectiveGrants;
  readonly floor: ContainmentClass;
  readonly launcher: Launcher;
}

function scopeOf({ grants, floor, launcher }: ScopeParts): ScopeObject {
  const { achieved, mechanism } = launcher;
  return encodeScope(grants, { declared: floor, achieved, floorMet: true, mechanism, usernsGrant: 'n/a' });
}
