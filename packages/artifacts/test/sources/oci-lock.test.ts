import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { ociAddress, parseOciReference } from '../../src/manifest/oci-reference.ts';
import { installEntries, installOci } from '../../src/store/install.ts';
import type { ArtifactSource } from '../../src/store/installed-artifact.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';
import { type LockedArtifact, readLock, upsertLock } from '../../src/store/lockfile.ts';
import { OciPlaceSource } from '../../src/store/sources/oci/oci-source.ts';
import { archiveBytes, emptyPlaces, toolFiles } from '../store/artifacts.ts';
import { echo, refusalOf } from './hostile-kit.ts';
import { digestOf, MemoryOci } from './memory-oci.ts';
import { accessWith, acmeOf, installOfEcho, publishTo, putMarked } from './oci-kit.ts';

let registry: MemoryOci;
let places: StorePlaces;
let bytes: Buffer;

beforeEach(async () => {
  registry = await MemoryOci.open();
  places = emptyPlaces();
  bytes = await archiveBytes(toolFiles('echo'));
});

/** As `svc install` does it: the registry in use, or the place that is named. */
function sources(from?: string): readonly ArtifactSource[] {
  return [from === undefined ? acmeOf(registry) : new OciPlaceSource(ociAddress(from), accessWith())];
}

async function install(isFrozen = false, asked: StorePlaces['sources'] = sources): ReturnType<typeof refusalOf> {
  return await refusalOf(installEntries(installOfEcho(places, asked, { isFrozen })));
}

function locked(): readonly LockedArtifact[] {
  return readLock(places.manifestDir) ?? [];
}

function emptyStore(): void {
  rmSync(join(places.manifestDir, '.svc'), { recursive: true });
}

function underTag(): string {
  const held = registry.manifests.get('acme/echo 1.0.0');
  if (held === undefined) throw new Error('there is no such tag');
  return digestOf(held.bytes);
}

