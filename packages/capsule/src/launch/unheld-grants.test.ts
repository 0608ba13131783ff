import { describe, expect, it } from 'vitest';

import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import type { ArtifactManifest } from '@svc/artifacts/manifest/schema.ts';
import { undecidedPaths, unenforcedGrants } from './unheld-grants.ts';

const hosts = {
  none: { achieved: 'advisory', mechanism: 'none' },
  filter: { achieved: 'advisory', mechanism: 'seccomp-only' },
  scoped: { achieved: 'scoped', mechanism: 'landlock+seccomp' },
  sealed: { achieved: 'sealed', mechanism: 'mountns+pivot_root+landlock+seccomp' },
} as const;

function warnings(capabilities: string, host: keyof typeof hosts): readonly string[] {
  const text = `name: demo\nversion: 1.0.0\ninference: { driver: { artifact: svc-driver-script } }\ncapabilities: { ${capabilities} }\n`;
  const loaded = loadCapsuleManifest({ file: '/project/svc.yaml', text, env: {} });
  return unenforcedGrants(loaded, hosts[host]).map(({ message }) => message);
}

const shell = 'shell: { allow: [sh] }';

describe('a grant that the host does not enforce', () => {
  it.each([
    ['filesystem: { scope: src }', 'capabilities.filesystem', ['none', 'filter']],
    ['filesystem: { read_only: true }', 'capabilities.filesystem', ['none', 'filter']],
    ['network: { allow: [example.com] }', 'capabilities.network', ['none', 'filter', 'scoped']],
    ['network: { allow: [] }', 'capabilities.network', ['none']],
    ['resources: { processes: 5 }', 'capabilities.resources', ['none']],
  ] as const)('causes a warning where it matters: %s', (declared, key, unenforcedOn) => {
    for (const host of ['none', 'filter', 'scoped', 'sealed'] as const) {
      const expected = unenforcedOn.some((each) => each === host)
        ? [
            expect.stringMatching(
              `^${key} is not enforced on commands and programs here \\(${hosts[host].mechanism.replaceAll('+', '\\+')}\\): `,
            ),
          ]
        : [];
      expect(warnings(`${shell}, ${declared}`, host)).toEqual(expected);
    }
  });

  it('causes no warning where no program runs', () => {
    expect(warnings('filesystem: { scope: src }, network: { allow: [example.com] }', 'none')).toEqual([]);
  });
});

describe('a rule of paths', () => {
  it('fails at load for a tool that is no component, with its line', () => {
    const rules = '[{ ask: { tool: a, path: x } }, { deny: { tool: b, path: x } }, { deny: { tool: b } }]';
    const text = `name: demo\nversion: 1.0.0\nartifacts: [{ name: a, version: 1.0.0 }, { name: b, version: 1.0.0 }]\ninference: { driver: { artifact: svc-driver-script } }\napprovals: { rules: ${rules} }\n`;
    const loaded = loadCapsuleManifest({ file: '/project/svc.yaml', text, env: {} });
    const artifacts = (['wasm', 'native'] as const).map((implementation, index) => ({
      entry: loaded.manifest.artifacts[index]!,
      manifest: { name: 'any', version: '1.0.0', runtime: 'tool', implementation } as ArtifactManifest,
    }));
    expect(undecidedPaths(loaded, artifacts)).toMatchObject([
      {
        code: 'E-APR-001',
        message: expect.stringMatching(/^approvals\.rules\[1\]\.deny\.path cannot be decided: b is no component/),
        location: { line: 5 },
      },
    ]);
  });
});
