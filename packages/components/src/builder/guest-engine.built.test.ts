import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { readGuestEngine } from './guest-engine.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

const packageRoot = fileURLToPath(new URL('../../../../', import.meta.url));
let folder: string;
eachFolder('svc-engine-', (made) => {
  folder = made;
  mkdirSync(join(folder, 'packages', 'components', 'engine'), { recursive: true });
});

function refusal(): string {
  const diagnostic = diagnosticOf(() => void readGuestEngine(folder));
  return `${diagnostic?.code} ${diagnostic?.message.replaceAll(folder, '')}`;
}

it('readGuestEngine gives the engine of the package and the version that it belongs to', () => {
  expect(readGuestEngine(packageRoot)).toMatchObject({ componentizerVersion: '0.4.5' });
});

/** What a package has of the engine. */
function spliced(): void {
  for (const part of [join('dist', 'engine'), join('dist', 'bundled'), 'packages/components/engine/engine.json']) {
    cpSync(join(packageRoot, part), join(folder, part), { recursive: true });
  }
}

it('readGuestEngine gives the same engine where its code is in the archive of a bundled component alone', () => {
  spliced();
  expect(readGuestEngine(folder).bytes.equals(readGuestEngine(packageRoot).bytes)).toBe(true);
});

it('readGuestEngine refuses what an archive gives when it is not the code of the engine', () => {
  spliced();
  const splice = join(folder, 'dist', 'engine', 'splice.json');
  const { from, ...rest } = JSON.parse(readFileSync(splice, 'utf8')) as { readonly from: number };
  writeFileSync(splice, JSON.stringify({ ...rest, from: from + 1 }));
  expect(refusal()).toMatch(/^E-ART-015 .*engine.wasm has the hash [0-9a-f]{64}, and /);
});

it('readGuestEngine refuses an engine with one other byte', () => {
  for (const name of ['engine.json', 'engine.wasm']) {
    const bytes = readFileSync(join(packageRoot, 'packages', 'components', 'engine', name));
    if (name === 'engine.wasm') bytes[5000] = (bytes[5000] ?? 0) ^ 1;
    writeFileSync(join(folder, 'packages', 'components', 'engine', name), bytes);
  }
  expect(refusal()).toMatch(
    /^E-ART-015 .*engine.wasm has the hash [0-9a-f]{64}, and .*engine.json names [0-9a-f]{64}$/,
  );
});

it('readGuestEngine refuses an engine that is not there, or whose record cannot be read', () => {
  expect(refusal()).toContain('E-ART-015 cannot read the engine of guests: ENOENT');
  writeFileSync(join(folder, 'packages', 'components', 'engine', 'engine.json'), '{');
  expect(refusal()).toContain('E-ART-015 cannot read the engine of guests: ');
});