describe('svc.lock of what came from an OCI registry', () => {
  it('has the digest of the manifest that has the archive, and keeps it where nothing is fetched', async () => {
    await publishTo(registry, bytes);
    expect(await install()).toBe('stored');
    const from = `oci://${registry.host}/acme/echo@${underTag()}`;
    const whole = [{ ...echo, platform: null, sha256: digestOf(bytes).slice(7), from }];
    expect(locked()).toEqual(whole);
    expect(await install()).toBe('stored');
    expect(locked()).toEqual(whole);
  });

  it('names the manifest of a variant, which another variant beside it does not change', async () => {
    await publishTo(registry, bytes, { platforms: ['linux-x86_64'] });
    expect(await install()).toBe('stored');
    const [before] = locked();
    expect(before).toMatchObject({ platform: 'linux-x86_64', from: expect.stringContaining('/acme/echo@sha256:') });
    expect(before?.from).not.toContain(underTag());
    await publishTo(registry, await archiveBytes(toolFiles('echo', '1.0.0', 'arm')), { platforms: ['linux-aarch64'] });
    for (const isFrozen of [false, true]) {
      emptyStore();
      expect(await install(isFrozen)).toBe('stored');
      expect(locked()).toEqual([before]);
    }
  });

  it.each(['other bytes', 'the same bytes in another document'])(
    'does not lead to %s that a tag was moved to, and --frozen takes what it records',
    async (what) => {
      const held = putMarked(registry, bytes, 'first');
      expect(await install()).toBe('stored');
      const before = locked();
      const other = what === 'other bytes' ? await archiveBytes(toolFiles('echo', '1.0.0', 'moved')) : bytes;
      const moved = putMarked(registry, other, 'second');
      emptyStore();
      const refused = await install();
      expect(refused).toMatchObject({ code: 'E-REG-005' });
      if (other === bytes) {
        expect(refused).toMatchObject({
          message: `oci://${registry.host}/acme/echo has echo@1.0.0 as ${moved} now, but svc.lock records ${held}`,
        });
      }
      const asked = registry.server.lines.length;
      expect(await install(true)).toBe('stored');
      expect(locked()).toEqual(before);
      expect(registry.server.lines.slice(asked).filter((line) => line.endsWith('/manifests/1.0.0'))).toEqual([]);
    },
  );

  it('binds a reference that names the artifact', async () => {
    putMarked(registry, bytes, 'first');
    expect(await install()).toBe('stored');
    emptyStore();
    putMarked(registry, bytes, 'second');
    const reference = parseOciReference(`oci://${registry.host}/acme/echo:1.0.0`);
    const request = installOfEcho(places, sources);
    expect(await refusalOf(installOci(reference, accessWith(), request))).toMatchObject({ code: 'E-REG-005' });
  });

  it('suffices for --frozen where no registry is in use, and does nothing offline', async () => {
    await publishTo(registry, bytes);
    expect(await install()).toBe('stored');
    emptyStore();
    const none = (from?: string): readonly ArtifactSource[] => (from === undefined ? [] : sources(from));
    expect(await install(false, none)).toMatchObject({ code: 'E-REG-001' });
    expect(await install(true, () => [])).toMatchObject({ code: 'E-REG-001' });
    const local = (from?: string, by?: string): readonly ArtifactSource[] => (by === 'lock' ? [] : none(from));
    expect(await install(true, local)).toMatchObject({ code: 'E-REG-001' });
    expect(await install(true, none)).toBe('stored');
  });

  it('holds another repository to the bytes alone, and names that from then on', async () => {
    await publishTo(registry, bytes);
    expect(await install()).toBe('stored');
    const first = registry.host;
    registry = await MemoryOci.open();
    putMarked(registry, bytes, 'copy');
    emptyStore();
    expect(await install(true)).toBe('stored');
    expect(locked()[0]?.from).toContain(first);
    emptyStore();
    expect(await install()).toBe('stored');
    expect(locked()[0]?.from).toBe(`oci://${registry.host}/acme/echo@${underTag()}`);
  });

  it.each<[string, string, (digest: string) => void]>([
    [
      'another document for the digest',
      'E-REG-002',
      (digest) =>
        void registry.manifests.set(`acme/echo ${digest}`, {
          type: 'application/vnd.oci.image.manifest.v1+json',
          bytes: Buffer.from('{}'),
        }),
    ],
    ['no document of the digest any more', 'E-REG-001', (digest) => registry.manifests.delete(`acme/echo ${digest}`)],
    [
      'other bytes for the archive in it',
      'E-REG-002',
      () => registry.blobs.set(digestOf(bytes), Buffer.alloc(bytes.length)),
    ],
    ['fewer bytes of it', 'E-IO-003', () => registry.blobs.set(digestOf(bytes), bytes.subarray(0, 100))],
    [
      'more bytes of it',
      'E-REG-002',
      () => registry.blobs.set(digestOf(bytes), Buffer.concat([bytes, Buffer.from('x')])),
    ],
  ])('must match with --frozen where a registry has %s', async (_, code, spoil) => {
    await publishTo(registry, bytes);
    expect(await install()).toBe('stored');
    emptyStore();
    spoil(underTag());
    expect(await install(true)).toMatchObject({ code });
  });

  it('takes no bytes that it does not record, whatever its digest leads to', async () => {
    const digest = putMarked(registry, await archiveBytes(toolFiles('echo', '1.0.0', 'other')), 'other');
    const from = `oci://${registry.host}/acme/echo@${digest}`;
    mkdirSync(places.manifestDir);
    await upsertLock(places.manifestDir, [{ ...echo, platform: null, sha256: digestOf(bytes).slice(7), from }]);
    expect(await install(true)).toMatchObject({ code: 'E-REG-005' });
  });

  it('leads to the signatures of what it records, though the tag leads elsewhere', async () => {
    await publishTo(registry, bytes, { signatures: ['{"mediaType":"one"}'] });
    expect(await install()).toBe('stored');
    const [{ from = '' } = {}] = locked();
    putMarked(registry, await archiveBytes(toolFiles('echo', '1.0.0', 'moved')), 'moved');
    const archive = { ...echo, platform: null, sha256: digestOf(bytes).slice(7) };
    expect(await acmeOf(registry).signatures(archive)).toEqual([]);
    expect(await acmeOf(registry).signatures({ ...archive, from })).toEqual(['{"mediaType":"one"}']);
    const other = from.replace('/acme/', '/other/');
    expect(await acmeOf(registry).signatures({ ...archive, from: other })).toEqual([]);
  });
});
