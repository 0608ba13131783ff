import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';

import { afterEach, describe, expect, it } from 'vitest';

import { DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { loadCapsuleManifest } from './load.ts';
import type { LoadedManifest } from './loaded-manifest.ts';
import type { Environment } from '@svc/kit/environment.ts';

const smallest = `
name: researcher
version: 1.0.0
inference:
  endpoint: https://provider.example
  model: large
  driver: { artifact: svc-driver-openai }
`;

function load(text: string, env: Environment = {}): LoadedManifest {
  return loadCapsuleManifest({ file: 'svc.yaml', text, env });
}

/** `CODE line:column message` of every diagnostic that refuses the manifest. */
function refusal(text: string, env: Environment = {}): string[] {
  try {
    load(text, env);
  } catch (error) {
    if (!(error instanceof DiagnosticList)) throw error;
    return error.diagnostics.map(
      ({ code, message, location }) => `${code} ${location?.line}:${location?.column} ${message}`,
    );
  }
  return [];
}

const directories: string[] = [];

function workspace(files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), 'manifest-'));
  directories.push(directory);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return join(directory, 'svc.yaml');
}

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

describe('a reference to the provider key', () => {
  const withKey = smallest.replace('model: large', 'model: large\n  api_key: ${PROVIDER_KEY}');

  it('gives the provider key, which only reveal shows', () => {
    const loaded = load(withKey, { PROVIDER_KEY: 'sk-123' });
    expect(loaded.apiKey?.reveal()).toBe('sk-123');
    expect(loaded.manifest.inference).not.toHaveProperty('api_key');
    expect(JSON.stringify(loaded) + inspect(loaded, { depth: 9 })).not.toContain('sk-123');
  });

  it('refuses the manifest when its variable is not set', () => {
    expect(refusal(withKey)).toEqual([
      'E-MAN-003 7:12 inference.api_key refers to the variable PROVIDER_KEY, which is not set',
    ]);
  });

  it.each(['$PROVIDER_KEY', '${provider_key}', '${ PROVIDER_KEY }', '$(PROVIDER_KEY)'])(
    'refuses a slip such as %s, which would be sent as the key',
    (slip) => {
      const text = withKey.replace('${PROVIDER_KEY}', () => `"${slip}"`);
      expect(refusal(text, { PROVIDER_KEY: 'sk-123' })).toEqual([
        'E-MAN-003 7:12 inference.api_key looks like a variable, but is no reference to one',
      ]);
    },
  );

  it('stands for any text, and only as a whole value in capitals', () => {
    const text = `${smallest}description: \${WORDS}\nartifacts:\n  - name: one\n    version: 1.0.0\n    config: { a: ["\${WORDS}"], b: "x \${WORDS}", c: "\${words}" }\n`;
    const { manifest } = load(text, { WORDS: 'some words' });
    expect(manifest.description).toBe('some words');
    expect(manifest.artifacts[0]?.config).toEqual({ a: ['some words'], b: 'x ${WORDS}', c: '${words}' });
  });

  it('undergoes the checks of any other text, without the value being shown', () => {
    const text = smallest.replace('https://provider.example', '${ADDRESS}');
    expect(refusal(text, { ADDRESS: 'http://user:hunter2@far.example' })).toEqual([
      'E-MAN-003 5:13 inference.endpoint (the value of ADDRESS) must not hold a user or password',
    ]);
  });

  it('undergoes the rules across keys without the value being shown', () => {
    const text = smallest.replace('svc-driver-openai', '"${DRIVER}"');
    expect(refusal(text, { DRIVER: 'hunter2' })).toEqual([
      'E-MAN-003 7:23 inference.driver.artifact names ${DRIVER}, which artifacts does not list',
    ]);
  });

  it('hides other problems of its key when it cannot be resolved', () => {
    const text = smallest.replace('svc-driver-openai', '"${DRIVER}"').replace('https://provider.example', '${ADDRESS}');
    expect(refusal(text)).toEqual([
      'E-MAN-003 5:13 inference.endpoint refers to the variable ADDRESS, which is not set',
      'E-MAN-003 7:23 inference.driver.artifact refers to the variable DRIVER, which is not set',
    ]);
  });

  it('stays unresolved for commands that only inspect; every other is resolved', () => {
    const text = withKey.replace('name: researcher', 'name: ${NAME}');
    const loaded = loadCapsuleManifest({ file: 'svc.yaml', text, env: { NAME: 'other' }, purpose: 'inspect' });
    expect(loaded.manifest.name).toBe('other');
    expect(loaded.apiKey).toBeUndefined();
    expect(() => loadCapsuleManifest({ file: 'svc.yaml', text, env: {}, purpose: 'inspect' })).toThrow(
      'name refers to the variable NAME, which is not set',
    );
  });
});

