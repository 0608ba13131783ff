import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { ask } from '../../kit/test/http/raw-client.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { RegistryProcess, runRegistry, startRegistry } from './registry-process.ts';

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

  it('refuses an id that is taken, and options that are none: exit code 2, and no key', async () => {
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
