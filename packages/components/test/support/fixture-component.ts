import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { builderFiles, componentizeSource } from '../../../../scripts/componentize.mjs';
import type { ComponentSource } from '../../src/compiler/compile-cache.ts';
import { temporaryName } from '@svc/kit/files/temporary-name.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const sources = join(root, 'test', 'fixtures', 'components');
const built = join(root, 'test', '.tmp', 'components');

/** Everything the bytes depend on beside the source itself. */
const inputs = [...builderFiles, ...['package-lock.json', ...witFiles()].map((name) => join(root, name))];

/**
 * The component built from `test/fixtures/components/<name>.js`, a hook when the name ends in `-hook`, else a tool; built
 * again only when something it is made of changed.
 */
export async function fixtureComponent(name: string): Promise<ComponentSource> {
  const source = readFileSync(join(sources, `${name}.js`), 'utf8');
  const key = digest([source, ...inputs.map((path) => readFileSync(path))]).slice(0, 24);
  const path = join(built, `${name}-${key}.wasm`);
  if (!existsSync(path)) await buildFixture(source, { path, world: name.endsWith('-hook') ? 'hook' : 'tool' });
  return componentSource(name, readFileSync(path));
}

/** A source made of bytes. */
export function componentSource(name: string, wasm: Uint8Array): ComponentSource {
  return { name, wasm, sha256: digest([wasm]) };
}

async function buildFixture(
  source: string,
  { path, world }: { readonly path: string; readonly world: 'hook' | 'tool' },
): Promise<void> {
  mkdirSync(built, { recursive: true });
  const temporary = join(built, temporaryName());
  writeFileSync(temporary, await componentizeSource({ source, world }));
  renameSync(temporary, path);
}

function witFiles(): string[] {
  return readdirSync(join(root, 'packages', 'guest', 'wit'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.wit'))
    .sort()
    .map((name) => join('packages', 'guest', 'wit', name));
}

function digest(parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}
