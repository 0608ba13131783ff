import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateKeyPairSync } from 'node:crypto';

import { beforeEach, describe, expect, it } from 'vitest';

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { temporaryDirectory } from '../../test/store/artifacts.ts';
import { loadUserConfig, loadWorkspaceConfig } from './config.ts';
import { loadTrustPolicy, ruleFor } from './trust-policy.ts';

let home = '';

beforeEach(() => {
  home = temporaryDirectory();
  mkdirSync(join(home, '.svc'));
});

function write(text: string): void {
  writeFileSync(join(home, '.svc', 'config.yaml'), text);
}

function publicKey(curve = 'prime256v1'): string {
  const { publicKey: key } = generateKeyPairSync('ec', { namedCurve: curve });
  return key.export({ type: 'spki', format: 'pem' }).toString();
}

function refusal(): string[] {
  try {
    loadTrustPolicy(home);
  } catch (error) {
    const all = error instanceof DiagnosticList ? error.diagnostics : [error as Diagnostic];
    return all.map(({ code, message, location }) => `${code} ${location?.line}: ${message}`);
  }
  return [];
}

const workflow = 'https://github.com/acme/*/.github/workflows/release.yml@refs/tags/*';

describe('the trust policy', () => {
  it('does not exist without a file, and without a trust block', () => {
    expect(loadTrustPolicy(home)).toBeNull();
    for (const text of [
      '',
      'registry: { sources: [] }\n',
      '# trust\n',
      'registry: { default: trust, sources: [] }\n',
    ]) {
      write(text);
      expect(loadTrustPolicy(home)).toBeNull();
    }
  });

  it('keeps its rules in their order, and the first for a name counts', () => {
    writeFileSync(join(home, '.svc', 'acme.pub'), publicKey());
    write(`trust:
  keys: { acme-2026: ./acme.pub }
  rules:
    - { names: ["acme-*"], signed_by: { issuer: "https://issuer.example", identity: "${workflow}" } }
    - { names: ["legacy-*", "old"], signed_by: { key: acme-2026 }, mode: warn }
    - { names: ["both"], signed_by: { any: [{ key: acme-2026 }, { issuer: "https://i", identity: "me" }] } }
    - { names: ["*"], mode: refuse-unsigned }
  root: ./root.json
  authority: https://fulcio.acme.example/
  log: https://rekor.acme.example
`);
    const policy = loadTrustPolicy(home);
    expect(policy).toMatchObject({
      root: join(home, '.svc', 'root.json'),
      authority: 'https://fulcio.acme.example',
      log: 'https://rekor.acme.example',
      keys: [{ name: 'acme-2026' }],
    });
    if (policy === null) return;
    const wanted = ['acme-x', 'legacy-1', 'old', 'both', 'other'].map((name) => {
      const rule = ruleFor(policy, name);
      return [rule?.location.line, rule?.isWarning, rule?.signedBy?.map(({ kind }) => kind) ?? null];
    });
    expect(wanted).toEqual([
      [4, false, ['identity']],
      [5, true, ['key']],
      [5, true, ['key']],
      [6, false, ['key', 'identity']],
      [7, false, null],
    ]);
    expect(policy.rules[0]?.signedBy).toEqual([
      { kind: 'identity', issuer: 'https://issuer.example', identity: workflow },
    ]);
  });

  it('applies to nothing that no rule names', () => {
    write('trust: { rules: [{ names: ["acme-*"], mode: refuse-unsigned }] }\n');
    const policy = loadTrustPolicy(home);
    expect(policy === null ? null : ruleFor(policy, 'other')).toBeNull();
  });

  it('counts under a key that is written with escapes', () => {
    write('"tr\\u0075st": { rules: [{ names: ["*"], mode: refuse-unsigned }] }\n');
    expect(loadTrustPolicy(home)?.rules).toHaveLength(1);
  });

  it.each([
    ['no mapping', 'trust: [1]\n', 'E-REG-013 1: trust must be a block of keys, not a list'],
    ['no YAML', 'trust: {\n', 'E-REG-013'],
    ['an unknown key', 'trust: { rulez: [] }\n', 'E-REG-013 1: rulez of trust in line 1 is not a known key'],
    ['a misspelt key of a rule', 'trust: { rules: [{ names: ["*"], signed-by: { key: a } }] }\n', 'E-REG-013'],
    [
      'another mode',
      'trust: { rules: [{ names: ["*"], mode: maybe }] }\n',
      'E-REG-013 1: trust.rules[0].mode must be one of',
    ],
    ['no names', 'trust: { rules: [{ mode: refuse-unsigned }] }\n', 'E-REG-013 1: trust.rules[0].names is missing'],
    ['an empty list of names', 'trust: { rules: [{ names: [], mode: refuse-unsigned }] }\n', 'E-REG-013'],
    ['a name with a slash', 'trust: { rules: [{ names: ["a/b"], mode: refuse-unsigned }] }\n', 'E-REG-013'],
    ['no signer', 'trust: { rules: [{ names: ["*"] }] }\n', 'E-REG-013 1: trust.rules[0] has no signed_by'],
    [
      'a signer where anybody is accepted',
      'trust: { rules: [{ names: ["*"], mode: refuse-unsigned, signed_by: { issuer: a, identity: b } }] }\n',
      'E-REG-013 1: trust.rules[0] has signed_by, and mode: refuse-unsigned accepts any signer',
    ],
    [
      'an identity without its issuer',
      'trust: { rules: [{ names: ["*"], signed_by: { identity: b } }] }\n',
      'E-REG-013 1: trust.rules[0].signed_by must have issuer and identity, or key',
    ],
    [
      'a key and an identity',
      'trust: { rules: [{ names: ["*"], signed_by: { issuer: a, identity: b, key: c } }] }\n',
      'E-REG-013 1: trust.rules[0].signed_by must have issuer and identity, or key',
    ],
    [
      'any and more',
      'trust: { rules: [{ names: ["*"], signed_by: { any: [{ issuer: a, identity: b }], issuer: a } }] }\n',
      'E-REG-013 1: trust.rules[0].signed_by has any beside issuer, identity or key: give one or the other',
    ],
    ['an empty any', 'trust: { rules: [{ names: ["*"], signed_by: { any: [] } }] }\n', 'E-REG-013'],
    [
      'an unknown key of trust.keys',
      'trust: { rules: [{ names: ["*"], signed_by: { key: acme } }] }\n',
      'E-REG-013 1: trust.rules[0].signed_by.key names "acme", which trust.keys does not list',
    ],
    ['a key that is not there', 'trust: { keys: { acme: ./acme.pub } }\n', 'E-REG-013 1: trust.keys.acme: '],
    ['an address without TLS', 'trust: { authority: "http://fulcio.example" }\n', 'E-REG-013'],
  ])('makes every command that needs it fail: %s', (_, text, expected) => {
    write(text);
    expect(refusal().join('\n')).toContain(expected);
  });

  it.each([
    [
      'a private key',
      () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
    ],
    ['a key on another curve', () => publicKey('secp384r1')],
    [
      'a key of RSA',
      () => generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ type: 'spki', format: 'pem' }),
    ],
    ['a text', () => 'hello'],
    ['an empty key', () => '-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n'],
  ])('fails with %s in the place of a public key', (_, content) => {
    writeFileSync(join(home, '.svc', 'acme.pub'), content());
    write('trust: { keys: { acme: ./acme.pub } }\n');
    expect(refusal()).toEqual([
      `E-REG-013 1: trust.keys.acme: ${join(home, '.svc', 'acme.pub')} is no public key for ECDSA on P-256`,
    ]);
  });

  it('counts as known where the rest of the configuration is read', () => {
    write('trust: { rules: [{ names: ["${NOT_SET}"], mode: broken }] }\n');
    expect(loadUserConfig({ home, env: {} })).toEqual({ sources: [], warnings: [] });
  });

  it('stays an unknown, ignored key in a workspace', () => {
    write('trust: { rules: [] }\n');
    const { warnings } = loadWorkspaceConfig({ directory: home, env: {} });
    expect(warnings.map(({ code }) => code)).toEqual(['W-SEC-019']);
  });
});
