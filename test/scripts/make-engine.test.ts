import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

const script = fileURLToPath(new URL('../../scripts/make-engine.mjs', import.meta.url));
const binding = new URL('../../node_modules/@andreiltd/componentize-qjs-binding-linux-x64-gnu/', import.meta.url);

it('scripts/make-engine.mjs makes the engine in packages/components/engine of the addon that is pinned', (context) => {
  context.skip(!existsSync(binding), 'npm installs the addon for Linux x64 on that platform only');
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});
