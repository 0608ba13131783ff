import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { refusalOf } from '../sources/hostile-kit.ts';
import { type Archive, readArchive } from '../../src/store/archive.ts';
import { checkUnpacked } from '../../src/store/unpacked-copy.ts';
import { temporaryDirectory } from './artifacts.ts';
import { zipBytes } from './zip-bytes.ts';

const large = Buffer.alloc(3 * 1024 * 1024 + 5, 'svc');

let folder: string;
let target: string;
let archive: Archive;
beforeEach(async () => {
  folder = temporaryDirectory();
  target = join(folder, 'target');
  const path = join(folder, 'a.zip');
  const entries = [
    { name: 'svc.yaml', data: Buffer.from('name: demo\n') },
    { name: 'bin/run', data: large, deflate: true },
    { name: 'bin/plain', data: large },
    { name: 'none', data: Buffer.alloc(0) },
    { name: 'empty/', mode: 0o040755 },
    { name: 'above/deep/empty/', mode: 0o040755 },
  ];
  writeFileSync(path, zipBytes(entries));
  const file = await RegularFile.open(path);
  onTestFinished(async () => await file.close());
  archive = await readArchive(file);
  await archive.extractTo(target);
});

const at = (path: string): string => join(target, path);

describe('what was unpacked', () => {
  it('counts as it was, and with what a run leaves beside it', async () => {
    await expect(checkUnpacked(archive, target)).resolves.toBeUndefined();
    writeFileSync(at('svc.lock'), '{}');
    writeFileSync(at('.svc.lock.guard'), '');
    writeFileSync(at('.svc-tmp-abc'), '');
    mkdirSync(at('.svc/artifacts'), { recursive: true });
    await expect(checkUnpacked(archive, target)).resolves.toBeUndefined();
  });

  it.each<[string, () => void, string]>([
    ['a file is another', () => writeFileSync(at('svc.yaml'), 'name: evil\n'), '"svc.yaml" has other bytes'],
    ['a file is longer', () => writeFileSync(at('none'), 'x'), '"none" has other bytes'],
    ['a file was emptied by a power cut', () => truncateSync(at('bin/plain')), '"bin/plain" has other bytes'],
    ['the last byte is another', () => flipLast(at('bin/run')), '"bin/run" has other bytes'],
    ['a file is missing', () => rmSync(at('svc.yaml')), '"svc.yaml" is missing'],
    ['a folder is missing', () => rmSync(at('bin'), { recursive: true }), '"bin/run" is missing'],
    ['a file is beside its own', () => writeFileSync(at('task.md'), 'Evil.'), 'the archive does not hold "task.md"'],
    ['a file is below', () => writeFileSync(at('bin/svc.lock'), ''), 'the archive does not hold "bin/svc.lock"'],
    ['a folder is in one of its own', () => mkdirSync(at('above/more')), 'the archive does not hold "above/more"'],
    ['a folder is beside its own', () => mkdirSync(at('node_modules')), 'the archive does not hold "node_modules"'],
    ['.env is there', () => writeFileSync(at('.env'), 'A=1'), 'the archive does not hold ".env"'],
    ['a file is a link', () => linkAway('svc.yaml'), '"svc.yaml" is no regular file'],
    ['a folder is a link', () => linkAway('bin'), '"bin" is no directory'],
    ['a file is a pipe', () => makePipe('svc.yaml'), '"svc.yaml" is no regular file'],
    ['a folder is a file', () => replaceByFile('empty'), '"empty" is no directory'],
    ['it is a link itself', () => linkAway(''), 'it is no directory of its own'],
  ])('fails where %s', async (_, change, said) => {
    change();
    expect(await refusalOf(checkUnpacked(archive, target))).toMatchObject({
      code: 'E-ART-017',
      message: `${target} is not what ${archive.where} unpacks to: ${said}`,
    });
  });
});

function flipLast(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

/** The same content, reached through a link. */
function linkAway(path: string): void {
  renameSync(join(target, path), join(folder, 'elsewhere'));
  symlinkSync(join(folder, 'elsewhere'), join(target, path).replace(/\/$/, ''));
}

function makePipe(path: string): void {
  rmSync(at(path));
  execFileSync('mkfifo', [at(path)]);
}

function replaceByFile(path: string): void {
  rmSync(at(path), { recursive: true });
  writeFileSync(at(path), '');
}
