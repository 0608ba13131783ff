/** Refuses a run whose artifacts come from their folders, which no install has looked at, and need what components do not get. */

import { componentFile, requiredFile } from '@svc/artifacts/store/inspect-content.ts';
import type { FoundArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { checkInterfaces, userCompileCache } from '@svc/components/compiler/compile-ahead.ts';

/** `E-ART-016` for the first component that needs interfaces which this `svc` does not have. */
export async function checkSourced(
  artifacts: readonly FoundArtifact[],
  places: Parameters<typeof userCompileCache>[0],
): Promise<void> {
  const cache = userCompileCache(places);
  for (const artifact of artifacts) {
    const { manifest } = artifact;
    if (requiredFile(manifest) !== componentFile) continue;
    await checkInterfaces({ name: manifest.name, wasm: await artifact.read(componentFile) }, cache);
  }
}
