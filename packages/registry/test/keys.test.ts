import { createHash, createPrivateKey } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';
import fc from 'fast-check';

import { generateKeys, signWithKey } from '@svc/artifacts/store/trust/key-pair.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { isNamePattern, NamePatterns } from '../src/name-patterns.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { ask, type RawResponse } from '../../kit/test/http/raw-client.ts';
import { refusal, RegistryKit, toolArchive } from './registry-kit.ts';

const hash = (key: string): string => createHash('sha256').update(key).digest('hex');

let path: string;
let kit: RegistryKit;
beforeEach(async () => {
  path = join(temporaryDirectory(), 'keys.json');
  write([
    { id: 'ci-acme', sha256: hash('acme-key'), read: ['acme-*', 'grep'], publish: ['acme-*'], state: ['acme-*'] },
    { id: 'readers', sha256: hash('reader-key'), read: ['*'] },
    { id: 'late', sha256: hash('late-key'), read: ['*'], expires: '2020-01-01' },
    { id: 'until', sha256: hash('until-key'), read: ['*'], expires: '2999-01-01T00:00:00Z' },
  ]);
  kit = await RegistryKit.open({ keysFile: path });
});

function write(keys: readonly unknown[]): void {
  writeFileSync(`${path}.new`, JSON.stringify({ keys }));
  renameSync(`${path}.new`, path);
}

async function as(key: string | null, line: string, body?: Buffer): Promise<RawResponse> {
  const headers = key === null ? [] : [`Authorization: Bearer ${key}`];
  return await ask(kit.port, `${line} HTTP/1.1`, body === undefined ? { headers } : { headers, body });
}

async function publishAs(key: string, name: string): Promise<RawResponse> {
  return await as(key, `POST /v1/artifacts?name=${name}&version=1.0.0&runtime=wasm`, await toolArchive(name));
}

async function names(key: string): Promise<string[]> {
  const { body } = await as(key, 'GET /v1/artifacts');
  return (JSON.parse(body) as { name: string }[]).map(({ name }) => name);
}

describe('a key of the file', () => {
  it('publishes what it is for, under its id, and nothing else', async () => {
    expect((await publishAs('acme-key', 'acme-echo')).status).toBe(201);
    const refused = await publishAs('acme-key', 'grep');
    expect(refusal(refused)).toBe('403 forbidden');
    expect(refused.body).toContain('The key ci-acme may not publish grep.');
    expect(refusal(await publishAs('reader-key', 'acme-other'))).toBe('403 forbidden');
    const { body } = await kit.ask('GET /v1/artifacts/acme-echo');
    expect(body).toContain('"published_by":"ci-acme"');
  });

  it('reads its own artifacts; it gets the answer for a missing one everywhere else', async () => {
    for (const name of ['acme-echo', 'grep', 'hidden']) {
      await kit.publish(`name=${name}&version=1.0.0&runtime=wasm`, await toolArchive(name));
    }
    expect(await names('acme-key')).toEqual(['acme-echo', 'grep']);
    expect(await names('reader-key')).toEqual(['acme-echo', 'grep', 'hidden']);
    expect((await as('acme-key', 'GET /v1/artifacts/grep/1.0.0')).status).toBe(200);
    for (const way of ['hidden/1.0.0', 'hidden', 'nothing', 'nothing/1.0.0']) {
      const name = way.split('/')[0] ?? '';
      const answer = await as('acme-key', `GET /v1/artifacts/${way}`);
      expect([answer.status, answer.body.replaceAll(name, 'x')], way).toEqual([
        404,
        `{"error":"artifact not found: ${way.includes('/') ? 'x@1.0.0' : 'x'}","message":"GET /v1/artifacts lists what there is."}`,
      ]);
    }
  });

  it('sees the signatures of what it may read or publish; it sees none of the rest', async () => {
    write([
      { id: 'ci-acme', sha256: hash('acme-key'), read: ['acme-*'], publish: ['acme-*', 'out'] },
      { id: 'readers', sha256: hash('reader-key'), read: ['*'] },
    ]);
    kit = await RegistryKit.open({ keysFile: path });
    const pair = generateKeys(null);
    const seen: unknown[] = [];
    for (const name of ['acme-echo', 'out', 'hidden']) {
      const archive = await toolArchive(name);
      const line = `/v1/signatures/${sha256Hex(archive)}`;
      const bundle = await signWithKey([archive], sha256Hex(archive), createPrivateKey(pair.privatePem));
      await kit.ask(`POST ${line}`, { body: Buffer.from(bundle) });
      await kit.publish(`name=${name}&version=1.0.0&runtime=wasm`, archive);
      const answers = [await as('acme-key', `GET ${line}`), await as('reader-key', `GET ${line}`)];
      seen.push([name, ...answers.map(({ status }) => status)]);
    }
    expect(seen).toEqual([
      ['acme-echo', 200, 200],
      ['out', 200, 200],
      ['hidden', 404, 200],
    ]);
  });

  it('changes the states of its own artifacts, and learns nothing of any other', async () => {
    await publishAs('acme-key', 'acme-echo');
    await kit.publish('name=grep&version=1.0.0&runtime=wasm', await toolArchive('grep'));
    const yank = Buffer.from('{"state":"yanked","reason":"x"}');
    expect((await as('acme-key', 'PUT /v1/artifacts/acme-echo/1.0.0/state', yank)).status).toBe(200);
    for (const name of ['grep', 'nothing']) {
      expect(refusal(await as('acme-key', `PUT /v1/artifacts/${name}/1.0.0/state`, yank))).toBe('403 forbidden');
    }
  });

  it('gives 401 when it is wrong, expired or malformed, for every request', async () => {
    for (const key of ['other-key', 'late-key', '', hash('reader-key')]) {
      for (const line of ['GET /v1/artifacts', 'PUT /v1/artifacts/a/1/state', 'GET /anything', 'GET /healthz']) {
        expect(refusal(await as(key, line)), `${key} ${line}`).toBe('401 unauthorized');
      }
    }
    expect(refusal(await as(null, 'GET /v1/artifacts'))).toBe('401 unauthorized');
    const basic = await ask(kit.port, 'GET /v1/artifacts HTTP/1.1', { headers: ['Authorization: Basic reader-key'] });
    expect(basic.status).toBe(401);
    expect((await as('until-key', 'GET /v1/artifacts')).status).toBe(200);
  });

  it('counts while it is in the file', async () => {
    const status = async (key: string): Promise<number> => (await as(key, 'GET /v1/artifacts')).status;
    expect([await status('reader-key'), await status('new-key')]).toEqual([200, 401]);
    write([{ id: 'new', sha256: hash('new-key'), read: ['*'] }]);
    await expect.poll(async () => await status('new-key'), { timeout: 10_000 }).toBe(200);
    expect(await status('reader-key')).toBe(401);
    expect(kit.faults).toEqual([]);
  });

  it('keeps its rights where the file becomes invalid, which svc-registry reports once', async () => {
    const broken = [
      '{"keys":[',
      '{"keys":[{"id":"a"}]}',
      '{"keys":[{"id":"A","sha256":"0"}]}',
      `{"keys":[{"id":"a","sha256":"${hash('a')}","read":["../x"]}]}`,
      `{"keys":[{"id":"a","sha256":"${hash('a')}"},{"id":"b","sha256":"${hash('a')}"}]}`,
      `{"keys":[{"id":"a","sha256":"${hash('a')}","expires":"tomorrow"}]}`,
      `{"keys":[{"id":"a","sha256":"${hash('a')}","Publish":["*"]}]}`,
      '\u00ff',
    ];
    for (const [index, text] of broken.entries()) {
      writeFileSync(path, text, index === broken.length - 1 ? 'latin1' : 'utf8');
      await expect
        .poll(
          async () => {
            await as('reader-key', 'GET /v1/artifacts');
            return kit.faults.length;
          },
          { timeout: 10_000 },
        )
        .toBe(index + 1);
      expect((await as('reader-key', 'GET /v1/artifacts')).status).toBe(200);
    }
    rmSync(path);
    await expect
      .poll(
        async () => {
          await as('reader-key', 'GET /v1/artifacts');
          return kit.faults.at(-1)?.message;
        },
        { timeout: 10_000 },
      )
      .toBe(`the keys in ${path} cannot be used: there is no such file; the keys of before stay in force`);
    expect((await as('reader-key', 'GET /v1/artifacts')).status).toBe(200);
    write([{ id: 'new', sha256: hash('new-key'), read: ['*'] }]);
    await expect.poll(async () => (await as('new-key', 'GET /v1/artifacts')).status, { timeout: 10_000 }).toBe(200);
  }, 60_000);
});

