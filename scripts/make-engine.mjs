// Makes packages/components/engine/engine.wasm, the engine that every guest written in TypeScript is built with, and engine.json beside it: what
// it was made from, and its hash. `--check` compares both with what is there and writes nothing.
// componentize-qjs embeds an engine in its native addon, for macOS another build of it; this one, of Linux x64, is used everywhere.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { importTypeScript } from './import-typescript.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'packages', 'components', 'engine');
const binding = '@andreiltd/componentize-qjs-binding-linux-x64-gnu';

const { embeddedEngine, stillEngine } = await importTypeScript(
  ['./packages/components/src/builder/still-engine.ts'],
  root,
);

const { addon, version } = readAddon();
const engine = stillEngine(embeddedEngine(addon));
const record = {
  componentize_qjs: version,
  from: binding,
  from_sha256: sha256(addon),
  sha256: sha256(engine),
};
const made = { 'engine.wasm': engine, 'engine.json': Buffer.from(`${JSON.stringify(record, null, 2)}\n`) };

if (process.argv.includes('--check')) {
  for (const [name, bytes] of Object.entries(made)) {
    const path = join(folder, name);
    if (existsSync(path) && readFileSync(path).equals(bytes)) continue;
    console.error(
      `packages/components/engine/${name} is not what componentize-qjs ${version} makes; node scripts/make-engine.mjs`,
    );
    process.exitCode = 1;
  }
} else {
  mkdirSync(folder, { recursive: true });
  for (const [name, bytes] of Object.entries(made)) writeFileSync(join(folder, name), bytes);
  process.stdout.write(`wrote packages/components/engine, ${engine.length} bytes for componentize-qjs ${version}\n`);
}

/** The addon and the version of the componentize-qjs that both come from. */
function readAddon() {
  const require = createRequire(import.meta.url);
  const { version } = require('componentize-qjs/package.json');
  const manifest = require.resolve(`${binding}/package.json`);
  const { main, version: ofBinding } = require(manifest);
  if (ofBinding !== version) throw new Error(`componentize-qjs is ${version}, but ${binding} is ${ofBinding}`);
  return { addon: readFileSync(join(dirname(manifest), main)), version };
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}
