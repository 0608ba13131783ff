import { arch, platform } from 'node:process';

import { noContainment, type Containment } from '../containment/containment.ts';
import { effectiveFloor, floorRefusal, parseCeiling, underCeiling } from '../containment/floor.ts';
import { DiagnosticList, type Diagnostic } from '../diagnostics/diagnostic.ts';
import { Redactor } from '../diagnostics/redactor.ts';
import { Secret } from '../diagnostics/secret.ts';
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
import { findCapsule, type CapsuleSource } from './capsule-source.ts';
import { driverConfig } from './driver-config.ts';
import { findInitialTask, type InitialTask } from './initial-task.ts';
import type { RunRequest } from './running-capsule.ts';
import { unavailableParts } from './unavailable-parts.ts';

/** Everything that is decided before a port is bound or anything is written but `svc.lock`. */
export interface PreparedLaunch {
  readonly source: CapsuleSource;
  readonly loaded: LoadedManifest;
  /** The process environment over the `.env` file. */
  readonly env: Environment;
  readonly redactor: Redactor;
  readonly listenerToken: Secret | null;
  readonly containment: Containment;
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
  const packageRoot = findPackageRoot(import.meta.url);
  const places = { userHome: request.home, packageRoot, platform: platformOf({ platform, arch }), sources: [] };
  const source = await findCapsule(request, { ...places, manifestDir: request.cwd });
  const env = loadEnvironment({ directory: source.root, process: request.env, useFile: request.readEnvFile });
  const loaded = loadCapsuleManifest({ file: source.manifestFile, env });
  const workspace = loadWorkspaceConfig({ directory: source.root, env });
  const { grants, warnings } = lower(loaded);
  const containment = noContainment('this version enforces nothing in the kernel');
  const scope = heldToFloor(request, { grants, containment, workspaceFloor: workspace.containment });
  const unavailable = unavailableParts(loaded);
  if (unavailable.refusals.length > 0) throw new DiagnosticList(unavailable.refusals);
  const initialTask = findInitialTask({
    flag: request.task,
    cwd: request.cwd,
    manifestDirectory: source.manifestDirectory,
    taskAcceptance: loaded.manifest.lifecycle.task_acceptance,
  });
  const all = [loaded.warnings, workspace.warnings, warnings, unavailable.warnings, initialTask?.warnings ?? []];
  for (const warning of all.flat()) onWarning(warning);
  const listenerToken = tokenOf(request.env);
  return {
    source,
    loaded,
    env,
    redactor: redactorOf(loaded.apiKey ?? null, listenerToken),
    listenerToken,
    containment,
    grants,
    scope,
    initialTask,
    driverConfig: driverConfig(loaded),
    packageRoot,
    artifacts: await resolveArtifacts({
      ...places,
      entries: declaredArtifacts(loaded.manifest),
      manifestDir: source.manifestDirectory,
      lock: 'hold',
    }),
  };
}

interface FloorParts {
  readonly grants: EffectiveGrants;
  readonly containment: Containment;
  readonly workspaceFloor: ContainmentClass | undefined;
}

/** The scope of a session whose floor the host meets; else throws `E-CAP-003` (D1 "Command line" 1 and 2). */
function heldToFloor(
  { env, floor: flag }: RunRequest,
  { grants, containment, workspaceFloor }: FloorParts,
): ScopeObject {
  const manifest = grants.containmentFloor ?? undefined;
  const floor = effectiveFloor({ manifest, workspace: workspaceFloor, flag });
  const achieved = underCeiling(containment.achieved, parseCeiling(env['SVC_CONTAINMENT_CEILING']));
  const { mechanism, reason, usernsGrant } = containment;
  const refusal = floorRefusal(floor, { achieved, mechanism, reason: reason ?? '' });
  if (refusal !== null) throw refusal;
  return encodeScope(grants, { declared: floor, achieved, floorMet: true, mechanism, usernsGrant });
}

function tokenOf(env: RunRequest['env']): Secret | null {
  const token = env['SVC_LISTENER_TOKEN'] ?? '';
  return token === '' ? null : new Secret(token);
}

function redactorOf(...secrets: readonly (Secret | null)[]): Redactor {
  const redactor = new Redactor();
  for (const secret of secrets) if (secret !== null) redactor.register(secret);
  return redactor;
}
