/** What a manifest means where it says nothing: read at every start, without the schema. */

import { bundledDrivers, bundledVersion } from './names.ts';
import type { ArtifactEntry, CapsuleManifest } from './schema.ts';

const gibibyte = 1024 ** 3;

/** What a capsule may use of its machine that declares no `capabilities.resources`; sizes in bytes, times in seconds (docs/manifest.md "Keys"). */
export const defaultResources = {
  processes: 128,
  open_files: 1024,
  file_size: 4 * gibibyte,
  cpu: 3600,
  memory: 2 * gibibyte,
  workdir_max_bytes: 10 * gibibyte,
} as const;

/**
 * Every artifact a capsule runs with: the entries of `artifacts`, and the bundled driver when `inference.driver.artifact` names
 * one that has no entry. These are what has to be installed.
 */
export function declaredArtifacts({ artifacts, inference }: CapsuleManifest): readonly ArtifactEntry[] {
  const driver = inference.transport === 'http' ? inference.driver?.artifact : undefined;
  const isListed = artifacts.some(({ name }) => name === driver);
  if (driver === undefined || isListed || !(bundledDrivers as readonly string[]).includes(driver)) return artifacts;
  return [...artifacts, { name: driver, version: bundledVersion, runtime: 'driver' }];
}