describe('a registry that everybody may read', () => {
  beforeEach(async () => {
    kit = await RegistryKit.open({ keysFile: path, anonymousRead: true });
    await kit.publish('name=echo&version=1.0.0&runtime=wasm', await toolArchive('echo'));
  });

  it('answers reads without a key, and nothing else', async () => {
    for (const line of ['GET /v1/artifacts', 'GET /v1/artifacts/echo', 'GET /v1/artifacts/echo/1.0.0']) {
      expect((await as(null, line)).status).toBe(200);
    }
    expect((await as(null, 'HEAD /v1/artifacts/echo/1.0.0')).status).toBe(200);
    for (const line of ['POST /v1/artifacts?name=a&version=1&runtime=wasm', 'PUT /v1/artifacts/echo/1.0.0/state']) {
      expect(refusal(await as(null, line, Buffer.from('x')))).toBe('401 unauthorized');
    }
    expect(refusal(await as('wrong', 'GET /v1/artifacts'))).toBe('401 unauthorized');
  });
});

describe('a pattern of names', () => {
  it('may have stars for any characters, and must fit a name as a whole', () => {
    expect(['*', 'acme-*', '*-tool', 'a*b*c', 'echo', '**'].filter((text) => !isNamePattern(text))).toEqual([]);
    expect(['', 'Acme', '../x', 'a.b', '-a*', 'a b', 'x'.repeat(101)].filter(isNamePattern)).toEqual([]);
    const patterns = new NamePatterns(['acme-*', 'a*b*b', 'echo']);
    expect(['acme-x', 'acme-x-y', 'abb', 'axbxb', 'echo'].filter((name) => !patterns.allows(name))).toEqual([]);
    expect(['acme', 'xacme-x', 'ab', 'axb', 'echo2', 'myecho'].filter((name) => patterns.allows(name))).toEqual([]);
    expect(new NamePatterns([]).allows('echo')).toBe(false);
  });

  it('fits what the same pattern as a regular expression fits', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '-'), maxLength: 10 });
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '-', '*'), minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(pattern, text, (made, name) => {
        const expected = new RegExp(`^${made.replaceAll('*', '.*')}$`).test(name);
        expect(new NamePatterns([made]).allows(name)).toBe(expected);
      }),
      { numRuns: 2000 },
    );
  });
});
