import { createPrivateKey } from 'node:crypto';

import { beforeEach, describe, expect, it } from 'vitest';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { bundleType } from '../../src/store/sources/oci/documents.ts';
import { installRef } from '../../src/store/install.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';
import { storeRoot, variantPaths } from '../../src/store/store-layout.ts';
import { type NewKeyPair, signStatementWithKey, signWithKey } from '../../src/store/trust/key-pair.ts';
import { bareBundle, outlineBundle, signaturesBeside, withManifest } from '../../src/store/trust/signature-bundle.ts';
import { vouched } from '../../src/store/trust/statement.ts';
import { verifyLocked } from '../../src/store/trust/verify-installed.ts';
import { archiveBytes, toolFiles } from '../store/artifacts.ts';
import { refusalOf } from '../sources/hostile-kit.ts';
import { digestOf, MemoryOci } from '../sources/memory-oci.ts';
import { acmeOf, publishTo } from '../sources/oci-kit.ts';
import { acme, signedBy, stranger, trustingPlaces } from './trust-kit.ts';

const echo = { name: 'echo', version: '1.0.0' };
const bytes = await archiveBytes(toolFiles('echo'));
const sha256 = sha256Hex(bytes);

let registry: MemoryOci;
let places: StorePlaces;

beforeEach(async () => {
  registry = await MemoryOci.open();
  registry.listsReferrers = true;
  const trusting = trustingPlaces(['{ names: ["*"], signed_by: { key: acme } }'], { keys: { acme } });
  places = { ...trusting, sources: () => [acmeOf(registry)] };
});

function manifest(): Buffer {
  return registry.manifests.get('acme/echo 1.0.0')?.bytes ?? Buffer.alloc(0);
}

/** A statement as tools for such registries make it. */
function stated(of: Buffer, by: NewKeyPair = acme, predicate = vouched): string {
  return signStatementWithKey({ name: 'echo', sha256: sha256Hex(of), predicate }, createPrivateKey(by.privatePem));
}

/** Attaches a signature to what was published, as such tools do. */
function attach(bundle: string): void {
  const [config, layer] = [Buffer.from('{}'), Buffer.from(bundle)];
  for (const each of [config, layer]) registry.blobs.set(digestOf(each), each);
  registry.put('acme/echo', 'application/vnd.oci.image.manifest.v1+json', {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    artifactType: bundleType,
    config: { mediaType: 'application/vnd.oci.empty.v1+json', digest: digestOf(config), size: config.length },
    layers: [{ mediaType: bundleType, digest: digestOf(layer), size: layer.length }],
    subject: { mediaType: 'application/vnd.oci.image.manifest.v1+json', digest: digestOf(manifest()), size: 1 },
  });
}

/** The code of what it is refused with. */
async function install(): Promise<string | null> {
  const request = {
    ...places,
    entries: [],
    prepare: () => Promise.resolve(),
    onSkills: () => Promise.resolve(),
    onStored: () => {},
    onWarning: () => {},
  };
  const refusal = await refusalOf(installRef(echo, request));
  return refusal === 'stored' ? null : refusal.code;
}

