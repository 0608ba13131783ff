import { bundledDrivers, bundledVersion } from '../manifest/names.ts';
import type { ArtifactEntry, CapsuleManifest } from '../manifest/schema.ts';

/** The artifacts a capsule needs: those it lists, and the bundled driver that it may name without listing it (contracts §2). */
export function requiredEntries(manifest: CapsuleManifest): readonly ArtifactEntry[] {
  const { artifacts, inference } = manifest;
  const driver = inference.transport === 'http' ? inference.driver?.artifact : undefined;
  const isListed = artifacts.some((entry) => entry.name === driver);
  if (driver === undefined || isListed || !(bundledDrivers as readonly string[]).includes(driver)) return artifacts;
  return [...artifacts, { name: driver, version: bundledVersion, runtime: 'driver' }];
}
