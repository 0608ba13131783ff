import { join } from 'node:path';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { ComponentFault } from '@svc/components/component.ts';
import { CompileCache } from '@svc/components/compiler/compile-cache.ts';
import { Compiler } from '@svc/components/compiler/compiler.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { componentFile, requiredFile } from '@svc/artifacts/store/inspect-content.ts';
import type { FoundArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import type { StorePlaces } from '@svc/artifacts/store/locate.ts';

/**
 * Compiles the component of an artifact into the user's cache, so that the first run finds it there. Nothing is done for an
 * artifact without a component or with one that is shipped compiled. `E-ART-004` for one that cannot be compiled.
 */
export function createCompileAhead({ userHome, packageRoot }: StorePlaces): (artifact: FoundArtifact) => Promise<void> {
  const cache = new CompileCache(join(userHome, '.svc', 'cache'), new Compiler(packageRoot));
  return async (artifact) => {
    const { manifest, compiledDir } = artifact;
    if (compiledDir !== null || requiredFile(manifest) !== componentFile) return;
    const wasm = await artifact.read(componentFile);
    const sha256 = sha256Hex(wasm);
    try {
      await cache.load({ name: manifest.name, wasm, sha256 });
    } catch (error) {
      if (error instanceof ComponentFault) throw new Diagnostic('E-ART-004', error.message);
      throw error;
    }
  };
}
