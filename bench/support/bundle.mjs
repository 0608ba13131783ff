// @ts-check
// Loads the sources of the project as the programs are built of them.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { build } from 'esbuild';

const installed = fileURLToPath(new URL('../../node_modules', import.meta.url));

/**
 * Loads a subject that is written in TypeScript against the sources; built as the programs are.
 * @param {string} name File name in this folder.
 * @param {readonly string[]} [external] Packages that are loaded from where they are installed, since they find files of their own there.
 * @returns {Promise<unknown>} Its exports.
 */
export async function loadSubject(name, external) {
  const subject = await bundleSubject(name, {}, external);
  try {
    return await import(pathToFileURL(subject.path).href);
  } finally {
    await subject.remove();
  }
}

/**
 * Bundles a subject for a process of its own. Its file may be removed as soon as that process has loaded it.
 * @param {string} name File name in this folder.
 * @param {Readonly<Record<string, string>>} [replaced] A path as modules import it, and the file that takes its place.
 * @param {readonly string[]} [external]
 * @returns {Promise<{ path: string, remove(): Promise<void> }>}
 */
export async function bundleSubject(name, replaced = {}, external = []) {
  const folder = await mkdtemp(external.length === 0 ? join(tmpdir(), 'svc-bench-') : join(installed, '.svc-bench-'));
  const remove = () => rm(folder, { recursive: true });
  const outfile = join(folder, 'subject.mjs');
  const entry = fileURLToPath(new URL(name, import.meta.url));
  const requireShim =
    "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);";
  try {
    await build({
      entryPoints: [entry],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20.19',
      logLevel: 'warning',
      external: [...external],
      banner: { js: requireShim },
      plugins: [replacing(replaced)],
    });
  } catch (error) {
    await remove();
    throw error;
  }
  return { path: outfile, remove };
}

/**
 * @param {Readonly<Record<string, string>>} replaced
 * @returns {import('esbuild').Plugin}
 */
function replacing(replaced) {
  return {
    name: 'replacing',
    setup: (build) => {
      build.onResolve({ filter: /^\./ }, ({ path }) => {
        const other = replaced[path];
        return other === undefined ? undefined : { path: other };
      });
    },
  };
}
