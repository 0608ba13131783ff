import { describe, expect, it } from 'vitest';

import { loadCapsuleManifest } from '../manifest/load.ts';
import { unavailableParts } from './unavailable-parts.ts';

function parts(yaml: string): { refusals: string[]; warnings: string[] } {
  const text = `name: demo\nversion: 1.0.0\ninference: { driver: { artifact: svc-driver-script } }\n${yaml}`;
  const { refusals, warnings } = unavailableParts(loadCapsuleManifest({ file: '/project/svc.yaml', text, env: {} }));
  return { refusals: refusals.map(({ message }) => message), warnings: warnings.map(({ message }) => message) };
}

describe('what a manifest declares and this version does not do', () => {
  it('is nothing for a plain capsule', () => {
    expect(parts('capabilities: { shell: { allow: [sh] }, network: { allow: [] } }\n').refusals).toEqual([]);
    expect(parts('')).toEqual({ refusals: [], warnings: [] });
  });

  it('refuses hooks: one may be there to refuse things', () => {
    expect(parts('artifacts: [{ name: guard, version: 1.0.0, runtime: hook }]\n').refusals).toEqual([
      'artifacts[0] is a hook, and this version runs no hooks',
    ]);
  });

  it.each([
    ['capabilities: { peer_fetch: { allow: ["localhost:1"] } }', 'capabilities.peer_fetch'],
    ['capabilities: { state: { store: notes } }', 'capabilities.state'],
    ['exports: { peer_files: { root: out } }', 'exports.peer_files'],
    ['lifecycle: { shell_grace_secs: 3 }', 'lifecycle.shell_grace_secs'],
    ['artifacts: [{ name: svc-tool-editor, version: 1.0.0, config: { a: 1 } }]', 'artifacts[0].config'],
  ])('warns of %s', (yaml, key) => {
    expect(parts(`${yaml}\n`).warnings).toEqual([
      expect.stringMatching(new RegExp(`^${key.replaceAll(/[[\].]/g, '\\$&')} is declared, but not available`)),
    ]);
  });
});
