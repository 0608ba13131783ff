import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';

const env = { OPENAI_API_KEY: 'key', ANTHROPIC_API_KEY: 'key' };

function path(fromRoot: string): string {
  return fileURLToPath(new URL(`../../${fromRoot}`, import.meta.url));
}

describe('a manifest that is there to be copied', () => {
  it.each(['hello', 'ollama', 'openai', 'anthropic'])('loads without a warning: examples/%s', (name) => {
    expect(loadCapsuleManifest({ file: path(`examples/${name}/svc.yaml`), env }).warnings).toEqual([]);
  });

  it('loads without a warning: the one in the README', () => {
    const text = /```yaml\n([^]*?)```/.exec(readFileSync(path('README.md'), 'utf8'))?.[1] ?? '';
    const { manifest, warnings } = loadCapsuleManifest({ file: path('svc.yaml'), text, env: {} });
    expect(warnings).toEqual([]);
    expect(manifest.name).toBe('scribe');
  });

  it.each(['openai', 'anthropic'])('takes its key from the environment: examples/%s', (name) => {
    const file = path(`examples/${name}/svc.yaml`);
    expect(loadCapsuleManifest({ file, env }).apiKey?.reveal()).toBe('key');
    expect(() => loadCapsuleManifest({ file, env: {} })).toThrow('E-MAN-003');
  });
});
