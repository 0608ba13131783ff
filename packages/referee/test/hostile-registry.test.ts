import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { createArtifactRegistry } from '../src/artifact-registry.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { variantPaths } from '@svc/artifacts/store/store-layout.ts';
import { archiveBytes, temporaryDirectory, toolFiles } from '../../artifacts/test/store/artifacts.ts';
import { linkMode, type RawEntry, zipBytes } from '../../artifacts/test/store/zip-bytes.ts';
import { capsuleText, platform, publish, publishCapsule } from './published.ts';

const manifest: RawEntry = { name: 'svc.yaml', data: Buffer.from(capsuleText()) };
const other: RawEntry = { name: 'x', data: Buffer.from('x') };
const asked = { name: 'child', version: '1.0.0' };

/** What a registry answers that is not asked a second time. */
async function answerAt(root: string): Promise<string> {
  const registry = createArtifactRegistry({ root, platform, env: {}, now: () => Date.now() });
  const resolution = await registry.resolve(asked.name, asked.version);
  return resolution.kind === 'resolved' ? resolution.capsule.sha256 : resolution.reason;
}

/** Why a registry refuses these bytes although their hash is recorded. */
async function refusalOf(bytes: Buffer): Promise<string> {
  const root = temporaryDirectory();
  await publish(root, bytes);
  return (await answerAt(root)).replace('child@1.0.0 cannot be resolved: ', '');
}

describe('an archive that is invalid', () => {
  it.each([
    ['no zip', Buffer.from('PK, or so it says'), /^its archive is not a readable zip archive: /],
    ['empty', Buffer.alloc(0), /^its archive is not a readable zip archive: /],
    ['cut short', zipBytes([manifest]).subarray(0, 60), /^its archive is not a readable zip archive: /],
    ['without a manifest', zipBytes([other]), /^its archive has no svc.yaml at its root$/],
    [
      'with the manifest in a folder',
      zipBytes([{ ...manifest, name: 'capsule/svc.yaml' }]),
      /^its archive has no svc.yaml at its root$/,
    ],
    [
      'with a name that leads out',
      zipBytes([manifest, { ...other, name: '../x' }]),
      /^its archive: entry "..\/x" has a ".." component$/,
    ],
    [
      'with an absolute name',
      zipBytes([manifest, { ...other, name: '/x' }]),
      /^its archive: entry "\/x" has an absolute path$/,
    ],
    ['with a link', zipBytes([manifest, { ...other, mode: linkMode }]), /^its archive: entry "x" is a symbolic link$/],
    [
      'with a linked manifest',
      zipBytes([{ ...manifest, mode: linkMode }]),
      /^its archive: entry "svc.yaml" is a symbolic link$/,
    ],
    ['with two manifests', zipBytes([manifest, manifest]), /^its archive: entry "svc.yaml" /],
    [
      'with another name in the entry',
      zipBytes([{ ...manifest, localName: 'svc.yml0' }]),
      /^its archive: entry "svc.yaml" has another name in its own header$/,
    ],
    [
      'with a wrong checksum',
      zipBytes([{ ...manifest, crc: 1 }]),
      /^its archive: entry "svc.yaml" has a wrong checksum$/,
    ],
    [
      'with a bomb for a manifest',
      zipBytes([{ name: 'svc.yaml', data: Buffer.alloc(64 * 1024 * 1024, '#'), deflate: true, size: 1000 }]),
      /^its archive: entry "svc.yaml" unpacks to more bytes than it declares$/,
    ],
    [
      'with a manifest above a mebibyte',
      zipBytes([{ name: 'svc.yaml', data: Buffer.alloc(1024 * 1024 + 1, '#'), deflate: true }]),
      /^its archive: "svc.yaml" is larger than 1 MiB$/,
    ],
    [
      'with a manifest that is no YAML',
      zipBytes([{ name: 'svc.yaml', data: Buffer.from('name: [') }]),
      /^not valid YAML: /,
    ],
    ['with an empty manifest', zipBytes([{ name: 'svc.yaml' }]), /^it is not a capsule$/],
    [
      'with random bytes for a manifest',
      zipBytes([{ name: 'svc.yaml', data: Buffer.from([0xff, 0xfe, 0x00, 0x80]) }]),
      /^it is not a capsule$/,
    ],
  ])('%s', async (_, bytes, reason) => {
    expect(await refusalOf(bytes)).toMatch(reason);
  });

  it('fails by its manifest alone: its other contents are the business of the program that unpacks it', async () => {
    const bytes = zipBytes([manifest, { ...other, crc: 1 }]);
    const root = temporaryDirectory();
    const sha256 = await publish(root, bytes);
    expect(await answerAt(root)).toBe(sha256);
  });
});