describe('the system prompt', () => {
  it('comes from the manifest or a file beside it, or stays empty', () => {
    const inFile = smallest.replace('model: large', 'model: large\n  system_prompt_file: prompt.md');
    const file = workspace({ 'svc.yaml': inFile, 'prompt.md': 'Be brief.\n' });
    expect(loadCapsuleManifest({ file, env: {} }).systemPrompt).toBe('Be brief.\n');
    expect(load(smallest.replace('model: large', 'model: large\n  system_prompt: Be kind.')).systemPrompt).toBe(
      'Be kind.',
    );
    expect(load(smallest).systemPrompt).toBe('');
  });

  it('fails with everything else when its file is missing, leaves the directory, or stands beside a text', () => {
    const text = smallest.replace('model: large', 'system_prompt_file: prompt.md');
    expect(refusal(text)).toEqual([
      'E-MAN-001 4:1 inference.model is missing',
      'E-RUN-009 6:23 inference.system_prompt_file cannot be read: there is no such file beside the manifest',
    ]);
    expect(refusal(smallest.replace('model: large', 'model: large\n  system_prompt_file: ../prompt.md'))).toEqual([
      'E-MAN-003 7:23 inference.system_prompt_file must be a relative path below the manifest, without "..", not "../prompt.md"',
    ]);
    const both = smallest.replace('model: large', 'model: large\n  system_prompt: a\n  system_prompt_file: svc.yaml');
    expect(refusal(both)[0]).toBe(
      'E-MAN-003 8:3 inference.system_prompt_file cannot stand beside inference.system_prompt',
    );
  });
});

describe('a manifest file', () => {
  it('comes from disk, and its directory is the workspace root', () => {
    const file = workspace({ 'svc.yaml': `\uFEFF${smallest}` });
    const loaded = loadCapsuleManifest({ file, env: {} });
    expect(loaded.manifest.name).toBe('researcher');
    expect(join(loaded.directory, 'svc.yaml')).toBe(file);
  });

  it('gives a coded error when it is missing, a directory or not text', () => {
    const file = workspace({ 'svc.yaml': smallest });
    writeFileSync(file, Buffer.from([0x6e, 0xff, 0xfe]));
    const refusalOf = (path: string): DiagnosticList | undefined => {
      try {
        loadCapsuleManifest({ file: path, env: {} });
      } catch (error) {
        return error instanceof DiagnosticList ? error : undefined;
      }
      return undefined;
    };
    const codeOf = (path: string): string | undefined => refusalOf(path)?.message;
    const hintOf = (path: string): string | undefined => refusalOf(path)?.diagnostics[0]?.hint;
    expect(codeOf(join(file, '..', 'none.yaml'))).toMatch(/^E-IO-001: cannot read .*: no such file$/);
    expect(hintOf(join(file, '..', 'svc.yml'))).toBe(`${file} is there: name that one`);
    expect(hintOf(join(file, '..', 'nowhere', 'svc.yaml'))).toMatch(/^go to the folder of the capsule/);
    expect(codeOf(join(file, '..'))).toMatch(/^E-IO-001: cannot read .*: it is a directory$/);
    expect(codeOf(file)).toMatch(/^E-IO-001: cannot read .*: it is not UTF-8 text$/);
  });
});
