import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { rename, rm, utimes, writeFile } from 'node:fs/promises';

import { describe, expect, it } from 'vitest';

import { createArtifactRegistry } from '../src/artifact-registry.ts';
import type { CapsuleRegistry, ResolvedCapsule } from '../src/capsule-registry.ts';
import { variantPaths } from '@svc/artifacts/store/store-layout.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { capsuleBytes, capsuleText, platform, publish, publishCapsule } from './published.ts';

const child = { name: 'child', version: '1.0.0' };
const hourMs = 60 * 60 * 1000;

/** A registry for which every file was written an hour ago. */
function registryOfOldFiles(root: string): CapsuleRegistry {
  return createArtifactRegistry({ root, platform, env: {}, now: () => Date.now() + hourMs });
}

/** A registry for which every file has only just been written, however long that takes. */
function registryOfNewFiles(root: string): CapsuleRegistry {
  const openedMs = Date.now();
  return createArtifactRegistry({ root, platform, env: {}, now: () => openedMs });
}

async function found(registry: CapsuleRegistry, name = 'child'): Promise<ResolvedCapsule> {
  const resolution = await registry.resolve(name, '1.0.0');
  if (resolution.kind === 'unresolvable') throw new Error(resolution.reason);
  return resolution.capsule;
}

async function answer(registry: CapsuleRegistry): Promise<string> {
  const resolution = await registry.resolve('child', '1.0.0');
  return resolution.kind === 'resolved' ? resolution.capsule.sha256 : resolution.reason;
}

/** Writes again until the file shows another time: a registry of old files may believe that it can see a change. */
async function writeLater(path: string, data: Buffer | string): Promise<void> {
  const before = statSync(path, { bigint: true }).ctimeNs;
  for (let attempt = 0; attempt < 10_000; attempt += 1) {
    await writeFile(path, data);
    if (statSync(path, { bigint: true }).ctimeNs !== before) return;
  }
  throw new Error('the time of the file does not change');
}

/** Replaces the generic capsule `child`, at another time than it was published. */
async function replace(root: string, bytes: Buffer): Promise<string> {
  const { archive, hash } = variantPaths(root, child, null);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  await writeLater(archive, bytes);
  await writeLater(hash, `${sha256}\n`);
  return sha256;
}

const spawns = (name: string): string => capsuleText(`capabilities: { spawn: { allow: [${name}] } }`);
const damaged = 'child@1.0.0 cannot be resolved: its archive does not have the hash that was recorded with it';

