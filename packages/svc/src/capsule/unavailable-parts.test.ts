import { describe, expect, it } from 'vitest';

import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import { unavailableParts } from './unavailable-parts.ts';

function warnings(yaml: string): string[] {
  const text = `name: demo\nversion: 1.0.0\ninference: { driver: { artifact: svc-driver-script } }\n${yaml}`;
  return unavailableParts(loadCapsuleManifest({ file: '/project/svc.yaml', text, env: {} })).map(
    ({ message }) => message,
  );
}

describe('what a manifest declares and this version does not do', () => {
  it('is nothing for a plain capsule', () => {
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
