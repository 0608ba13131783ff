import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { readGuestEngine } from './guest-engine.ts';

const packageRoot = fileURLToPath(new URL('../../../../', import.meta.url));
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-engine-'));
  mkdirSync(join(folder, 'packages', 'components', 'engine'), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function refusal(): string {
  const diagnostic = diagnosticOf(() => void readGuestEngine(folder));
  return `${diagnostic?.code} ${diagnostic?.message.replaceAll(folder, '')}`;
}

it('gives the engine of the package and the version that it belongs to', () => {
  expect(readGuestEngine(packageRoot)).toMatchObject({ componentizerVersion: '0.4.5' });
});

it('refuses an engine with one other byte', () => {
  for (const name of ['engine.json', 'engine.wasm']) {
    const bytes = readFileSync(join(packageRoot, 'packages', 'components', 'engine', name));
    if (name === 'engine.wasm') bytes[5000] = (bytes[5000] ?? 0) ^ 1;
    writeFileSync(join(folder, 'packages', 'components', 'engine', name), bytes);
  }
  expect(refusal()).toMatch(
    /^E-ART-015 .*engine.wasm has the hash [0-9a-f]{64}, and .*engine.json names [0-9a-f]{64}$/,
  );
});

it('refuses an engine that is not there, or whose record cannot be read', () => {
  expect(refusal()).toContain('E-ART-015 cannot read the engine of guests: ENOENT');
  writeFileSync(join(folder, 'packages', 'components', 'engine', 'engine.json'), '{');
  expect(refusal()).toContain('E-ART-015 cannot read the engine of guests: ');
});
