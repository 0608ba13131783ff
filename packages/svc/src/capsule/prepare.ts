import { arch, platform } from 'node:process';

import { DiagnosticList, type Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { declaredArtifacts } from '@svc/artifacts/manifest/schema.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import type { StorePlaces } from '@svc/artifacts/store/locate.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { platformOf } from '@svc/artifacts/store/artifact-ref.ts';
import { resolveArtifacts } from '@svc/artifacts/store/resolve.ts';
import { checkHooks } from './declared-hooks.ts';
import { driverConfig } from './driver-config.ts';
import { findInitialTask, type InitialTask } from './initial-task.ts';
import type { RunRequest } from './running-capsule.ts';
import { scopeOfLaunch, type LaunchScope } from './scope-of-launch.ts';
import { weakPrograms } from './weak-programs.ts';

/** What is known of a launch that nothing refuses so far. */
export interface ScopedLaunch extends Omit<LaunchScope, 'refusals' | 'warnings'> {
  readonly initialTask: InitialTask | null;
  /** Where artifacts are looked for. */
  readonly places: Omit<StorePlaces, 'manifestDir'>;
}

/** Everything that is decided before a port is bound or anything is written but `svc.lock`. */
export interface PreparedLaunch extends ScopedLaunch {
  readonly driverConfig: Readonly<Record<string, unknown>>;
  readonly artifacts: readonly InstalledArtifact[];
  readonly packageRoot: string;
}

/** Decides the scope, holds the host to the floor and finds the task, in this order. Throws a Diagnostic or a DiagnosticList. */
export async function scopeLaunch(
  request: RunRequest,
  onWarning: (warning: Diagnostic) => void,
): Promise<ScopedLaunch> {
  const { sources, fetchObserver } = request;
  const places = {
    userHome: request.home,
    packageRoot: findPackageRoot(import.meta.filename),
    platform: platformOf({ platform, arch }),
    sources,
    ...(fetchObserver === null ? {} : { fetching: { observer: fetchObserver } }),
  };
  const { refusals, warnings, ...launch } = await scopeOfLaunch(request, places);
  for (const warning of warnings) onWarning(warning);
  if (refusals.length > 0) throw new DiagnosticList(refusals);
  const { loaded, source } = launch;
  const initialTask = await findInitialTask({
    flag: request.task,
    readInput: request.readTask,
    cwd: request.cwd,
    manifestDirectory: source.manifestDirectory,
    taskAcceptance: loaded.manifest.lifecycle.task_acceptance,
    isDelegated: request.approval !== null,
  });
  for (const warning of initialTask?.warnings ?? []) onWarning(warning);
  return { ...launch, initialTask, places };
}

/** Finds the artifacts, after the scope is decided: a refused floor precedes any fetch (D1 "Command line" 2). */
export async function prepareLaunch(
  scoped: ScopedLaunch,
  onWarning: (warning: Diagnostic) => void,
): Promise<PreparedLaunch> {
  const { loaded, source, places } = scoped;
  const artifacts = await resolveArtifacts({
    ...places,
    entries: declaredArtifacts(loaded.manifest),
    manifestDir: source.manifestDirectory,
    manifestFile: source.manifestFile,
    lock: 'hold',
  });
  for (const warning of checkHooks(loaded, artifacts)) onWarning(warning);
  const weak = weakPrograms(loaded, artifacts, scoped.containment);
  if (weak !== null) onWarning(weak);
  return { ...scoped, driverConfig: driverConfig(loaded), packageRoot: places.packageRoot, artifacts };
}
