import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { beforeEach, describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { HttpClient } from '@svc/kit/net/http-client.ts';
import { readTrustRoot, updatedRootFile } from '../../src/store/trust/trust-root.ts';
import { publicMirror, type UpdatedRoot, updateTrustRoot } from '../../src/store/trust/update-root.ts';
import { temporaryDirectory } from '../store/artifacts.ts';
import { canMount, makeReadOnly, mountSmall } from '../store/small-file-system.ts';
import { MetadataMirror, newKeys } from './metadata-mirror.ts';

const checkout = fileURLToPath(new URL('../../../../', import.meta.url));
const list = (name: string): string =>
  JSON.stringify({ mediaType: name, tlogs: [], ctlogs: [], certificateAuthorities: [], timestampAuthorities: [] });

let mirror: MetadataMirror;
let mirrorAddress: string;
let userHome: string;
let packageRoot: string;
let initial: string;

beforeEach(async () => {
  mirror = await MetadataMirror.open();
  mirrorAddress = mirror.url;
  userHome = temporaryDirectory();
  packageRoot = temporaryDirectory();
  mkdirSync(join(packageRoot, 'dist', 'trust'), { recursive: true });
  cpSync(join(checkout, 'dist', 'trust'), join(packageRoot, 'dist', 'trust'), { recursive: true });
  initial = join(temporaryDirectory(), 'root.json');
  writeFileSync(initial, mirror.root());
  mirror.publish(list('one'));
});

async function update(initialRoot: string | null = null): Promise<UpdatedRoot> {
  const http = new HttpClient();
  return await updateTrustRoot({ userHome, packageRoot, mirror: mirrorAddress, initialRoot, http });
}

async function refusal(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof Diagnostic) return `${error.code} ${error.message}`;
  throw error ?? new Error('it was not refused');
}

const current = (): string => readFileSync(updatedRootFile(userHome), 'utf8');

