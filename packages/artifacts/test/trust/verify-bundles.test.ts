import { createHash, createPrivateKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { sha256Hex } from '@svc/kit/sha256.ts';
import type { TrustedKey } from '../../src/manifest/trust-policy.ts';
import { generateKeys, signWithKey } from '../../src/store/trust/key-pair.ts';
import { BundleVerifier, type Verdict } from '../../src/store/trust/verify-bundles.ts';
import { decodePublicKey } from '../../src/manifest/trust-policy.ts';
import {
  type BundleJson,
  type EntryJson,
  identity,
  issuer,
  MockAuthority,
  type TrustedRootJson,
} from './mock-authority.ts';

const archive = randomBytes(1_300_000);
const sha256 = sha256Hex(archive);
let mock: MockAuthority;
let statement: BundleJson;
let message: BundleJson;

beforeAll(async () => {
  mock = await MockAuthority.start();
  statement = await mock.statement({ sha256 });
  message = await mock.message(archive);
  // Nothing is asked of it from here on.
  mock.stop();
});

afterAll(() => mock.stop());

interface Given {
  readonly bundle: unknown;
  readonly bytes?: Buffer;
  readonly root?: TrustedRootJson;
  readonly keys?: readonly TrustedKey[];
}

async function verdictOn({ bundle, bytes = archive, root = mock.root, keys = [] }: Given): Promise<Verdict> {
  const text = JSON.stringify(root);
  const verifier = new BundleVerifier({ file: 'root.json', text, sha256: sha256Hex(text) }, keys);
  const bundles = [typeof bundle === 'string' ? bundle : JSON.stringify(bundle)];
  const [verdict] = await verifier.verify({ sha256: sha256Hex(bytes), chunks: () => [bytes], bundles }, () => true);
  if (verdict === undefined) throw new Error('there is no verdict');
  return verdict;
}

async function refusal(given: Given): Promise<string> {
  const verdict = await verdictOn(given);
  return verdict.kind === 'refused' ? verdict.reason : 'it holds';
}

function changed(bundle: BundleJson, edit: (copy: BundleJson, entry: EntryJson) => void): BundleJson {
  const copy = structuredClone(bundle);
  const [entry] = copy.verificationMaterial.tlogEntries;
  if (entry === undefined) throw new Error('it has no entry');
  edit(copy, entry);
  return copy;
}

/** One bit of the tenth byte is another. */
function flipped(base64: string): string {
  const bytes = Buffer.from(base64, 'base64');
  bytes[9] = (bytes[9] ?? 0) ^ 1;
  return bytes.toString('base64');
}

const other = Buffer.from(archive);
other[5] = (other[5] ?? 0) ^ 1;

const signer = { kind: 'identity', issuer, identity };

describe('a signature of a CI job', () => {
  it('holds as a statement about the archive, and as a signature of it', async () => {
    expect(await verdictOn({ bundle: statement })).toEqual({ kind: 'valid', signer });
    expect(await verdictOn({ bundle: message })).toEqual({ kind: 'valid', signer });
  });

  it('carries the proof that it was logged, so that nobody has to be asked', () => {
    expect(statement.verificationMaterial.tlogEntries[0]?.inclusionProof).toBeDefined();
    expect(mock.asked).toEqual(['POST /api/v2/signingCert', 'POST /api/v1/log/entries']);
  });

  it.each([
    ['the statement of other bytes', { of: 'statement', bytes: other }, 'it is a signature of other bytes'],
    ['the signature of other bytes', { of: 'message', bytes: other }, 'it is a signature of other bytes'],
  ] as const)('fails: %s', async (_, { of, bytes }, reason) => {
    expect(await refusal({ bundle: of === 'statement' ? statement : message, bytes })).toBe(reason);
  });

  const tampered: Readonly<Record<string, (copy: BundleJson, entry: EntryJson) => void>> = {
    'the log entry is missing': ({ verificationMaterial }) => (verificationMaterial.tlogEntries = []),
    'the promise of the log is changed': (_, { inclusionPromise }) => {
      if (inclusionPromise) inclusionPromise.signedEntryTimestamp = flipped(inclusionPromise.signedEntryTimestamp);
    },
    'the time of the entry is changed': (_, entry) => (entry.integratedTime = '1000000000'),
    'the time of the entry is one second later': (_, entry) =>
      (entry.integratedTime = String(Number(entry.integratedTime) + 1)),
    'the time of the entry is left out': (_, entry) => delete entry.integratedTime,
    'the promise is left out, and with it the time': (_, entry) => delete entry.inclusionPromise,
    'the proof is left out': (_, entry) => delete entry.inclusionProof,
    'proof and promise are left out': (_, entry) => {
      delete entry.inclusionProof;
      delete entry.inclusionPromise;
    },
    'the place in the log is changed': (_, { inclusionProof }) => {
      if (inclusionProof) inclusionProof.logIndex = '1';
    },
    'the place of the entry is changed': (_, entry) => (entry.logIndex = String(Number(entry.logIndex) + 1)),
    'the head of the log is changed': (_, { inclusionProof }) => {
      if (inclusionProof)
        inclusionProof.checkpoint.envelope = inclusionProof.checkpoint.envelope.replace(/\n1\n/, '\n2\n');
    },
    'the entry is of another kind': (_, { kindVersion }) => (kindVersion.kind = 'intoto'),
    'the body of the entry is changed': (_, entry) => (entry.canonicalizedBody = flipped(entry.canonicalizedBody)),
    'the entry is there twice': ({ verificationMaterial: { tlogEntries } }, entry) => tlogEntries.push(entry),
    'the certificate is missing': ({ verificationMaterial }) => delete verificationMaterial.certificate,
    'the certificate is changed': ({ verificationMaterial: { certificate } }) => {
      if (certificate) certificate.rawBytes = flipped(certificate.rawBytes);
    },
    'the certificate is no certificate': ({ verificationMaterial: { certificate } }) => {
      if (certificate) certificate.rawBytes = 'MIIB';
    },
  };
  const ofEither = Object.keys(tampered);

  it.each(ofEither)('fails as a statement: %s', async (name) => {
    expect(await refusal({ bundle: changed(statement, tampered[name] ?? (() => {})) })).not.toBe('it holds');
  });

  it.each(ofEither)('fails as a signature of the archive: %s', async (name) => {
    expect(await refusal({ bundle: changed(message, tampered[name] ?? (() => {})) })).not.toBe('it holds');
  });

  it('must match the root in the signed head of the log, whatever root stands beside it', async () => {
    const bundle = changed(statement, (_, { inclusionProof }) => {
      if (inclusionProof) inclusionProof.rootHash = flipped(inclusionProof.rootHash);
    });
    expect(await refusal({ bundle })).toBe('it holds');
  });

  it('fails with a changed statement, whose hash is still that of the archive', async () => {
    const bundle = changed(statement, ({ dsseEnvelope }) => {
      const text = Buffer.from(dsseEnvelope?.payload ?? '', 'base64').toString();
      if (dsseEnvelope) dsseEnvelope.payload = Buffer.from(text.replace('echo-1.0.0', 'echo-9.9.9')).toString('base64');
    });
    expect(await refusal({ bundle })).not.toBe('it holds');
  });

  it('fails with a changed signature', async () => {
    const inStatement = changed(statement, ({ dsseEnvelope }) => {
      const [first] = dsseEnvelope?.signatures ?? [];
      if (first) first.sig = flipped(first.sig);
    });
    const ofMessage = changed(message, ({ messageSignature }) => {
      if (messageSignature) messageSignature.signature = flipped(messageSignature.signature);
    });
    expect(await refusal({ bundle: inStatement })).not.toBe('it holds');
    expect(await refusal({ bundle: ofMessage })).not.toBe('it holds');
  });

  it('fails with a second signature in its envelope, or none', async () => {
    const twice = changed(statement, ({ dsseEnvelope }) => dsseEnvelope?.signatures.push({ sig: 'AAAA' }));
    const none = changed(statement, ({ dsseEnvelope }) => dsseEnvelope?.signatures.pop());
    expect(await refusal({ bundle: twice })).not.toBe('it holds');
    expect(await refusal({ bundle: none })).not.toBe('it holds');
  });

  it('fails with the certificate and the entry of another signature', async () => {
    const theirs = await (await MockAuthority.open()).statement({ sha256, by: 'https://github.com/evil/x' });
    const bundle = { ...statement, verificationMaterial: theirs.verificationMaterial };
    expect(await refusal({ bundle })).not.toBe('it holds');
  });

  it('fails under a list with another authority, another log, or no log of certificates', async () => {
    const strange = (await MockAuthority.open()).root;
    const { certificateAuthorities, tlogs } = strange;
    expect(await refusal({ bundle: statement, root: { ...mock.root, certificateAuthorities } })).toMatch(
      /certificate/i,
    );
    expect(await refusal({ bundle: statement, root: { ...mock.root, ctlogs: [] } })).toMatch(/SCT/);
    expect(await verdictOn({ bundle: statement, root: { ...mock.root, tlogs } })).toMatchObject({
      kind: 'refused',
      isUnknownLog: true,
    });
  });

  it('fails where it was logged after its certificate had expired, or before it began', async () => {
    // Certificates of the authority are good for ten minutes, and itself begins now.
    const startMs = (Math.floor(Date.now() / 1000) + 3600) * 1000;
    const at = new Date(startMs);
    for (const loggedAt of [new Date(startMs + 601_000), new Date(startMs - 2_000)]) {
      const late = await MockAuthority.open({ at, loggedAt });
      const bundle = await late.statement({ sha256 });
      expect(await refusal({ bundle, root: late.root }), loggedAt.toISOString()).toMatch(/certificate/i);
    }
    const inTime = await MockAuthority.open({ at, loggedAt: new Date(startMs + 599_000) });
    expect(await refusal({ bundle: await inTime.statement({ sha256 }), root: inTime.root })).toBe('it holds');
  });

  it('fails where its certificate was never logged', async () => {
    const silent = await MockAuthority.open({ logsCertificates: false });
    expect(await refusal({ bundle: await silent.statement({ sha256 }), root: silent.root })).toMatch(/SCT/);
  });

  it('fails where its statement says something else than that it made the archive', async () => {
    const authority = await MockAuthority.open();
    const bundle = await authority.statement({
      sha256,
      predicateType: 'https://cosign.sigstore.dev/attestation/vuln/v1',
    });
    expect(await refusal({ bundle, root: authority.root })).toBe('its statement is no provenance');
  });

  it('names the signer as the certificate does, and asks for no pattern', async () => {
    const authority = await MockAuthority.open();
    const bundle = await authority.statement({ sha256, by: 'https://gXthub.com/acme', at: 'https://issuer.example' });
    expect(await verdictOn({ bundle, root: authority.root })).toEqual({
      kind: 'valid',
      signer: { kind: 'identity', issuer: 'https://issuer.example', identity: 'https://gXthub.com/acme' },
    });
  });

  it('fails where its certificate names anybody in other letters than those of ASCII', async () => {
    const authority = await MockAuthority.open();
    for (const by of [{ by: 'https://github.com/acmé' }, { at: 'https://issuer.example/é' }]) {
      const bundle = await authority.statement({ sha256, ...by });
      expect(await refusal({ bundle, root: authority.root })).toBe('its certificate names nobody');
    }
  });

  it.each([
    ['no JSON', '{', 'it is not a JSON object'],
    ['a list', '[]', 'it is not a JSON object'],
    ['an object', '{}', 'it is no sigstore bundle of version 0.1 to 0.3'],
    ['too much', `"${'x'.repeat(65_535)}"`, 'it is larger than 64 KiB'],
  ])('fails: %s', async (_, bundle, reason) => {
    expect(await refusal({ bundle })).toBe(reason);
  });

  it.each([
    ['verificationMaterial', { verificationMaterial: 1 }],
    ['tlogEntries', { verificationMaterial: { certificate: { rawBytes: 'AAAA' }, tlogEntries: [null] } }],
    ['content', { verificationMaterial: { tlogEntries: [] } }],
    ['certificate', { verificationMaterial: { certificate: null, tlogEntries: 7 } }],
    ['chain', { verificationMaterial: { x509CertificateChain: { certificates: [] }, tlogEntries: [] } }],
    ['mediaType', { mediaType: 'application/vnd.dev.sigstore.bundle.v0.4+json' }],
    ['envelope', { dsseEnvelope: null }],
    ['a signature beside the envelope', { messageSignature: [] }],
    ['payload', { dsseEnvelope: { payload: 5, payloadType: 'application/vnd.in-toto+json', signatures: [] } }],
  ])('fails where %s has an invalid shape', async (_, parts) => {
    expect(await refusal({ bundle: { ...statement, ...parts } })).not.toBe('it holds');
  });
});

describe('a signature with a key', () => {
  const pair = generateKeys(null);
  const known: TrustedKey = { name: 'acme', ...trusted(pair.publicPem) };
  let bundle: BundleJson;

  beforeAll(async () => {
    bundle = JSON.parse(await signWithKey([archive], sha256, createPrivateKey(pair.privatePem))) as BundleJson;
  });

  it('holds without any authority or log', async () => {
    expect(JSON.stringify(bundle).length).toBeLessThan(500);
    expect(await verdictOn({ bundle, keys: [known] })).toEqual({
      kind: 'valid',
      signer: { kind: 'key', fingerprint: pair.fingerprint },
    });
  });

  it('fails for other bytes, by another key, and by none', async () => {
    expect(await refusal({ bundle, keys: [known], bytes: other })).toBe('it is a signature of other bytes');
    const digest = createHash('sha256').update(other).digest('base64');
    const claims = {
      ...bundle,
      messageSignature: { ...bundle.messageSignature, messageDigest: { algorithm: 'SHA2_256', digest } },
    };
    const named = 'it names a key of trust.keys, and that key has not made it';
    expect(await refusal({ bundle: claims, keys: [known], bytes: other })).toBe(named);
    const stranger: TrustedKey = { name: 'b', ...trusted(generateKeys(null).publicPem) };
    expect(await refusal({ bundle, keys: [stranger] })).toBe('it is by no key of trust.keys');
    expect(await refusal({ bundle })).toBe('it is by no key of trust.keys');
  });

  it('holds whatever it calls its key, and is by the key that verifies it', async () => {
    const stranger: TrustedKey = { name: 'b', ...trusted(generateKeys(null).publicPem) };
    for (const hint of ['', 'acme', Buffer.from(known.fingerprint, 'hex').toString('base64')]) {
      const named = { ...bundle, verificationMaterial: { publicKey: { hint }, tlogEntries: [] } };
      expect(await verdictOn({ bundle: named, keys: [stranger, known] })).toMatchObject({
        signer: { fingerprint: known.fingerprint },
      });
    }
    const wrong = { ...bundle, verificationMaterial: { publicKey: { hint: stranger.fingerprint }, tlogEntries: [] } };
    expect(await refusal({ bundle: wrong, keys: [stranger, known] })).toBe(
      'it names a key of trust.keys, and that key has not made it',
    );
  });

  it('fails with Ed25519, and with another digest than SHA-256', async () => {
    const { privateKey: ed } = generateKeyPairSync('ed25519');
    const byEd = {
      ...bundle,
      messageSignature: { ...bundle.messageSignature, signature: sign(null, archive, ed).toString('base64') },
    };
    expect(await refusal({ bundle: byEd, keys: [known] })).toBe(
      'it names a key of trust.keys, and that key has not made it',
    );
    const digest = createHash('sha512').update(archive).digest('base64');
    const longer = {
      ...bundle,
      messageSignature: { ...bundle.messageSignature, messageDigest: { algorithm: 'SHA2_512', digest } },
    };
    expect(await refusal({ bundle: longer, keys: [known] })).toBe('it names no SHA-256 of the archive');
  });

  it('fails where the archive changes while it is read', async () => {
    const text = JSON.stringify(mock.root);
    const verifier = new BundleVerifier({ file: 'root.json', text, sha256: '' }, [known]);
    const bundles = [JSON.stringify(bundle)];
    const [verdict] = await verifier.verify({ sha256, chunks: () => [other], bundles }, () => true);
    expect(verdict).toMatchObject({ kind: 'refused', reason: 'the archive has changed while it was verified' });
  });

  it('holds among as many others as an archive can have, whatever key these name', async () => {
    const stranger = generateKeys(null);
    const ofStranger = JSON.parse(
      await signWithKey([archive], sha256, createPrivateKey(stranger.privatePem)),
    ) as BundleJson;
    const named = (hint: string): BundleJson => {
      return { ...ofStranger, verificationMaterial: { publicKey: { hint }, tlogEntries: [] } };
    };
    const keys: TrustedKey[] = [
      { name: 'b', ...trusted(generateKeys(null).publicPem) },
      known,
      { ...known, name: 'the same' },
    ];
    const text = JSON.stringify(mock.root);
    const verifier = new BundleVerifier({ file: 'root.json', text, sha256: '' }, keys);
    const otherMessage = changed(message, ({ messageSignature }) => {
      if (messageSignature) messageSignature.signature = flipped(messageSignature.signature);
    });
    for (const junk of [named(''), named(stranger.fingerprint), named(known.fingerprint), otherMessage]) {
      const bundles = [...Array.from({ length: 15 }, () => JSON.stringify(junk)), JSON.stringify(bundle)];
      const verdicts = await verifier.verify({ sha256, chunks: () => [archive], bundles }, () => true);
      expect(verdicts.at(-1)).toEqual({ kind: 'valid', signer: { kind: 'key', fingerprint: known.fingerprint } });
    }
  });

  it('has the archive read 16 times at most, however many signatures and keys there are', async () => {
    let readings = 0;
    const keys = Array.from({ length: 8 }, (_, index) => ({
      name: `k${index}`,
      ...trusted(generateKeys(null).publicPem),
    }));
    const text = JSON.stringify(mock.root);
    const named = { ...bundle, verificationMaterial: { publicKey: { hint: '' }, tlogEntries: [] } };
    const verifier = new BundleVerifier({ file: 'root.json', text, sha256: '' }, keys);
    const bundles = Array.from({ length: 16 }, () => JSON.stringify(named));
    const chunks = (): Buffer[] => {
      readings += 1;
      return [archive];
    };
    const verdicts = await verifier.verify({ sha256, chunks, bundles }, () => true);
    expect(verdicts.map(({ kind }) => kind)).toEqual(Array.from({ length: 16 }, () => 'refused'));
    expect(readings).toBe(16);
  });
});

describe('a list of authorities', () => {
  it.each(['', '[]', '{}', '{"tlogs":[],"ctlogs":[]}', '{"tlogs":[{}],"certificateAuthorities":[]}'])(
    'fails when it is %j',
    (text) => {
      expect(() => new BundleVerifier({ file: 'root.json', text, sha256: '' }, [])).toThrow(
        /^root.json is no trusted root/,
      );
    },
  );
});

function trusted(publicPem: string): Omit<TrustedKey, 'name'> {
  const spki = decodePublicKey(publicPem);
  if (spki === null) throw new Error('it is no key');
  return { spki, fingerprint: sha256Hex(spki) };
}
