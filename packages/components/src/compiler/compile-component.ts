/** Compiles a bundled component when `svc` is built, so that no start has to. */

import { join } from 'node:path';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { Compiler } from './compiler.ts';
import { encodeTranspiled, transpiledComponent } from './transpiled-component.ts';

/** The one file of a directory of compiled form; `precompiledDir` of a component source names the directory. */
export const compiledFileName = 'component.compiled';

/**
 * Compiles a component ahead of its first use and writes `component.compiled` into `directory`, which is made when missing.
 * Rejects with a plain `Error` that says what is wrong with the component, and with `E-IO-001` when the file cannot be written.
 */
export async function compileComponent(component: Uint8Array, directory: string): Promise<void> {
  const answer = await new Compiler(findPackageRoot(import.meta.filename)).compile(component);
  if (answer.kind === 'refused') throw new Error(`the component cannot be compiled: ${answer.reason}`);
  const componentSha256 = sha256Hex(component);
  const file = encodeTranspiled(transpiledComponent(componentSha256, answer));
  await replaceFile(join(directory, compiledFileName), [file]);
}
