import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

import { temporaryDirectory } from './artifacts.ts';

/** Makes a script of the project runnable by a plain Node; returns its path. */
export async function bundleForNode(entryPoint: URL): Promise<string> {
  const outfile = join(temporaryDirectory(), 'script.cjs');
  await build({
    entryPoints: [fileURLToPath(entryPoint)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    logLevel: 'warning',
  });
  return outfile;
}
