// Gives the scripts of a checkout modules of `packages/`, which Node 20 cannot load as they are.
import { build } from 'esbuild';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What the modules at these paths, relative to `directory`, export together. They may import built-in modules and each other, no package. */
export async function importTypeScript(paths, directory) {
  // A file and not a data: URL, which a stack trace would spell out.
  const folder = await mkdtemp(join(tmpdir(), 'svc-scripts-'));
  try {
    const outfile = join(folder, 'bundle.mjs');
    await build({
      stdin: {
        contents: paths.map((path) => `export * from ${JSON.stringify(path)};`).join('\n'),
        resolveDir: directory,
        loader: 'ts',
      },
      outfile,
      bundle: true,
      format: 'esm',
      platform: 'node',
      logLevel: 'warning',
    });
    return await import(pathToFileURL(outfile).href);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
