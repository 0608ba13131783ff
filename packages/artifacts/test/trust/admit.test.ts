import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import type { LockedArtifact } from '../../src/store/lockfile.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';
import { admit, type Admission } from '../../src/store/trust/admit.ts';
import { emptyPlaces } from '../store/artifacts.ts';
import { identity, issuer, MockAuthority } from './mock-authority.ts';
import { acme, signedBy, stranger, trustingPlaces } from './trust-kit.ts';

const archive = Buffer.from('an archive, as far as signatures go');
const sha256 = sha256Hex(archive);
const byAcme = `{ names: ["echo"], signed_by: { key: acme } }`;
const keys = { acme };

interface Asked {
  readonly bundles?: readonly string[];
  readonly lock?: readonly LockedArtifact[];
  readonly acceptSigner?: boolean;
  readonly onAsked?: () => void;
}

async function asked(
  places: StorePlaces,
  { bundles = [], lock = [], acceptSigner = false, onAsked }: Asked = {},
): Promise<Admission> {
  const signatures = (): readonly string[] => {
    onAsked?.();
    return bundles;
  };
  const candidate = { ref: { name: 'echo', version: '1.0.0' }, sha256, chunks: () => [archive], signatures };
  return await admit(candidate, { ...places, lock: () => lock, acceptSigner });
}

async function refusal(places: StorePlaces, given: Asked = {}): Promise<Diagnostic> {
  const error: unknown = await asked(places, given).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof Diagnostic) return error;
  throw error ?? new Error('it was not refused');
}

const signed = (pair: { readonly fingerprint: string }): Admission => ({
  kind: 'signed',
  signer: { kind: 'key', fingerprint: pair.fingerprint },
});

describe('an archive', () => {
  it('passes unlooked at where there is no policy, and where no rule is for it', async () => {
    const fails = (): never => {
      throw new Error('its signatures were asked for');
    };
    expect(await asked(emptyPlaces(), { onAsked: fails })).toEqual({ kind: 'unchecked' });
    const others = trustingPlaces(['{ names: ["other", "echo-*"], mode: refuse-unsigned }']);
    expect(await asked(others, { onAsked: fails })).toEqual({ kind: 'unchecked' });
  });

  it('passes with the signature that its rule wants, among others that do not hold', async () => {
    const places = trustingPlaces([byAcme], { keys });
    const bundles = [
      '{',
      await signedBy(stranger, archive),
      await signedBy(acme, Buffer.from('x')),
      await signedBy(acme, archive),
    ];
    expect(await asked(places, { bundles })).toEqual(signed(acme));
  });

  it('fails without a signature, by the rule and its line', async () => {
    const places = trustingPlaces(['{ names: ["z"], mode: refuse-unsigned }', byAcme], { keys });
    const { code, message, location, hint } = await refusal(places);
    const file = join(places.userHome, '.svc', 'config.yaml');
    expect([code, message]).toEqual([
      'E-REG-011',
      `echo@1.0.0 has no signature, and the rule for echo in line 6 of ${file} wants one of the key acme`,
    ]);
    expect(location).toMatchObject({ file, line: 6 });
    expect(hint).toContain('svc install');
  });

  it('fails with a signature that does not hold, and says what is wrong with it', async () => {
    const places = trustingPlaces([byAcme], { keys });
    const { code, message } = await refusal(places, { bundles: ['{', await signedBy(acme, Buffer.from('x'))] });
    expect([code, message]).toEqual([
      'E-REG-012',
      'the signature of echo@1.0.0 does not hold: it is not a JSON object; it is a signature of other bytes',
    ]);
  });

  it('fails with a valid signature of another signer, and names both', async () => {
    const places = trustingPlaces([byAcme], { keys: { acme, stranger } });
    const { code, message } = await refusal(places, { bundles: [await signedBy(stranger, archive)] });
    const file = join(places.userHome, '.svc', 'config.yaml');
    expect([code, message]).toEqual([
      'E-REG-009',
      `echo@1.0.0 is signed by the key stranger, and the rule for echo in line 5 of ${file} wants the key acme`,
    ]);
  });

  it('passes with a warning where the rule only warns, whatever is wrong', async () => {
    const places = trustingPlaces([`{ names: ["*"], signed_by: { key: acme }, mode: warn }`], { keys });
    for (const bundles of [[], ['{'], [await signedBy(stranger, archive)]]) {
      const admission = await asked(places, { bundles });
      expect(admission.kind === 'warned' ? admission.warning.code : admission.kind).toBe('W-REG-006');
    }
    expect(await asked(places, { bundles: [await signedBy(acme, archive)] })).toEqual(signed(acme));
  });

  it('counts as possibly tampered with when its signature by a known key is broken', async () => {
    const bundle = JSON.parse(await signedBy(acme, archive)) as { messageSignature: { signature: string } };
    const other = JSON.parse(await signedBy(stranger, archive)) as typeof bundle;
    bundle.messageSignature.signature = other.messageSignature.signature;
    const { code, message, hint } = await refusal(trustingPlaces([byAcme], { keys }), {
      bundles: [JSON.stringify(bundle), JSON.stringify(other)],
    });
    expect([code, message]).toEqual([
      'E-REG-012',
      'the signature of echo@1.0.0 does not hold: it names a key of trust.keys, and that key has not made it; it is by no key of trust.keys',
    ]);
    expect(hint).toBe('do not use it before you know why: it may have been tampered with on its way');
  });

  it('comes from a known signer, where the rule asks for no more', async () => {
    const anybody = ['{ names: ["*"], mode: refuse-unsigned }'];
    expect(await asked(trustingPlaces(anybody, { keys }), { bundles: [await signedBy(acme, archive)] })).toEqual(
      signed(acme),
    );
    const unknown = await refusal(trustingPlaces(anybody, { keys }), { bundles: [await signedBy(stranger, archive)] });
    expect(unknown.code).toBe('E-REG-012');
    expect(unknown.hint).toBe(
      'its publisher may have a key that is not known here: get the public key from them, another way than the archive came, and add it to trust.keys in ~/.svc/config.yaml; else do not use it',
    );
    const named = await refusal(trustingPlaces([byAcme], { keys: { acme } }), {
      bundles: [await signedBy(stranger, archive)],
    });
    expect(named.hint).toContain('and add it to trust.keys and to signed_by of the rule in ~/.svc/config.yaml');
    expect((await refusal(trustingPlaces(anybody))).code).toBe('E-REG-011');
  });

  it.each([
    ['the policy', 'config.yaml', 'trust: {\n'],
    ['the list of authorities', 'root.json', 'no list'],
    ['a key', 'acme.pub', 'no key'],
  ])('fails where %s cannot be read, signed or not', async (_, file, text) => {
    const places = trustingPlaces([`{ names: ["*"], signed_by: { key: acme }, mode: warn }`], { keys });
    writeFileSync(join(places.userHome, '.svc', file), text);
    const bundles = [await signedBy(acme, archive)];
    const codes = await asked(places, { bundles }).catch((error: unknown) => {
      return error instanceof Diagnostic
        ? [error.code]
        : (error as { diagnostics: Diagnostic[] }).diagnostics.map(({ code }) => code);
    });
    expect(codes).toEqual(['E-REG-013']);
  });
});

