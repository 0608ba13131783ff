import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import type { KeyPath } from './key-path.ts';
import { type ManifestKeeper, readKeptManifest } from './kept-manifest.ts';
import { loadCapsuleManifest } from './load.ts';
import type { LoadedManifest } from './loaded-manifest.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

const manifest = `# A comment.
name: demo
version: 1.2.3
artifacts:
  - { name: svc-tool-editor, version: 1.0.0, config: { depth: [1, 2.5, null, true] } }
inference:
  endpoint: https://model.test/v1
  model: large
  driver: { artifact: svc-driver-openai }
  api_key: \${MODEL_KEY}
  system_prompt_file: prompt.md
lifecycle: { task_acceptance: queue }
capabilities:
  network:
    allow:
      - model.test
      - "example.test:8443"
  shell: { allow: [sh, git] }
  state:
  limits: { memory: 64Mi, deadline: 2m }
  resources: { cpu: 10m }
exports: { peer_files: { root: out } }
`;

let folder = '';
let keeper: ManifestKeeper;
eachFolder('kept-manifest-', (made) => {
  folder = made;
  keeper = { directory: join(folder, 'cache'), uid: process.getuid?.() ?? 0, build: 'a1' };
  writeFileSync(join(folder, 'prompt.md'), 'Be brief.\n');
});

const file = (): string => join(folder, 'svc.yaml');
const env = { MODEL_KEY: 'secret-of-the-model' };

function load(text: string): LoadedManifest {
  writeFileSync(file(), text);
  const loaded = loadCapsuleManifest({ file: file(), env, keeper });
  loaded.keep?.();
  return loaded;
}

function kept(
  text: string,
  given: Partial<ManifestKeeper & { env: Record<string, string> }> = {},
): LoadedManifest | null {
  const { env: variables = env, ...other } = given;
  return readKeptManifest({ ...keeper, ...other }, { file: file(), text, env: variables });
}

const keptFile = (): string =>
  join(keeper.directory, 'manifests', readdirSync(join(keeper.directory, 'manifests'))[0]!);

describe('a kept manifest', () => {
  it('equals what the file was read as', () => {
    const { locate: _, keep: _keep, apiKey, ...loaded } = load(manifest);
    const { locate: __, apiKey: keyAgain, ...again } = kept(manifest)!;
    expect(again).toEqual(loaded);
    expect([apiKey?.reveal(), keyAgain?.reveal()]).toEqual([env.MODEL_KEY, env.MODEL_KEY]);
  });

  it('knows where each key and value stands, and what encloses one that is not there', () => {
    const loaded = load(manifest);
    const again = kept(manifest)!;
    const paths: KeyPath[] = [
      [],
      ['name'],
      ['artifacts'],
      ['artifacts', 0],
      ['artifacts', 0, 'config', 'depth', 1],
      ['artifacts', 7, 'name'],
      ['inference', 'api_key'],
      ['inference', 'driver', 'config', 'script'],
      ['capabilities', 'network', 'allow', 1],
      ['capabilities', 'state'],
      ['capabilities', 'state', 'store'],
      ['capabilities', 'shell', 'allow'],
      ['absent', 'altogether'],
    ];
    for (const path of paths)
      for (const part of ['key', 'value'] as const) expect(again.locate(path, part)).toEqual(loaded.locate(path, part));
  });

  it('holds no key, and takes the one that the variable has now', () => {
    load(manifest);
    expect(readFileSync(keptFile(), 'utf8')).not.toContain(env.MODEL_KEY);
    expect(kept(manifest, { env: { MODEL_KEY: 'another' } })?.apiKey?.reveal()).toBe('another');
    expect(kept(manifest, { env: {} })).toBeNull();
  });

  it('stays unused for a manifest that differs in a byte, by another build, or without its prompt', () => {
    load(manifest);
    expect(kept(manifest.replace('large', 'largE'))).toBeNull();
    expect(kept(manifest, { build: 'a2' })).toBeNull();
    rmSync(join(folder, 'prompt.md'));
    expect(kept(manifest)).toBeNull();
  });

  it('stays unused where another user may have written it, or it is damaged', () => {
    load(manifest);
    expect(kept(manifest, { uid: keeper.uid + 1 })).toBeNull();
    chmodSync(keptFile(), 0o620);
    expect(kept(manifest)).toBeNull();
    chmodSync(keptFile(), 0o600);
    expect(kept(manifest)).not.toBeNull();
    writeFileSync(keptFile(), readFileSync(keptFile(), 'utf8').slice(0, -2));
    expect(kept(manifest)).toBeNull();
    writeFileSync(keptFile(), 'null');
    expect(kept(manifest)).toBeNull();
    rmSync(keptFile());
    expect(kept(manifest)).toBeNull();
  });

  it.each([
    ['a warning', `${manifest}unknown: 1\n`],
    ['a key that stands in it', manifest.replace('${MODEL_KEY}', 'sk-literal')],
    ['a credential in a comment', manifest.replace('# A comment.', '# api_key: sk-literal')],
    ['a credential elsewhere', manifest.replace('depth:', 'token: sk-literal, depth:')],
    [
      'more keys than are worth it',
      manifest.replace('depth: [1, 2.5, null, true]', Array.from({ length: 2000 }, (_, at) => `k${at}: 1`).join(', ')),
    ],
    ['another variable', manifest.replace('model: large', 'model: ${MODEL_KEY}')],
  ])('cannot come from a manifest with %s', (_, text) => {
    load(text);
    expect(kept(text)).toBeNull();
  });

  it('counts among two hundred at most', () => {
    for (let count = 0; count < 203; count += 1) {
      const name = join(folder, `${count}.yaml`);
      writeFileSync(name, manifest);
      loadCapsuleManifest({ file: name, env, keeper }).keep?.();
    }
    expect(readdirSync(join(keeper.directory, 'manifests')).length).toBe(3);
  });
});
