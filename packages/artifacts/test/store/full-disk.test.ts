import { mkdirSync, readdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import type { ArtifactEntry } from '../../src/manifest/schema.ts';
import { writeArchive } from '../../src/store/archive-writer.ts';
import { readArchive } from '../../src/store/archive.ts';
import { upsertLock } from '../../src/store/lockfile.ts';
import { openStored } from '../../src/store/open-stored.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { resolveArtifacts } from '../../src/store/resolve.ts';
import { storeRoot } from '../../src/store/store-layout.ts';
import { putArchive } from '../../src/store/store-put.ts';
import { archiveBytes, codesOf, emptyPlaces, temporaryDirectory, toolFiles } from './artifacts.ts';
import { canMount, makeReadOnly, mountSmall } from './small-file-system.ts';

const echo: ArtifactEntry = { name: 'echo', version: '1.0.0', runtime: 'tool' };
const host = 'linux-x86_64';

async function put(root: string, component: string): Promise<unknown> {
  const chunks = [await archiveBytes(toolFiles('echo', '1.0.0', component))];
  return await putArchive({ root, chunks, platform: null, from: 'a test' });
}

async function componentIn(root: string): Promise<string> {
  const { archive } = await openStored(root, echo, host);
  const component = await archive.read('component.wasm');
  await archive.file.close();
  return component.subarray(8).toString();
}

/** Leaves no byte free. */
function fill(directory: string): void {
  const { bavail, bsize } = statfsSync(directory);
  writeFileSync(join(directory, 'filler'), Buffer.alloc(bavail * bsize));
}

describe.skipIf(!canMount)('on a full disk (skipped without the right to mount)', () => {
  it('an archive that does not fit is a coded error, and what was stored before stays', async () => {
    const disk = mountSmall(512);
    const root = join(disk, 'store');
    await put(root, 'small');
    expect(await codesOf(put(root, 'x'.repeat(600_000)))).toEqual(['E-IO-001']);
    expect(await componentIn(root)).toBe('small');
    fill(disk);
    expect(await codesOf(put(root, 'other'))).toEqual(['E-IO-001']);
    expect(await componentIn(root)).toBe('small');
    expect(readdirSync(root)).toEqual(['echo']);
  });

  it('an archive that does not fit unpacked leaves nothing behind', async () => {
    const disk = mountSmall(64);
    const path = join(temporaryDirectory(), 'echo.zip');
    writeFileSync(path, await archiveBytes(toolFiles('echo', '1.0.0', 'x'.repeat(100_000))));
    const file = await RegularFile.open(path);
    const archive = await readArchive(file);
    expect(await codesOf(archive.extractTo(join(disk, 'echo')))).toEqual(['E-IO-001']);
    await file.close();
    expect(readdirSync(disk)).toEqual([]);
  });

  it('svc.lock and a built archive stay as they were', async () => {
    const disk = mountSmall(64);
    const locked = { name: 'a', version: '1.0.0', platform: null, sha256: 'a'.repeat(64) };
    await upsertLock(disk, [locked]);
    const path = join(disk, 'echo.zip');
    const { sha256 } = await writeArchive(path, toolFiles('echo'));
    const [lock, archive] = [readFileSync(join(disk, 'svc.lock')), readFileSync(path)];
    fill(disk);
    expect(await codesOf(upsertLock(disk, [{ ...locked, name: 'b' }]))).toEqual(['E-IO-001']);
    expect(await codesOf(writeArchive(path, toolFiles('echo', '1.0.1')))).toEqual(['E-IO-001']);
    expect(readFileSync(join(disk, 'svc.lock'))).toEqual(lock);
    expect(readFileSync(path)).toEqual(archive);
    expect(sha256).toHaveLength(64);
    expect(readdirSync(disk).sort()).toEqual(['echo.zip', 'filler', 'svc.lock']);
  });
});

describe.skipIf(!canMount)('in a read-only project (skipped without the right to mount)', () => {
  it('a run that cannot make svc.lock says so, and one that finds it goes on', async () => {
    const places = { ...emptyPlaces(), manifestDir: mountSmall(256) };
    await put(storeRoot(places.userHome), 'x');
    makeReadOnly(places.manifestDir);
    const request = { ...places, entries: [echo], lock: 'hold' } as const;
    await expect(resolveArtifacts(request)).rejects.toMatchObject({
      code: 'E-IO-001',
      message: `cannot write ${places.manifestDir}/svc.lock: the file system is read-only`,
    });
  });

  it('a lock that is there is enough', async () => {
    const places = { ...emptyPlaces(), manifestDir: mountSmall(256) };
    await put(storeRoot(places.userHome), 'x');
    const request = { ...places, entries: [echo], lock: 'hold' } as const;
    await resolveArtifacts(request);
    makeReadOnly(places.manifestDir);
    expect(await resolveArtifacts(request)).toMatchObject([{ origin: 'user' }]);
  });

  it('nothing can be installed', async () => {
    const disk = mountSmall(64);
    mkdirSync(join(disk, '.svc'));
    makeReadOnly(disk);
    expect(await codesOf(put(storeRoot(disk), 'x'))).toEqual(['E-IO-001']);
  });
});