describe('what the registry has read', () => {
  it('stays in memory as long as the files stay as they are, however many ask at once', async () => {
    const root = temporaryDirectory();
    await publishCapsule(root, capsuleText());
    const registry = registryOfOldFiles(root);
    const capsules = await Promise.all(Array.from({ length: 20 }, async () => await found(registry)));
    capsules.push(await found(registry));
    expect(new Set(capsules).size).toBe(1);
  });

  it('needs another read where the files are so new that a change could not be seen', async () => {
    const root = temporaryDirectory();
    await publishCapsule(root, capsuleText());
    const registry = registryOfNewFiles(root);
    const first = await found(registry);
    const second = await found(registry);
    expect(second).toEqual(first);
    expect(second).not.toBe(first);
  });

  it('gives way to what replaces it', async () => {
    const root = temporaryDirectory();
    const registry = registryOfOldFiles(root);
    await publishCapsule(root, spawns('one'));
    expect((await found(registry)).envelope.spawnAllow).toEqual(['one']);
    const sha256 = await replace(root, await capsuleBytes(spawns('two')));
    expect(await found(registry)).toMatchObject({ sha256, envelope: { spawnAllow: ['two'] } });
  });

  it('gives way to bytes of the same length that were written in place and given the old time', async () => {
    const root = temporaryDirectory();
    const registry = registryOfOldFiles(root);
    const { archive, hash } = variantPaths(root, child, null);
    await publish(root, await capsuleBytes(spawns('one')));
    const backdate = async (): Promise<void> => {
      for (const path of [archive, hash]) await utimes(path, 1_700_000_000, 1_700_000_000);
    };
    await backdate();
    await found(registry);
    const { ino, size, mtimeNs } = statSync(archive, { bigint: true });
    await replace(root, await capsuleBytes(spawns('two')));
    await backdate();
    expect(statSync(archive, { bigint: true })).toMatchObject({ ino, size, mtimeNs });
    expect((await found(registry)).envelope.spawnAllow).toEqual(['two']);
  });

  it('stays current, also where changes follow one another faster than a file system can distinguish times', async () => {
    const root = temporaryDirectory();
    const registry = registryOfNewFiles(root);
    const versions = [await capsuleBytes(spawns('one')), await capsuleBytes(spawns('two'))] as const;
    const published: string[] = [];
    const answered: string[] = [];
    for (let round = 0; round < 60; round += 1) {
      published.push(await publish(root, versions[round % 2] ?? versions[0]));
      answered.push(await answer(registry));
    }
    expect(answered).toEqual(published);
  });

  it('gives way to a variant for the platform, and takes its place again', async () => {
    const root = temporaryDirectory();
    const registry = registryOfOldFiles(root);
    const generic = await publishCapsule(root, capsuleText());
    expect(await answer(registry)).toBe(generic);
    const own = await publishCapsule(root, spawns('one'), { platform });
    expect(await answer(registry)).toBe(own);
    const { archive, hash } = variantPaths(root, child, platform);
    await rm(hash);
    expect(await answer(registry)).toBe(generic);
    await rm(archive);
    expect(await answer(registry)).toBe(generic);
  });

  it('goes when the capsule goes', async () => {
    const root = temporaryDirectory();
    const registry = registryOfOldFiles(root);
    const sha256 = await publishCapsule(root, capsuleText());
    await found(registry);
    await rename(`${root}/child`, `${root}/elsewhere`);
    expect(await answer(registry)).toBe('child@1.0.0 is not in the registry');
    await rename(`${root}/elsewhere`, `${root}/child`);
    expect(await answer(registry)).toBe(sha256);
  });

  it('follows a record that changes alone', async () => {
    const root = temporaryDirectory();
    const registry = registryOfOldFiles(root);
    const { hash } = variantPaths(root, child, null);
    const sha256 = await publishCapsule(root, capsuleText());
    await found(registry);
    await writeLater(hash, `${'0'.repeat(64)}\n`);
    expect(await answer(registry)).toBe(damaged);
    await writeLater(hash, `${sha256}\n`);
    expect(await answer(registry)).toBe(sha256);
  });

  it('does not excuse an archive that changes alone', async () => {
    const root = temporaryDirectory();
    const registry = registryOfOldFiles(root);
    await publishCapsule(root, spawns('one'));
    await found(registry);
    await writeLater(variantPaths(root, child, null).archive, await capsuleBytes(spawns('two')));
    expect(await answer(registry)).toBe(damaged);
  });

  it('excludes absence: a capsule exists once it is published', async () => {
    const root = temporaryDirectory();
    const registry = registryOfOldFiles(root);
    expect(await answer(registry)).toBe('child@1.0.0 is not in the registry');
    const sha256 = await publishCapsule(root, capsuleText());
    expect(await answer(registry)).toBe(sha256);
  });

  it('can be a refusal, until the files change', async () => {
    const root = temporaryDirectory();
    const registry = registryOfOldFiles(root);
    await publishCapsule(root, capsuleText(), { record: `${'0'.repeat(64)}\n` });
    expect(await Promise.all([answer(registry), answer(registry)])).toEqual([damaged, damaged]);
    expect(await answer(registry)).toBe(damaged);
    const sha256 = await replace(root, await capsuleBytes(capsuleText()));
    expect(await answer(registry)).toBe(sha256);
  });

  it('stays bounded: of more than 256 capsules the least recently used one needs another read', async () => {
    const root = temporaryDirectory();
    const registry = registryOfOldFiles(root);
    const names = Array.from({ length: 257 }, (_, index) => `child-${index}`);
    for (const name of names) await publishCapsule(root, capsuleText('', name), { name });
    const first: ResolvedCapsule[] = [];
    for (const name of names.slice(0, 256)) first.push(await found(registry, name));
    expect(await found(registry, 'child-0')).toBe(first[0]);
    await found(registry, 'child-256');
    expect(await found(registry, 'child-0')).toBe(first[0]);
    expect(await found(registry, 'child-2')).toBe(first[2]);
    expect(await found(registry, 'child-1')).not.toBe(first[1]);
  });
});