describe('a signature of the manifest of an archive', () => {
  it('lets the archive in that the manifest names, and verifies later without the registry', async () => {
    await publishTo(registry, bytes);
    expect(await install()).toBe('E-REG-011');
    attach(stated(manifest()));
    expect(await install()).toBe(null);
    const [kept = ''] = signaturesBeside(variantPaths(storeRoot(places.manifestDir), echo, null).archive);
    expect(outlineBundle(kept)).toMatchObject({ kind: 'bundle', signs: 'statement', manifest: manifest() });
    const entry = { ...echo, runtime: 'tool' } as const;
    const found = await verifyLocked([{ ...echo, platform: null, sha256 }], {
      ...places,
      sources: () => [],
      entries: [entry],
    });
    expect(found).toMatchObject([{ state: 'signed', signer: { fingerprint: acme.fingerprint } }]);
  });

  it('holds too where it is no statement', async () => {
    await publishTo(registry, bytes);
    attach(await signWithKey([manifest()], sha256Hex(manifest()), createPrivateKey(acme.privatePem)));
    expect(await install()).toBe(null);
  });

  it.each([
    ['is by somebody else', () => stated(manifest(), stranger), 'E-REG-012'],
    ['is of another manifest', () => stated(Buffer.from(`${manifest().toString()} `)), 'E-REG-012'],
    [
      'says something else',
      () => stated(manifest(), acme, { type: 'https://example.com/malware', content: {} }),
      'E-REG-012',
    ],
    ['was changed', () => stated(manifest()).replace(/"sig":"..../, '"sig":"AAAA'), 'E-REG-012'],
  ])('counts for nothing where it %s', async (_, made, code) => {
    await publishTo(registry, bytes);
    attach(made());
    expect(await install()).toBe(code);
  });

  it('stands beside that of the archive after svc publish --sign, for tools that look for it', async () => {
    const asked: string[] = [];
    await publishTo(registry, bytes, {
      signatures: [await signedBy(acme, bytes)],
      vouchFor: async ({ name, sha256: of }) => {
        asked.push(`${name} ${of}`);
        return signStatementWithKey({ name, sha256: of, predicate: vouched }, createPrivateKey(acme.privatePem));
      },
    });
    expect(asked).toEqual([`${registry.host}/acme/echo ${sha256Hex(manifest())}`]);
    const found = (await acmeOf(registry).signatures({ ...echo, sha256 })).map(outlineBundle);
    const kinds = found.map((each) => (each.kind === 'bundle' && each.isOf(sha256) ? each.signs : each.kind));
    expect(new Set(kinds)).toEqual(new Set(['archive', 'statement']));
  });

  it('goes to another registry as other tools know it, if the manifest is the same there', async () => {
    await publishTo(registry, bytes);
    const mine = withManifest(stated(manifest()), manifest()) ?? '';
    const foreign =
      withManifest(stated(Buffer.from(`${manifest().toString()}\n`)), Buffer.from(`${manifest().toString()}\n`)) ?? '';
    registry = await MemoryOci.open();
    registry.listsReferrers = true;
    await publishTo(registry, bytes, { signatures: [mine, foreign] });
    const blobs = [...registry.blobs.values()].map(String);
    expect(blobs).toContain(bareBundle(mine));
    expect(blobs).not.toContain(bareBundle(foreign));
    expect(JSON.parse(bareBundle(mine))).not.toHaveProperty('ociManifest');
  });

  it.each([
    ['of another archive', (text: string) => text.replace(sha256, '0'.repeat(64))],
    ['of two layers', (text: string) => text.replace('"layers":[', '"layers":[{},')],
    ['of another kind', (text: string) => text.replace('svc.artifact.config', 'other.config')],
    ['that is no JSON', () => '{'],
  ])('does not speak for an archive through a manifest %s', (_, change) => {
    const text = JSON.stringify({
      config: { mediaType: 'application/vnd.svc.artifact.config.v1+json' },
      layers: [{ mediaType: 'application/vnd.svc.artifact.archive.v1+zip', digest: `sha256:${sha256}` }],
    });
    const speaks = (written: string): boolean => {
      const bundle = withManifest(stated(Buffer.from(written)), Buffer.from(written)) ?? '';
      const outline = outlineBundle(bundle);
      return outline.kind === 'bundle' && outline.isOf(sha256);
    };
    expect([speaks(text), speaks(change(text))]).toEqual([true, false]);
  });

  it('names the file that clients of other projects write', async () => {
    await publishTo(registry, bytes);
    expect(JSON.parse(String(manifest()))).toMatchObject({
      layers: [{ annotations: { 'org.opencontainers.image.title': 'echo-1.0.0.zip' } }],
    });
  });
});