describe('a signature of a CI job', () => {
  const rule = (wanted: string, at = issuer): string =>
    `{ names: ["echo"], signed_by: { issuer: "${at}", identity: "${wanted}" } }`;

  it('must match the rule in the whole text, with no star across a slash', async () => {
    const authority = await MockAuthority.open();
    const bundles = [JSON.stringify(await authority.statement({ sha256 }))];
    const accepted = { kind: 'signed', signer: { kind: 'identity', issuer, identity } };
    for (const wanted of [identity, identity.replace('v1.0.0', '*'), identity.replace('acme/tools', 'acme/*')]) {
      expect(await asked(trustingPlaces([rule(wanted)], { authority }), { bundles }), wanted).toEqual(accepted);
    }
    for (const wanted of [
      'g.thub',
      'https://github.com/*',
      'github.com',
      identity.slice(0, -1),
      identity.replace('acme', '.*'),
    ]) {
      const { code } = await refusal(trustingPlaces([rule(wanted)], { authority }), { bundles });
      expect(code, wanted).toBe('E-REG-009');
    }
    for (const at of [`${issuer}/`, 'https://token', '*']) {
      const { code } = await refusal(trustingPlaces([rule(identity, at)], { authority }), { bundles });
      expect(code, at).toBe('E-REG-009');
    }
  });

  it('fails in an unknown log with advice to fetch the current list', async () => {
    const authority = await MockAuthority.open();
    const other = await MockAuthority.open();
    const bundles = [JSON.stringify(await authority.statement({ sha256 }))];
    const { code, hint } = await refusal(trustingPlaces([rule('*')], { authority: other }), { bundles });
    expect(code).toBe('E-REG-012');
    expect(hint).toContain('svc trust update');
    const broken = JSON.stringify(await authority.statement({ sha256: sha256Hex('x') }));
    expect((await refusal(trustingPlaces([rule('*')], { authority }), { bundles: [broken] })).hint).not.toContain(
      'update',
    );
  });
});

