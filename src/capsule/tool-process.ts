import type { Launcher } from '../containment/launcher.ts';
import type { ArtifactGrants } from '../grants/artifact-grants.ts';
import { toolProcesses } from './process-grants.ts';
import type { StageParts } from './stage-parts.ts';

/** How the program of a tool is started: contained by the grants of its artifact, and told where its state stores are. */
export function toolProcess(
  { launch, processes }: StageParts,
  own: ArtifactGrants,
): { readonly launcher: Launcher; readonly env: Readonly<Record<string, string>> } {
  const stores = processes.openStores(own.stateStores);
  return {
    launcher: processes.launcher(toolProcesses(own, launch.grants, stores)),
    env: processes.environment(own.envAllow, stores),
  };
}
