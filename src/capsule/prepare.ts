import { arch, platform } from 'node:process';

import { DiagnosticList, type Diagnostic } from '../diagnostics/diagnostic.ts';
import { declaredArtifacts } from '../manifest/declared-artifacts.ts';
import type { InstalledArtifact } from '../store/installed-artifact.ts';
import { findPackageRoot } from '../store/package-root.ts';
import { platformOf } from '../store/platform.ts';
import { resolveArtifacts } from '../store/resolve.ts';
import { checkHooks } from './declared-hooks.ts';
import { driverConfig } from './driver-config.ts';
import { findInitialTask, type InitialTask } from './initial-task.ts';
import type { RunRequest } from './running-capsule.ts';
import { scopeOfLaunch, type LaunchScope } from './scope-of-launch.ts';

/** Everything that is decided before a port is bound or anything is written but `svc.lock`. */
export interface PreparedLaunch extends Omit<LaunchScope, 'refusals' | 'warnings'> {
  readonly initialTask: InitialTask | null;
  readonly driverConfig: Readonly<Record<string, unknown>>;
  readonly artifacts: readonly InstalledArtifact[];
  readonly packageRoot: string;
}

/**
 * Decides the scope, holds the host to the floor, and finds the task and the artifacts, in this order: a refused floor precedes
 * any fetch (D1 "Command line" 2). Throws a Diagnostic or a DiagnosticList.
 */
export async function prepareLaunch(
  request: RunRequest,
  onWarning: (warning: Diagnostic) => void,
): Promise<PreparedLaunch> {
  const packageRoot = findPackageRoot(import.meta.url);
  const { sources, fetchObserver } = request;
  const places = {
    userHome: request.home,
    packageRoot,
    platform: platformOf({ platform, arch }),
    sources,
    ...(fetchObserver === null ? {} : { fetching: { observer: fetchObserver } }),
  };
  const { refusals, warnings, ...launch } = await scopeOfLaunch(request, places);
  for (const warning of warnings) onWarning(warning);
  if (refusals.length > 0) throw new DiagnosticList(refusals);
  const { loaded, source } = launch;
  const initialTask = findInitialTask({
    flag: request.task,
    cwd: request.cwd,
    manifestDirectory: source.manifestDirectory,
    taskAcceptance: loaded.manifest.lifecycle.task_acceptance,
  });
  for (const warning of initialTask?.warnings ?? []) onWarning(warning);
  const artifacts = await resolveArtifacts({
    ...places,
    entries: declaredArtifacts(loaded.manifest),
    manifestDir: source.manifestDirectory,
    lock: 'hold',
  });
  for (const warning of checkHooks(loaded, artifacts)) onWarning(warning);
  return {
    ...launch,
    initialTask,
    driverConfig: driverConfig(loaded),
    packageRoot,
    artifacts,
  };
}