describe('what svc.lock records of a signer', () => {
  const locked = (fingerprint: string, version = '0.9.0'): LockedArtifact => {
    return { name: 'echo', version, platform: null, sha256: sha256Hex('old'), signedBy: { kind: 'key', fingerprint } };
  };
  const anyOf = '{ names: ["*"], mode: refuse-unsigned }';

  it('holds the next version to the same one, until another is accepted', async () => {
    const places = trustingPlaces([anyOf], { keys: { acme, stranger } });
    const bundles = [await signedBy(acme, archive)];
    expect(await asked(places, { bundles, lock: [locked(acme.fingerprint)] })).toEqual(signed(acme));
    const { code, message } = await refusal(places, { bundles, lock: [locked(stranger.fingerprint)] });
    expect([code, message]).toEqual([
      'E-REG-009',
      'echo@1.0.0 is signed by the key acme, but svc.lock records the key stranger',
    ]);
    const accepted = await asked(places, { bundles, lock: [locked(stranger.fingerprint)], acceptSigner: true });
    expect(accepted).toEqual(signed(acme));
  });

  it('admits nobody whom the rule does not accept', async () => {
    const places = trustingPlaces([byAcme], { keys: { acme, stranger } });
    const bundles = [await signedBy(stranger, archive)];
    const lock = [locked(stranger.fingerprint, '1.0.0')];
    expect((await refusal(places, { bundles, lock })).code).toBe('E-REG-009');
    expect((await refusal(places, { bundles, lock, acceptSigner: true })).code).toBe('E-REG-009');
  });

  it('takes the signature of the recorded one among several that hold', async () => {
    const places = trustingPlaces([anyOf], { keys: { acme, stranger } });
    const bundles = [await signedBy(acme, archive), await signedBy(stranger, archive)];
    expect(await asked(places, { bundles, lock: [locked(stranger.fingerprint)] })).toEqual(signed(stranger));
  });
});

describe('an archive that was verified before', () => {
  it('needs no second check, as long as the list of authorities stays', async () => {
    const places = trustingPlaces([byAcme], { keys });
    await asked(places, { bundles: [await signedBy(acme, archive)] });
    const never = (): never => {
      throw new Error('its signatures were asked for');
    };
    expect(await asked(places, { onAsked: never })).toEqual(signed(acme));
    writeFileSync(
      join(places.userHome, '.svc', 'root.json'),
      JSON.stringify({ tlogs: [], ctlogs: [], certificateAuthorities: [] }),
    );
    expect((await refusal(places)).code).toBe('E-REG-011');
  });

  it('must meet the current rules', async () => {
    const places = trustingPlaces([byAcme], { keys: { acme, stranger } });
    await asked(places, { bundles: [await signedBy(acme, archive)] });
    const config = join(places.userHome, '.svc', 'config.yaml');
    writeFileSync(
      config,
      readFileSync(config, 'utf8').replace('signed_by: { key: acme }', 'signed_by: { key: stranger }'),
    );
    expect((await refusal(places, { bundles: [await signedBy(acme, archive)] })).code).toBe('E-REG-009');
  });

  it('keeps its pass for this user alone, and does without where the home is read only', async () => {
    const places = trustingPlaces([byAcme], { keys });
    const bundles = [await signedBy(acme, archive)];
    await asked(places, { bundles });
    const directory = join(places.userHome, '.svc', 'cache', 'verified');
    expect(readdirSync(directory)).toEqual([`${sha256}.json`]);
    rmSync(join(places.userHome, '.svc', 'cache'), { recursive: true });
    writeFileSync(join(places.userHome, '.svc', 'cache'), 'no directory');
    expect(await asked(places, { bundles })).toEqual(signed(acme));
  });

  it.each([
    ['of other bytes', (pass: object) => ({ ...pass, sha256: sha256Hex('x') })],
    ['of another version', (pass: object) => ({ ...pass, pass_version: 2 })],
    ['by nobody', (pass: object) => ({ ...pass, signed_by: {} })],
    ['of no shape', () => null],
  ])('needs verification again with a pass %s', async (_, changed) => {
    const places = trustingPlaces([byAcme], { keys });
    await asked(places, { bundles: [await signedBy(acme, archive)] });
    const file = join(places.userHome, '.svc', 'cache', 'verified', `${sha256}.json`);
    writeFileSync(file, JSON.stringify(changed(JSON.parse(readFileSync(file, 'utf8')) as object)));
    expect((await refusal(places)).code).toBe('E-REG-011');
    expect(existsSync(file)).toBe(true);
    mkdirSync(places.packageRoot, { recursive: true });
  });
});
