import { describe, expect, it } from 'vitest';

import { lower } from '@svc/artifacts/grants/effective-grants.ts';
import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import { reachOf } from './capsule-reach.ts';

const text = `name: demo
version: 1.0.0
inference: { driver: { artifact: svc-driver-openai }, model: m, endpoint: "https://model.example", api_key: "\${MODEL_KEY}" }
capabilities:
  shell: { allow: [sh] }
  containment: sealed
  env: { allow: [LANG] }
  network: { allow: [{ host: "https://api.example", credential: issues }] }
  credentials: { issues: { value: "\${ISSUES_TOKEN}", for: [shell] } }
notify: { webhook: "https://hooks.example/x", secret: "\${NOTIFY_SECRET}" }
`;

describe('what a capsule gets of this machine', () => {
  it('names the variable of every key and secret, with what commands get', () => {
    const env = { MODEL_KEY: 'abcdefgh1', ISSUES_TOKEN: 'abcdefgh2', NOTIFY_SECRET: 'abcdefgh3' };
    const loaded = loadCapsuleManifest({ file: '/project/svc.yaml', text, env });
    expect(reachOf({ loaded, grants: lower(loaded).grants })).toEqual({
      hosts: ['https://model.example', 'https://api.example', 'https://hooks.example'],
      variables: ['MODEL_KEY', 'ISSUES_TOKEN', 'NOTIFY_SECRET', 'LANG'],
    });
  });
});
