// Bundles the programs and the component worker into dist/.
import { build } from 'esbuild';

import { buildComponents } from './build-components.mjs';

const shared = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  minify: true,
  keepNames: true,
  legalComments: 'none',
  logLevel: 'warning',
  // The bundle runs as a script with a code cache, in which only require() is at hand.
  supported: { 'dynamic-import': false },
  banner: { js: "const importMetaUrl = require('node:url').pathToFileURL(__filename).href;" },
  define: { 'import.meta.url': 'importMetaUrl' },
};

await build({ ...shared, entryPoints: { svc: 'src/cli/main.ts' }, outdir: 'dist', outExtension: { '.js': '.cjs' } });
await buildComponents('dist');
