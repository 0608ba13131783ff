/** Lists the artifacts that a capsule runs with, also the bundled driver, which a manifest need not list. Few starts load the schema, so this stands apart from it. */

import { bundledVersion, isBundledDriver } from './names.ts';
import type { ArtifactEntry, CapsuleManifest } from './schema.ts';

/**
 * Every artifact a capsule runs with: the entries of `artifacts`, and the bundled driver when `inference.driver.artifact` names
 * one that has no entry. These are what has to be installed.
 */
export function declaredArtifacts({ artifacts, inference }: CapsuleManifest): readonly ArtifactEntry[] {
  const driver = inference.transport === 'http' ? inference.driver?.artifact : undefined;
  const isListed = artifacts.some(({ name }) => name === driver);
  if (driver === undefined || isListed || !isBundledDriver(driver)) return artifacts;
  return [...artifacts, { name: driver, version: bundledVersion, runtime: 'driver' }];
}
