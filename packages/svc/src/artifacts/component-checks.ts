/** Checks of the component in an artifact, for the commands that pack it, publish it and install it. */

import type { ArtifactManifest } from '@svc/artifacts/manifest/schema.ts';
import { type ArtifactContent, componentFile, requiredFile } from '@svc/artifacts/store/inspect-content.ts';
import type { ArtifactCheck, FoundArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { compileAhead, createInterfaceCheck, userCompileCache } from '@svc/components/compiler/compile-ahead.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { checkArtifact } from '@svc/session/tools/argument-check.ts';

/**
 * Compiles the component of an artifact into the user's cache, so that the first run finds it there. Nothing is done for an
 * artifact without a component or with one of this package. `E-ART-004` for one that cannot be compiled, `E-ART-016` for one that needs
 * interfaces which this `svc` does not have.
 */
export function createCompileAhead(
  places: Parameters<typeof userCompileCache>[0],
): (artifact: FoundArtifact) => Promise<void> {
  const cache = userCompileCache(places);
  return async (artifact) => {
    const { manifest, origin } = artifact;
    if (origin === 'bundled' || requiredFile(manifest) !== componentFile) return;
    await compileAhead({ name: manifest.name, wasm: await artifact.read(componentFile) }, cache);
  };
}

/** Refuses an artifact that arrives with `E-ART-016`, before a store has it. */
export function createArrivalCheck(places: Parameters<typeof userCompileCache>[0]): ArtifactCheck {
  return createInterfaceCheck(userCompileCache(places));
}

/** Checks the folder of an artifact: its manifest, and whether its component needs interfaces which this `svc` does not have (`E-ART-016`). */
export function createFolderCheck(
  userHome: string,
): (manifest: ArtifactManifest, content: ArtifactContent) => Promise<void> {
  const check = createInterfaceCheck(
    userCompileCache({ userHome, packageRoot: findPackageRoot(import.meta.filename) }),
  );
  return async (manifest, content) => {
    await checkArtifact(manifest);
    if (content.has(componentFile)) await check(manifest, content);
  };
}
