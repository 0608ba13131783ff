import {
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { ask } from '../../kit/test/http/raw-client.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { ProgramProcess } from '../../../test/support/program-process.ts';
import { RegistryProcess, runRegistry, startRegistry } from './registry-process.ts';

const program = fileURLToPath(new URL('../../../bin/svc-registry.cjs', import.meta.url));
const keyShape = /^svcr_[A-Za-z0-9_-]{43}\n$/;

describe('svc-registry key new', () => {
  it('prints a key once, and its entry for the file', async () => {
    const args = [
      'key',
      'new',
      '--id',
      'ci-acme',
      '--publish',
      'acme-*',
      '--publish',
      'grep',
      '--expires',
      '2027-06-01',
    ];
    const { code, stdout, stderr } = await runRegistry(args, {});
    expect([code, stdout]).toEqual([0, expect.stringMatching(keyShape) as string]);
    const [said, entry = ''] = stderr.split('\n');
    expect(said).toBe('add this to "keys" of the file that REGISTRY_KEYS names:');
    expect(JSON.parse(entry)).toEqual({
      id: 'ci-acme',
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      read: ['*'],
      publish: ['acme-*', 'grep'],
      state: [],
      expires: '2027-06-01',
    });
    expect(stderr).not.toContain(stdout.trim());
  });

  it('adds the entry to the file that is in use, and a server that runs takes the key', async () => {
    const file = join(temporaryDirectory(), 'keys.json');
    writeFileSync(file, '{"keys":[]}', { mode: 0o640 });
    const { process, port } = await startRegistry(temporaryDirectory(), { REGISTRY_KEYS: file, REGISTRY_API_KEY: '' });
    const made = await runRegistry(['key', 'new', '--id', 'readers'], { REGISTRY_KEYS: file });
    expect([made.code, made.stderr]).toEqual([0, `added readers to ${file}\n`]);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    const key = made.stdout.trim();
    const headers = [`Authorization: Bearer ${key}`];
    const status = async (): Promise<number> => (await ask(port, 'GET /v1/artifacts HTTP/1.1', { headers })).status;
    await expect.poll(status, { timeout: 10_000 }).toBe(200);
    const [line] = await process.printed(/^.* GET \/v1\/artifacts 200 .*\n/m);
    expect(line).toMatch(/ ms key readers\n$/);
    writeFileSync(file, '{"keys":');
    await expect
      .poll(async () => `${await status()} ${process.stderr}`, { timeout: 10_000 })
      .toMatch(
        /^200 [^]*error\[E-REG-021\]: the keys in .* cannot be used: it must be a JSON object with keys; the keys of before stay in force\n/,
      );
    for (const text of [process.stderr, process.stdout, readFileSync(file, 'utf8')]) expect(text).not.toContain(key);
  });

  it('adds an entry for each of several that are made at once', async () => {
    const folder = temporaryDirectory();
    const file = join(folder, 'keys.json');
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    const made = await Promise.all(ids.map((id) => runRegistry(['key', 'new', '--id', id], { REGISTRY_KEYS: file })));
    expect(made.map(({ code }) => code)).toEqual(ids.map(() => 0));
    const { keys } = JSON.parse(readFileSync(file, 'utf8')) as { readonly keys: readonly { readonly id: string }[] };
    expect(keys.map(({ id }) => id).sort()).toEqual(ids);
    expect(readdirSync(folder)).toEqual(['keys.json']);
  });

  it('leaves a link to the file a link, and makes no file where it leads to nothing', async () => {
    const folder = temporaryDirectory();
    const [file, link] = [join(folder, 'etc', 'keys.json'), join(folder, 'keys.json')];
    mkdirSync(join(folder, 'etc'));
    writeFileSync(file, '{"keys":[]}');
    symlinkSync('etc/keys.json', link);
    const env = { REGISTRY_KEYS: link };
    expect((await runRegistry(['key', 'new', '--id', 'a'], env)).stderr).toBe(`added a to ${link}\n`);
    expect([lstatSync(link).isSymbolicLink(), readFileSync(file, 'utf8').includes('"a"')]).toEqual([true, true]);
    const dangling = join(folder, 'dangling.json');
    symlinkSync('nowhere/keys.json', dangling);
    const refused = await runRegistry(['key', 'new', '--id', 'a'], { REGISTRY_KEYS: dangling });
    expect([refused.code, refused.stdout, refused.stderr.split('\n')[0]]).toEqual([
      1,
      '',
      `error[E-IO-001]: cannot write ${dangling}: a file of that name is there`,
    ]);
    expect([lstatSync(dangling).isSymbolicLink(), readdirSync(folder)]).toEqual([
      true,
      ['dangling.json', 'etc', 'keys.json'],
    ]);
  });

  it('leaves the file its owner, group and mode, or as it is where that cannot be', async (context) => {
    context.skip(process.getuid?.() !== 0, 'only root can give files away');
    const folder = temporaryDirectory();
    const file = join(folder, 'keys.json');
    writeFileSync(file, '{"keys":[]}', { mode: 0o640 });
    chownSync(file, 12_345, 12_346);
    const env = { REGISTRY_KEYS: file };
    expect((await runRegistry(['key', 'new', '--id', 'a'], env)).code).toBe(0);
    const { uid, gid, mode } = statSync(file);
    expect([uid, gid, mode & 0o777]).toEqual([12_345, 12_346, 0o640]);
    chownSync(folder, 12_347, 12_346);
    const before = readFileSync(file, 'utf8');
    const other = new ProgramProcess(program, ['key', 'new', '--id', 'b'], { env, uid: 12_347, gid: 12_346 });
    expect(await other.ended).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(`error[E-IO-001]: cannot write ${file} and keep its owner and group: `) as string,
    });
    expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual([before, ['keys.json']]);
  });

  it('refuses an id that is taken, and invalid options: exit code 2, and no key', async () => {
    const file = join(temporaryDirectory(), 'keys.json');
    const env = { REGISTRY_KEYS: file };
    expect((await runRegistry(['key', 'new', '--id', 'a'], env)).code).toBe(0);
    const before = readFileSync(file, 'utf8');
    const refused = [
      ['key', 'new', '--id', 'a'],
      ['key', 'new', '--id', 'B'],
      ['key', 'new', '--id', 'b', '--publish', '../x'],
      ['key', 'new', '--id', 'b', '--expires', 'never'],
      ['key', 'new', '--id', 'b', '--write', '*'],
      ['key', 'new'],
      ['key', 'old'],
    ];
    for (const args of refused) {
      const { code, stdout, stderr } = await runRegistry(args, env);
      expect([code, stdout], args.join(' ')).toEqual([2, '']);
      expect(stderr).toMatch(/^error\[E-REG-021\]: /);
    }
    expect(readFileSync(file, 'utf8')).toBe(before);
  });
});

it('svc-registry does not start with a file of keys that cannot be used', async () => {
  const file = join(temporaryDirectory(), 'keys.json');
  const server = new RegistryProcess(['--data', temporaryDirectory()], {
    REGISTRY_KEYS: file,
    REGISTRY_BIND: '127.0.0.1:0',
  });
  const { code, stderr } = await server.ended;
  expect([code, stderr.split('\n')[0]]).toEqual([
    2,
    `error[E-REG-021]: the keys in ${file} cannot be used: there is no such file`,
  ]);
});
