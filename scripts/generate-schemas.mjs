// Writes docs/svc.schema.json from the schemas the program checks manifests with.
import { writeFile } from 'node:fs/promises';

import { build } from 'esbuild';

const target = new URL('../docs/svc.schema.json', import.meta.url);
const { outputFiles } = await build({
  entryPoints: ['packages/artifacts/src/manifest/json-schema.ts'],
  absWorkingDir: new URL('..', import.meta.url).pathname,
  bundle: true,
  write: false,
  platform: 'node',
  format: 'esm',
});
const source = Buffer.from(outputFiles[0].contents).toString('base64');
const { manifestJsonSchema } = await import(`data:text/javascript;base64,${source}`);
await writeFile(target, `${JSON.stringify(manifestJsonSchema(), null, 2)}\n`);