describe('svc trust update', () => {
  it('fetches the list that the metadata vouch for, and the next time from where it was', async () => {
    expect(await update(initial)).toEqual({
      path: join(userHome, '.svc', 'trust', 'trusted_root.json'),
      changed: true,
      version: 1,
      expires: mirror.expires,
    });
    expect(current()).toBe(list('one'));
    expect((await update()).changed).toBe(false);
    mirror.publish(list('two'));
    expect((await update()).changed).toBe(true);
    expect(readTrustRoot({ root: null }, { userHome, packageRoot }).text).toBe(list('two'));
    expect(readdirSync(join(userHome, '.svc', 'trust')).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('follows to new keys whom the old ones name', async () => {
    await update(initial);
    const before = mirror.keys;
    mirror.keys = newKeys();
    mirror.root([before.root]);
    mirror.publish(list('two'));
    expect(await update()).toMatchObject({ changed: true, version: 2 });
  });

  it.each([
    ['new keys that nobody vouches for', () => void ((mirror.keys = newKeys()), mirror.root())],
    ['a list by other keys', () => ((mirror.keys = newKeys()), mirror.publish(list('two')))],
    ['metadata that are expired', () => ((mirror.expires = '2020-01-01T00:00:00Z'), mirror.publish(list('two')))],
    ['other bytes than were vouched for', () => changeTarget()],
    ['no list', () => mirror.publish('{"tlogs":[]}')],
    ['metadata that are no JSON', () => void mirror.files.set('timestamp.json', '{')],
    ['metadata without an end', () => void mirror.files.set('timestamp.json', ' '.repeat(100_000))],
    ['nothing', () => mirror.files.clear()],
  ])('refuses %s, and the list of before stays', async (_, change) => {
    await update(initial);
    change();
    expect(await refusal(update())).toMatch(/^E-REG-015 /);
    expect(current()).toBe(list('one'));
    if (mirror.files.size > 0) expect(readdirSync(join(userHome, '.svc', 'trust'))).toHaveLength(2);
  });

  it('says which file it cannot read or where it cannot write, and the list of before stays', async (context) => {
    const absent = join(userHome, 'nope.json');
    expect(await refusal(update(absent))).toBe(`E-IO-001 cannot read ${absent}: no such file or directory`);
    expect(await refusal(update(userHome))).toBe(`E-IO-001 cannot read ${userHome}: it is a directory`);
    context.skip(!canMount, 'needs a file system of its own');
    userHome = mountSmall(256);
    await update(initial);
    makeReadOnly(userHome);
    const place = join(userHome, '.svc', 'trust');
    expect(await refusal(update())).toMatch(`E-IO-001 cannot make a folder in ${place}: `);
    expect(current()).toBe(list('one'));
  });

  it('removes what a killed one left', async () => {
    await update(initial);
    const left = join(userHome, '.svc', 'trust', '.update-AAAAAA');
    mkdirSync(left);
    writeFileSync(join(left, 'root.json'), '{}');
    const daysAgo = Date.now() / 1000 - 2 * 24 * 60 * 60;
    utimesSync(left, daysAgo, daysAgo);
    await update();
    expect(existsSync(left)).toBe(false);
  });

  it('does not go back to what was replaced', async () => {
    await update(initial);
    const old = new Map(mirror.files);
    mirror.publish(list('two'));
    await update();
    for (const [name, text] of old) mirror.files.set(name, text);
    expect(await refusal(update())).toMatch(/^E-REG-015 /);
    expect(current()).toBe(list('two'));
  });

  it('takes the keys that were replaced no more, though the update that saw this failed', async () => {
    await update(initial);
    const before = mirror.keys;
    mirror.keys = newKeys();
    mirror.root([before.root]);
    expect(await refusal(update())).toMatch(/^E-REG-015 .* signed by 0\/1 keys$/);
    mirror.files.delete('2.root.json');
    expect(await refusal(update())).toMatch(/^E-REG-015 .* signed by 0\/1 keys$/);
  });

  it('waits for another one to end, and begins with what that has kept', async () => {
    await update(initial);
    const elsewhere = { packageRoot, mirror: mirror.url, initialRoot: initial, http: new HttpClient() };
    const waiting = await withGuard(updatedRootFile(userHome), async () => {
      const begun = update();
      await updateTrustRoot({ userHome: temporaryDirectory(), ...elsewhere });
      mirror.publish(list('two'));
      return [begun];
    });
    await Promise.all(waiting);
    expect(current()).toBe(list('two'));
  });

  it('says that what it kept is damaged, and begins with another root', async () => {
    await update(initial);
    const place = join(userHome, '.svc', 'trust');
    const metadata = readdirSync(place).find((name) => name.startsWith('metadata-')) ?? '';
    writeFileSync(join(place, metadata, 'root.json'), '{"signed');
    expect(await refusal(update())).toBe(`E-REG-015 ${join(place, metadata, 'root.json')} is damaged`);
    expect((await update(initial)).changed).toBe(false);
  });

  it('does not wait for a pipe, and reads no file without an end', async () => {
    const pipe = join(userHome, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const path of [pipe, '/dev/zero'])
      expect(await refusal(update(path))).toBe(`E-IO-001 cannot read ${path}: it is not a regular file`);
  });

  it.each([
    ['is none', 'tuf.example.com', 'must be an http or https address'],
    ['holds a password', 'https://a:b@tuf.example.com', 'must not hold a user or password'],
    ['anybody on the way could answer', 'http://tuf.example.com', 'must be https, or http to a loopback address'],
  ])('refuses a mirror whose address %s', async (_, address, clause) => {
    mirrorAddress = address;
    expect(await refusal(update(initial))).toBe(`E-REG-015 the mirror ${clause}`);
  });

  it('takes the address of a mirror with a slash at its end for the same', async () => {
    await update(initial);
    mirrorAddress = `${mirror.url}/`;
    expect((await update()).changed).toBe(false);
  });

  it('needs a list to begin with, except for the public mirror', async () => {
    expect(await refusal(update())).toBe(`E-REG-015 nothing vouches for ${mirror.url} yet`);
    expect(existsSync(updatedRootFile(userHome))).toBe(false);
    expect(publicMirror).toBe('https://tuf-repo-cdn.sigstore.dev');
    const shipped = JSON.parse(readFileSync(join(packageRoot, 'dist', 'trust', 'root.json'), 'utf8')) as {
      signed: { _type: string; version: number };
    };
    expect(shipped.signed).toMatchObject({ _type: 'root', version: 14 });
  });
});

function changeTarget(): void {
  mirror.publish(list('two'));
  for (const name of mirror.files.keys()) if (name.startsWith('targets/')) mirror.files.set(name, list('six'));
}
