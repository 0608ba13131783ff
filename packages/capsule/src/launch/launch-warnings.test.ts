import { describe, expect, it } from 'vitest';

import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import { unavailableParts } from './launch-warnings.ts';
import { weakPrograms } from './unheld-grants.ts';

const hosts = {
  none: { achieved: 'advisory', mechanism: 'none', reason: 'there is no svc-launch' },
  filter: { achieved: 'advisory', mechanism: 'seccomp-only', reason: 'this kernel has no Landlock' },
  scoped: { achieved: 'scoped', mechanism: 'landlock+seccomp', reason: 'user namespaces are refused' },
  sealed: { achieved: 'sealed', mechanism: 'mountns+pivot_root+landlock+seccomp', reason: null },
} as const;

const component = 'inference: { driver: { artifact: svc-driver-script } }\n';

function warning(
  manifest: string,
  implementations: readonly ('wasm' | 'native' | 'mcp' | 'web')[],
  host: keyof typeof hosts,
) {
  const text = `name: demo\nversion: 1.0.0\n${manifest}`;
  const loaded = loadCapsuleManifest({ file: '/project/svc.yaml', text, env: {} });
  const artifacts = implementations.map((kind) => {
    const implementation =
      kind === 'web' ? { implementation: 'mcp', url: 'https://a.example/mcp' } : { implementation: kind };
    return { manifest: { name: 'tool', version: '1.0.0', runtime: 'tool', ...implementation } as never };
  });
  return weakPrograms(loaded, artifacts, hosts[host])?.message ?? null;
}

describe('programs of a capsule', () => {
  it.each([
    [`${component}capabilities: { shell: { allow: [sh] } }\n`, [], 'commands'],
    [component, ['wasm', 'native'], 'native tools'],
    [component, ['mcp'], 'native tools'],
    ['inference: { transport: process, command: [node] }\n', [], 'the program of the driver'],
  ] as const)('cause a warning where they get less than scoped: %s %j', (manifest, implementations, kinds) => {
    expect(warning(manifest, implementations, 'none')).toBe(
      `class advisory (none) for ${kinds}, which keeps no file of this user from them: there is no svc-launch`,
    );
    expect(warning(manifest, implementations, 'filter')).toContain('class advisory (seccomp-only)');
    expect(warning(manifest, implementations, 'scoped')).toBe(null);
    expect(warning(manifest, implementations, 'sealed')).toBe(null);
  });

  it('cause no warning when a capsule has none', () => {
    expect(warning(component, ['wasm'], 'none')).toBe(null);
    expect(warning(component, ['web'], 'none')).toBe(null);
  });
});

function warnings(yaml: string): string[] {
  const text = `name: demo\nversion: 1.0.0\ninference: { driver: { artifact: svc-driver-script } }\n${yaml}`;
  return unavailableParts(loadCapsuleManifest({ file: '/project/svc.yaml', text, env: {} })).map(
    ({ message }) => message,
  );
}

describe('the warnings of what this version does not do', () => {
  it('stay empty for a plain capsule', () => {
    expect(warnings('capabilities: { shell: { allow: [sh] }, network: { allow: [] } }\n')).toEqual([]);
    expect(warnings('capabilities: { state: { store: notes } }\n')).toEqual([]);
    expect(warnings('lifecycle: { shell_grace_secs: 3 }\n')).toEqual([]);
    expect(warnings('capabilities: { peer_fetch: { allow: ["localhost:1"] } }\n')).toEqual([]);
    expect(warnings('exports: { peer_files: { root: out } }\n')).toEqual([]);
    expect(warnings('artifacts: [{ name: guard, version: 1.0.0, runtime: hook }]\n')).toEqual([]);
  });

  it.each([['artifacts: [{ name: svc-tool-editor, version: 1.0.0, config: { a: 1 } }]', 'artifacts[0].config']])(
    'warns of %s',
    (yaml, key) => {
      expect(warnings(`${yaml}\n`)).toEqual([
        expect.stringMatching(new RegExp(`^${key.replaceAll(/[[\].]/g, '\\$&')} is declared, but not available`)),
      ]);
    },
  );
});