describe('a record that does not fit', () => {
  it('counts as damage, whichever of the two was changed', async () => {
    const root = temporaryDirectory();
    await publishCapsule(root, capsuleText(), { record: `${'0'.repeat(64)}\n` });
    expect(await answerAt(root)).toBe(
      'child@1.0.0 cannot be resolved: its archive does not have the hash that was recorded with it',
    );
  });

  it.each([
    ['empty', ''],
    ['in capitals', `${'A'.repeat(64)}\n`],
    ['too long', `${'a'.repeat(65)}\n`],
  ])('counts as missing when it is no hash (%s), and there is no capsule without one', async (_, record) => {
    const root = temporaryDirectory();
    await publishCapsule(root, capsuleText(), { record });
    expect(await answerAt(root)).toBe('child@1.0.0 is not in the registry');
    await rm(variantPaths(root, asked, null).hash);
    expect(await answerAt(root)).toBe('child@1.0.0 is not in the registry');
  });

  it('makes the platform’s variant fail, and the generic one does not replace it', async () => {
    const root = temporaryDirectory();
    await publishCapsule(root, capsuleText());
    await publishCapsule(root, capsuleText(), { platform, record: `${'0'.repeat(64)}\n` });
    expect(await answerAt(root)).toContain('its archive does not have the hash that was recorded with it');
  });
});

describe('what is no regular file is not waited for', () => {
  it.each([
    ['archive', 'cannot read its archive: it is not a regular file'],
    ['hash', 'cannot read its archive.sha256: it is not a regular file'],
  ] as const)('a pipe or a directory in place of the %s', async (which, reason) => {
    const root = temporaryDirectory();
    await publishCapsule(root, capsuleText());
    const path = variantPaths(root, asked, null)[which];
    await rm(path);
    execFileSync('mkfifo', [path]);
    expect(await answerAt(root)).toBe(`child@1.0.0 cannot be resolved: ${reason}`);
    await rm(path);
    await mkdir(path);
    expect(await answerAt(root)).toBe(`child@1.0.0 cannot be resolved: ${reason}`);
  });

  it('a link that leads in a circle', async () => {
    const root = temporaryDirectory();
    await publishCapsule(root, capsuleText());
    const { archive } = variantPaths(root, asked, null);
    await rm(archive);
    await symlink(archive, archive);
    expect(await answerAt(root)).toBe(
      'child@1.0.0 cannot be resolved: cannot read its archive: too many symbolic links',
    );
  });

  it('a file where a folder should be', async () => {
    const root = temporaryDirectory();
    await writeFile(join(root, 'child'), '');
    expect(await answerAt(root)).toBe('child@1.0.0 is not in the registry');
  });
});

const descriptors = '/proc/self/fd';

describe('after many refusals', () => {
  it('no file is left open', async (context) => {
    context.skip(!existsSync(descriptors), 'needs /proc');
    const good = temporaryDirectory();
    const bad = temporaryDirectory();
    const noCapsule = temporaryDirectory();
    await publishCapsule(good, capsuleText());
    await publishCapsule(bad, capsuleText(), { record: `${'0'.repeat(64)}\n` });
    await publish(noCapsule, await archiveBytes(toolFiles('child')));
    const openArchives = (): readonly string[] =>
      readdirSync(descriptors).flatMap((descriptor) => {
        const target = readlink(`${descriptors}/${descriptor}`);
        return target.startsWith(good) || target.startsWith(bad) || target.startsWith(noCapsule) ? [target] : [];
      });
    await Promise.all(Array.from({ length: 20 }, async () => await Promise.all([good, bad, noCapsule].map(answerAt))));
    expect(openArchives()).toEqual([]);
  });
});

function readlink(path: string): string {
  try {
    return readlinkSync(path);
  } catch (error) {
    // The descriptor that listed the directory is gone by now.
    if (isErrno(error, 'ENOENT')) return '';
    throw error;
  }
}
