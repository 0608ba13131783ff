import { existsSync, readdirSync } from 'node:fs';

import { beforeEach, describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { parseOciReference } from '../../src/manifest/oci-reference.ts';
import { installPacked } from '../../src/store/install.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';
import { readLock } from '../../src/store/lockfile.ts';
import { manifestType, type PlainComponent } from '../../src/store/sources/oci/documents.ts';
import { type ComponentPacking, PackedComponentSource } from '../../src/store/sources/oci/packed-component.ts';
import { storeRoot } from '../../src/store/store-layout.ts';
import { archiveBytes, codesOf, componentBytes, emptyPlaces, toolFiles } from '../store/artifacts.ts';
import { trustingPlaces } from '../trust/trust-kit.ts';
import { refusalOf } from './hostile-kit.ts';
import { digestOf, MemoryOci } from './memory-oci.ts';
import { accessWith, acmeOf, installOfEcho, publishTo } from './oci-kit.ts';

let registry: MemoryOci;
let places: StorePlaces;

beforeEach(async () => {
  registry = await MemoryOci.open();
  places = emptyPlaces();
});

const component: PlainComponent = {
  bytes: componentBytes,
  imports: ['wasi:io/streams@0.2.12'],
  exports: ['svc:tool/run@0.1.0'],
};

function underTag(tag: string): { readonly digest: string; readonly document: Record<string, unknown> } {
  const held = registry.manifests.get(`acme/echo ${tag}`);
  if (held === undefined) throw new Error(`there is no ${tag}`);
  return { digest: digestOf(held.bytes), document: JSON.parse(String(held.bytes)) as Record<string, unknown> };
}

describe('a component that is published alone', async () => {
  const bytes = await archiveBytes(toolFiles('echo'));

  it('has the config and the one layer that clients of other projects look for', async () => {
    await publishTo(registry, bytes, { component });
    const { document } = underTag('1.0.0-wasm');
    const config = document['config'] as { readonly digest: string };
    expect(document).toEqual({
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: { mediaType: 'application/vnd.wasm.config.v0+json', digest: config.digest, size: 259 },
      layers: [
        {
          mediaType: 'application/wasm',
          digest: digestOf(componentBytes),
          size: 8,
          annotations: { 'org.opencontainers.image.title': 'echo.wasm' },
        },
      ],
      annotations: { 'org.opencontainers.image.title': 'echo', 'org.opencontainers.image.version': '1.0.0' },
    });
    expect(JSON.parse(String(registry.blobs.get(config.digest)))).toEqual({
      created: '1980-01-01T00:00:00Z',
      architecture: 'wasm',
      os: 'wasip2',
      layerDigests: [digestOf(componentBytes)],
      component: { exports: ['svc:tool/run@0.1.0'], imports: ['wasi:io/streams@0.2.12'], target: null },
    });
    expect(registry.blobs.get(digestOf(componentBytes))?.equals(componentBytes)).toBe(true);
  });

  it('has the same digest each time, and may be there already', async () => {
    await publishTo(registry, bytes, { component });
    const { digest } = underTag('1.0.0-wasm');
    registry.manifests.delete('acme/echo 1.0.0');
    await publishTo(registry, bytes, { component });
    expect(underTag('1.0.0-wasm').digest).toBe(digest);
  });

  it('takes the place of nothing else, and then the version is not published', async () => {
    registry.put('acme/echo', manifestType, { schemaVersion: 2 }, '1.0.0-wasm');
    expect(await refusalOf(publishTo(registry, bytes, { component }))).toMatchObject({
      code: 'E-REG-003',
      message: expect.stringContaining('acme/echo:1.0.0-wasm is published already'),
    });
    expect(registry.manifests.has('acme/echo 1.0.0')).toBe(false);
  });

  it('comes with no version that is there already', async () => {
    await publishTo(registry, bytes);
    expect(await refusalOf(publishTo(registry, bytes, { component }))).toMatchObject({ code: 'E-REG-003' });
    expect(registry.manifests.has('acme/echo 1.0.0-wasm')).toBe(false);
  });

  it('does not count as an artifact: the error says what to do', async () => {
    await publishTo(registry, bytes, { component });
    const asked = acmeOf(registry).fetch({ name: 'echo', version: '1.0.0-wasm' }, 'linux-x86_64');
    expect(await refusalOf(asked)).toMatchObject({
      code: 'E-ART-014',
      hint: expect.stringContaining('--artifact-manifest'),
    });
  });
});

/** Puts a component under a tag as a client of another project does. */
function putComponent({
  tag = 'latest',
  size = componentBytes.length,
  digest = digestOf(componentBytes),
} = {}): string {
  registry.blobs.set(digest, componentBytes);
  const config = Buffer.from('{}');
  return registry.put(
    'other/grep',
    manifestType,
    {
      schemaVersion: 2,
      mediaType: manifestType,
      config: { mediaType: 'application/vnd.wasm.config.v0+json', digest: digestOf(config), size: config.length },
      layers: [{ mediaType: 'application/wasm', digest, size }],
    },
    tag,
  );
}

const manifestText = 'name: grep\nversion: 2.0.1\nruntime: tool\ndescription: Finds lines.\n';

function packed({
  reference = 'other/grep:latest',
  exports = ['svc:tool/run@0.1.0'],
  ...packing
}: Partial<ComponentPacking> & {
  readonly reference?: string;
  readonly exports?: readonly string[] | null;
} = {}): PackedComponentSource {
  const all = {
    manifestText,
    manifestPath: 'grep.yaml',
    exportsOf: () => exports,
    checkArtifact: () => Promise.resolve(),
    ...packing,
  };
  return new PackedComponentSource(parseOciReference(`oci://${registry.host}/${reference}`), all, accessWith());
}

async function take(source: () => PackedComponentSource = packed): ReturnType<typeof refusalOf> {
  const request = { ...installOfEcho(places, () => []), entries: [] };
  return await refusalOf(Promise.resolve().then(async () => await installPacked(source(), request)));
}

describe('a component of another project', () => {
  it('becomes the same archive wherever it is packed, and svc.lock says what it came from', async () => {
    const digest = putComponent();
    const entry = { name: 'grep', version: '2.0.1', runtime: 'tool', config: {} };
    const request = {
      ...installOfEcho(places, () => []),
      entries: [entry] as unknown as ReturnType<typeof installOfEcho>['entries'],
    };
    const installed = await installPacked(packed(), request);
    const sha256 = digestOf(
      await archiveBytes([
        { name: 'svc.yaml', data: Buffer.from(manifestText) },
        { name: 'component.wasm', data: componentBytes },
      ]),
    ).slice(7);
    const from = `oci://${registry.host}/other/grep@${digest}`;
    expect(installed).toMatchObject({ name: 'grep', version: '2.0.1', sha256, from });
    expect(readLock(places.manifestDir)).toEqual([{ name: 'grep', version: '2.0.1', platform: null, sha256, from }]);
    expect(await take(() => packed({ reference: `other/grep:latest@${digest}` }))).toBe('stored');
  });

  it('must match svc.lock, what it is packed with included', async () => {
    putComponent();
    const entry = { name: 'grep', version: '2.0.1', runtime: 'tool', config: {} };
    const entries = [entry] as unknown as ReturnType<typeof installOfEcho>['entries'];
    const request = { ...installOfEcho(places, () => []), entries };
    await installPacked(packed(), request);
    const other = packed({ manifestText: `${manifestText}tags: [x]\n` });
    expect(await codesOf(installPacked(other, request))).toEqual(['E-REG-005']);
  });

  it.each<[string, string, RegExp, () => PackedComponentSource]>([
    [
      'exports other interfaces',
      'E-ART-014',
      /latest has exports wasi:cli\/run@0\.2\.0, greet, not svc:tool\/run$/,
      () => packed({ exports: ['wasi:cli/run@0.2.0', 'greet'] }),
    ],
    ['exports nothing', 'E-ART-014', /exports nothing, not svc:tool\/run$/, () => packed({ exports: [] })],
    [
      'exports more than anybody reads',
      'E-ART-014',
      /exports (?:e\d, ){5}e5 and 9994 more, not/,
      () => packed({ exports: Array.from({ length: 10_000 }, (_, index) => `e${index}`) }),
    ],
    [
      'exports something for a terminal',
      'E-ART-014',
      /exports \\u\{1b\}\]0;evil\\u\{7\}x{90,94}…, not svc:tool\/run$/,
      () => packed({ exports: [`\u001B]0;evil\u0007${'x'.repeat(5000)}`] }),
    ],
    [
      'exports what only looks like it',
      'E-ART-014',
      /not svc:tool\/run$/,
      () => packed({ exports: ['svc:tool/runs', 'x:svc:tool/run', 'svc:tool/run\n'] }),
    ],
    ['is no component', 'E-ART-014', /is no WebAssembly component$/, () => packed({ exports: null })],
    ['is nowhere', 'E-REG-001', /there is no oci:/, () => packed({ reference: 'other/grep:none' })],
    [
      'is under another tag than its digest',
      'E-REG-002',
      /:latest is sha256:[0-9a-f]+ now, not sha256:0+$/,
      () => packed({ reference: `other/grep:latest@sha256:${'0'.repeat(64)}` }),
    ],
    [
      'gets the svc.yaml of a skill',
      'E-ART-014',
      /grep\.yaml is not the svc\.yaml of a tool that is a component$/,
      () => packed({ manifestText: 'name: grep\nversion: 2.0.1\nruntime: skill\n' }),
    ],
    [
      'gets the svc.yaml of a program',
      'E-ART-014',
      /is not the svc\.yaml of a tool/,
      () => packed({ manifestText: `${manifestText}implementation: native\n` }),
    ],
    [
      'gets the svc.yaml of a capsule',
      'E-ART-014',
      /is not the svc\.yaml of a tool/,
      () => packed({ manifestText: `${manifestText}inference: { model: m }\n` }),
    ],
    [
      'gets an svc.yaml that its check refuses',
      'E-MAN-003',
      /no good/,
      () => packed({ checkArtifact: () => Promise.reject(new Diagnostic('E-MAN-003', 'no good')) }),
    ],
  ])('fails when it %s, and nothing is stored', async (_, code, message, source) => {
    putComponent();
    const refused = await take(source);
    expect(refused).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(existsSync(storeRoot(places.manifestDir)) ? readdirSync(storeRoot(places.manifestDir)) : []).toEqual([]);
  });

  it.each<[string, string, () => void]>([
    ['other bytes', 'E-REG-002', () => putComponent({ digest: digestOf(Buffer.from('other')) })],
    ['more bytes than it announces', 'E-REG-002', () => putComponent({ size: 4 })],
    ['129 MiB', 'E-ART-003', () => putComponent({ size: 129 * 1024 * 1024 })],
    [
      'two layers',
      'E-ART-014',
      () => {
        const digest = putComponent();
        const document = JSON.parse(String(registry.manifests.get(`other/grep ${digest}`)?.bytes)) as {
          layers: object[];
        };
        registry.put(
          'other/grep',
          manifestType,
          { ...document, layers: [...document.layers, ...document.layers] },
          'latest',
        );
      },
    ],
    [
      'an artifact of svc',
      'E-ART-014',
      () => {
        const config = {
          mediaType: 'application/vnd.svc.artifact.config.v1+json',
          digest: digestOf(componentBytes),
          size: 8,
        };
        const layer = { ...config, mediaType: 'application/vnd.svc.artifact.archive.v1+zip' };
        registry.put('other/grep', manifestType, { schemaVersion: 2, config, layers: [layer] }, 'latest');
      },
    ],
  ])('fails where its registry has %s', async (_, code, put) => {
    put();
    expect(await take()).toMatchObject({ code });
  });

  it('does not pass a rule that wants a signature', async () => {
    putComponent();
    places = trustingPlaces(['{ names: ["*"], mode: refuse-unsigned }'], { keys: {} });
    expect(await take()).toMatchObject({ code: 'E-REG-011' });
  });
});
