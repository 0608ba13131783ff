/** Looks at a component before anybody calls it, so that a person hears of what the model would hear in the middle of a task. */

import { join } from 'node:path';

import { componentFile, requiredFile } from '@svc/artifacts/store/inspect-content.ts';
import type { ArtifactCheck } from '@svc/artifacts/store/installed-artifact.ts';
import type { StorePlaces } from '@svc/artifacts/store/store-places.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted, shortened } from '@svc/kit/diagnostics/printable.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { ComponentFault } from '../component.ts';
import { lackedBy } from '../component-outline.ts';
import { MalformedWasm } from '../core-module.ts';
import { needsCompiler, refusedVersions } from '../refused-interfaces.ts';
import { CompileCache, InterfacesRefused } from './compile-cache.ts';
import { Compiler } from './compiler.ts';
import { externNames, type ExternNames, hasUnusualFunctions } from './interface-names.ts';

/** A component by the name of its artifact. */
interface NamedComponent {
  readonly name: string;
  readonly wasm: Uint8Array;
}

/** The compiled components of a user. */
export function userCompileCache({
  userHome,
  packageRoot,
}: Pick<StorePlaces, 'userHome' | 'packageRoot'>): CompileCache {
  return new CompileCache(join(userHome, '.svc', 'cache'), new Compiler(packageRoot));
}

/**
 * Compiles a component into the user's cache, where the first run finds it. `E-ART-004` for one that cannot be compiled, `E-ART-016` for one that
 * needs interfaces which this `svc` does not have.
 */
export async function compileAhead({ name, wasm }: NamedComponent, cache: CompileCache): Promise<void> {
  try {
    await cache.load({ name, wasm, sha256: sha256Hex(wasm) });
  } catch (error) {
    if (error instanceof InterfacesRefused) throw new Diagnostic('E-ART-016', error.refused, { hint: error.hint });
    if (error instanceof ComponentFault) throw new Diagnostic('E-ART-004', error.message);
    throw error;
  }
}

/** Refuses the same of an artifact as far as it concerns interfaces: it compiles only a component whose bytes leave that open. */
export function createInterfaceCheck(cache: CompileCache): ArtifactCheck {
  return async (manifest, content) => {
    if (requiredFile(manifest) !== componentFile) return;
    const component = { name: manifest.name, wasm: await content.read(componentFile) };
    if (isOpen(component, manifest.runtime)) await compileAhead(component, cache);
  };
}

/** Throws `E-ART-004` for one that does not export what a component of this runtime is called by. */
function isOpen({ name, wasm }: NamedComponent, runtime: string): boolean {
  try {
    const names = externNames(wasm);
    const lacked = lackedBy(names, runtime);
    if (lacked !== null && refusedVersions(names) === null) throw notCallable(name, { lacked, runtime, names });
    return refusedVersions(names) !== null || needsCompiler(names) || hasUnusualFunctions(wasm);
  } catch (error) {
    if (!(error instanceof MalformedWasm)) throw error;
    throw new Diagnostic('E-ART-004', `the component of ${name} cannot be read: ${error.message}`);
  }
}

function notCallable(
  name: string,
  { lacked, runtime, names }: { readonly lacked: string; readonly runtime: string; readonly names: ExternNames },
): Diagnostic {
  const first = names.exports.find((each) => each.startsWith('svc:')) ?? names.exports[0];
  const instead =
    first === undefined ? 'nothing' : `${quoted(shortened(first, 100))}${names.exports.length > 1 ? ' and more' : ''}`;
  return new Diagnostic('E-ART-004', `the component of ${name} does not export ${lacked}: it exports ${instead}`, {
    hint: `build it for the world ${runtime} of wit/worlds.wit, which svc new writes, or correct runtime in its svc.yaml`,
  });
}
