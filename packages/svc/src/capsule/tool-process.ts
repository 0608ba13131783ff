import { statSync } from 'node:fs';

import type { Launcher } from '@svc/sandbox/launcher.ts';
import type { ArtifactGrants } from '@svc/artifacts/grants/artifact-grants.ts';
import { toolProcesses } from './process-grants.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { hiddenIn, operatorFiles, type OperatorCommand } from './operator-files.ts';
import type { StageParts } from './stage-parts.ts';

/** Names what the last words of a program tell of that is hidden from it; null when there is nothing of the kind. */
export type HiddenIn = (said: string) => string | null;

/**
 * The files that the words of an artifact's command name, and what is hidden from its program. Only what the operator named himself is opened: files in
 * the directory that is the `source:` of the artifact. An archive brings its own along, and
 * its program learns nothing of what lies beside it.
 */
export function namedFiles(
  { origin, location, manifest }: InstalledArtifact,
  { launch, processes, directories }: StageParts,
): OperatorCommand & { readonly hiddenIn: HiddenIn } {
  const { directory: manifestDirectory } = launch.loaded;
  const places = { manifestDirectory, home: processes.home, workdir: directories.workdir };
  const words = manifest.command ?? [];
  const isInPlace = origin === 'source' && statSync(location, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isInPlace) return { words, reads: [], hiddenIn: () => null };
  const own = { ...places, artifactDirectory: location };
  const named = operatorFiles(words, own);
  const hidesNothing = launch.scope.containment.achieved === 'advisory';
  return { ...named, hiddenIn: (said) => (hidesNothing ? null : hiddenIn(said, named.reads, own)) };
}

/**
 * How the program of a tool is started: contained by the grants of its artifact, and told where its state stores are. `reads` are files of the host
 * that it may read besides.
 */
export function toolProcess(
  { launch, processes }: StageParts,
  own: ArtifactGrants,
  reads: readonly string[] = [],
): { readonly launcher: Launcher; readonly env: Readonly<Record<string, string>> } {
  const stores = processes.openStores(own.stateStores);
  return {
    launcher: processes.launcher({ ...toolProcesses(own, launch.grants, stores), reads }),
    env: processes.environment(own.envAllow, stores),
  };
}
