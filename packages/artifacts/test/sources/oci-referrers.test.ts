import { beforeEach, describe, expect, it } from 'vitest';

import { bundleType, indexType, manifestType } from '../../src/store/sources/oci/documents.ts';
import { archiveBytes, toolFiles } from '../store/artifacts.ts';
import { echo, refusalOf } from './hostile-kit.ts';
import { digestOf, MemoryOci } from './memory-oci.ts';
import { acmeOf, publishTo } from './oci-kit.ts';

let registry: MemoryOci;
const bundle = '{"mediaType":"one"}';
const bytes = await archiveBytes(toolFiles('echo'));
const archive = { ...echo, platform: null, sha256: digestOf(bytes).slice(7) };

beforeEach(async () => {
  registry = await MemoryOci.open();
  registry.listsReferrers = true;
  await publishTo(registry, bytes, { signatures: [bundle] });
});

async function signatures(): Promise<readonly string[]> {
  return await acmeOf(registry).signatures(archive);
}

/** Has the registry answer every question for referrers with these. */
function listing(manifests: readonly object[], type = indexType): void {
  registry.fault = ({ url }, response) => {
    if (url?.includes('/referrers/') !== true) return false;
    response.writeHead(200, { 'content-type': type }).end(JSON.stringify({ schemaVersion: 2, manifests }));
    return true;
  };
}

/** Puts a document with these layers, and lists it as a signature. */
function listed(layers: readonly object[]): object {
  const config = { mediaType: 'application/vnd.oci.empty.v1+json', digest: digestOf(Buffer.from('{}')), size: 2 };
  const document = { schemaVersion: 2, mediaType: manifestType, artifactType: bundleType, config, layers };
  const digest = registry.put('acme/echo', manifestType, document);
  return { mediaType: manifestType, digest, size: 1, artifactType: bundleType };
}

const layerOf = (text: string, size = text.length): object => {
  registry.blobs.set(digestOf(Buffer.from(text)), Buffer.from(text));
  return { mediaType: bundleType, digest: digestOf(Buffer.from(text)), size };
};

describe('what an OCI registry lists as signatures', () => {
  it('equals what was published', async () => {
    expect(await signatures()).toEqual([bundle]);
  });

  it('counts only where it is a signature of the size of one, sixteen of them at most', async () => {
    const good = listed([layerOf('{"good":true}')]);
    listing([
      listed([layerOf('a'), layerOf('b')]),
      listed([]),
      listed([layerOf('{"large":true}', 65_537)]),
      listed([{ ...layerOf('{"other":true}'), mediaType: 'application/json' }]),
      { mediaType: manifestType, digest: `sha256:${'0'.repeat(64)}`, size: 1, artifactType: 'application/spdx+json' },
      { mediaType: manifestType, digest: `sha256:${'0'.repeat(64)}`, size: 1, artifactType: bundleType },
      good,
    ]);
    expect(await signatures()).toEqual(['{"good":true}']);
    const before = registry.server.lines.length;
    listing(Array.from({ length: 5000 }, () => good));
    expect(await signatures()).toHaveLength(16);
    expect(registry.server.lines.length - before).toBe(2 + 16 * 2);
  });

  it.each(['application/vnd.oci.empty.v1+json', undefined])(
    'counts where the registry lists it as %s, behind what it lists as a signature',
    async (artifactType) => {
      const unsaid = { ...listed([layerOf('{"unsaid":true}')]), artifactType };
      const other = { ...listed([{ ...layerOf('{"other":true}'), mediaType: 'text/plain' }]), artifactType };
      listing([other, unsaid, listed([layerOf('{"good":true}')])]);
      expect(await signatures()).toEqual(['{"good":true}', '{"unsaid":true}']);
      listing(Array.from({ length: 5000 }, () => other));
      const before = registry.server.lines.length;
      expect(await signatures()).toEqual([]);
      expect(registry.server.lines.length - before).toBe(2 + 16);
    },
  );

  it.each<[string, string, () => void]>([
    [
      'gives other bytes for a signature',
      'E-REG-002',
      () => registry.blobs.set(digestOf(Buffer.from(bundle)), Buffer.from('{"mediaType":"two"}')),
    ],
    [
      'gives another document for the digest of one',
      'E-REG-002',
      () => {
        const descriptor = listed([layerOf('x')]) as { digest: string };
        registry.manifests.set(`acme/echo ${descriptor.digest}`, { type: manifestType, bytes: Buffer.from('{}') });
        listing([descriptor]);
      },
    ],
    [
      'fails',
      'E-IO-003',
      () => {
        registry.fault = ({ url }, response) => {
          if (url?.includes('/referrers/') !== true) return false;
          response.writeHead(503).end();
          return true;
        };
      },
    ],
  ])('fails where the registry %s', async (_, code, spoil) => {
    spoil();
    expect(await refusalOf(signatures())).toMatchObject({ code });
  });

  it.each<[string, () => void]>([
    ['a page', () => listing([], 'text/html')],
    ['a list of nonsense', () => listing([{ digest: 'sha256:nonsense' }])],
    ['more than anybody reads', () => listing([{ pad: 'x'.repeat(5 * 1024 * 1024) }])],
  ])('counts as missing where it is %s', async (_, spoil) => {
    spoil();
    expect(await signatures()).toEqual([]);
  });
});
