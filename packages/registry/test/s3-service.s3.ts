import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { describe, expect, inject, it, onTestFinished } from 'vitest';

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { S3Settings } from '../src/settings.ts';
import { S3Store } from '../src/s3/s3-store.ts';
import { StagingArea } from '../src/staging.ts';
import { ask } from '../../kit/test/http/raw-client.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { gatewayUser } from './ceph-gateway.ts';
import { objectStoreContract } from './object-store-contract.ts';
import { authorized, bareArchive } from './registry-kit.ts';
import { runRegistry, startRegistry } from './registry-process.ts';
import { zipBytes } from '../../artifacts/test/store/zip-bytes.ts';
import { makeBucket, now, s3Environment, s3Settings, shortLimits, withSecret } from './s3-kit.ts';

const { endpoint } = inject('s3');
const races = Number(process.env['REGISTRY_RACES'] ?? 30);
const rounds = Number(process.env['REGISTRY_ROUNDS'] ?? 20);
const writers = 8;

async function newStore(prefix = '/a/b'): Promise<S3Settings> {
  const settings = s3Settings(`s3://test-${randomUUID()}${prefix}`, endpoint, gatewayUser);
  await makeBucket(settings);
  return settings;
}

async function openStore(settings: S3Settings, options: { readonly now?: () => Date } = {}): Promise<S3Store> {
  const faults: Diagnostic[] = [];
  const store = await S3Store.open(settings, { now, onFault: (fault) => faults.push(fault), ...options });
  onTestFinished(() => {
    store.close();
    expect(faults).toEqual([]);
  });
  return store;
}

objectStoreContract('a real S3 service', async () => {
  const settings = await newStore();
  const staging = await StagingArea.open(temporaryDirectory());
  return { staging, store: async () => await openStore(settings) };
});

objectStoreContract('a real S3 service, at the top of a bucket', async () => {
  const settings = await newStore('');
  const staging = await StagingArea.open(temporaryDirectory());
  return { staging, store: async () => await openStore(settings) };
});

describe('a real S3 service', () => {
  it('refuses a wrong secret, an unknown key, a missing bucket and a wrong clock, each in words of its own', async () => {
    const settings = await newStore();
    const reason = async (changed: S3Settings, options: { readonly now?: () => Date } = {}): Promise<string> => {
      const error = await openStore(changed, options).catch((caught: unknown) => caught);
      return error instanceof Error && 'code' in error ? `${String(error.code)} ${error.message}` : 'it was opened';
    };
    const credentials = { ...settings.credentials, accessKeyId: 'another' };
    const hourBehind = (): Date => new Date(Date.now() - 60 * 60_000);
    const elsewhere = s3Settings('s3://not-there', endpoint, gatewayUser);
    expect([
      await reason(withSecret(settings, 'wrong')),
      await reason({ ...settings, credentials }),
      await reason(elsewhere),
      await reason(settings, { now: hourBehind }),
    ]).toEqual([
      'E-REG-024 cannot list the bucket: the credentials are not accepted (SignatureDoesNotMatch)',
      'E-REG-024 cannot list the bucket: the credentials are not accepted (InvalidAccessKeyId)',
      'E-REG-024 cannot list the bucket: there is no such bucket',
      'E-REG-024 cannot list the bucket: the clock of this machine is 60 minutes behind that of the service (RequestTimeTooSkewed)',
    ]);
  });

  it('refuses bytes whose hash is not the one that was signed', async () => {
    const store = await openStore(await newStore());
    const staging = await StagingArea.open(temporaryDirectory());
    const staged = await staging.receive(pieces('text'));
    onTestFinished(async () => await staging.discard(staged));
    const sha256 = createHash('sha256').update('another').digest('hex');
    const error = await store
      .put('a@1@1', { record: '1', archive: { ...staged, sha256 } })
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'E-REG-024' });
    expect(await store.readRecord('a@1@1')).toBe(null);
  });

  it('is not used by a server that may not', async () => {
    const settings = await newStore();
    const env = { REGISTRY_API_KEY: 'x'.repeat(16), REGISTRY_BIND: '127.0.0.1:0', HOME: temporaryDirectory() };
    const user = { ...gatewayUser, secretAccessKey: 'not-the-secret' };
    const args = ['--store', `s3://${settings.bucket}/a`];
    const end = await runRegistry(args, { ...env, ...s3Environment(endpoint, user) });
    expect(end).toMatchObject({ code: 1, stdout: '' });
    expect(end.stderr).toMatch(/^error\[E-REG-024\]: .*\(SignatureDoesNotMatch\)\nhint: check AWS_ACCESS_KEY_ID, /);
  });
});

interface Servers {
  readonly settings: S3Settings;
  readonly env: Readonly<Record<string, string>>;
}

async function bucketForServers(): Promise<Servers> {
  const settings = await newStore();
  const store = `s3://${settings.bucket}/${settings.prefix}`;
  return { settings, env: { ...s3Environment(endpoint, gatewayUser), REGISTRY_STORE: store } };
}

describe('two servers on one bucket', () => {
  it(
    `tell one of ${writers} publishers of one version 201 and the others 409, ${races} times`,
    async () => {
      const { settings, env } = await bucketForServers();
      const servers = [await startRegistry(temporaryDirectory(), env), await startRegistry(temporaryDirectory(), env)];
      const archives = await Promise.all(
        Array.from({ length: writers }, (_, writer) => bareArchive(`writer ${writer}`)),
      );
      const portOf = (writer: number): number => servers[writer % 2]?.port ?? 0;
      for (let race = 0; race < races; race += 1) {
        const query = `name=race&version=1.0.${race}&runtime=static`;
        const answers = await Promise.all(
          archives.map(async (body, writer) => {
            const line = `POST /v1/artifacts?${query} HTTP/1.1`;
            return (await ask(portOf(writer), line, { headers: [authorized], body })).status;
          }),
        );
        const sorted = answers.toSorted((a, b) => a - b);
        expect(sorted, query).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
        const won = archives[answers.indexOf(201)] ?? Buffer.alloc(0);
        for (const { port } of servers) {
          const line = `GET /v1/artifacts/race/1.0.${race} HTTP/1.1`;
          const { body } = await ask(port, line, { headers: [authorized] });
          expect(Buffer.from(body, 'latin1').equals(won), query).toBe(true);
        }
      }
      expect(await archivesIn(settings)).toHaveLength(races);
    },
    60_000 + races * 3_000,
  );

  it('serve at once what the other has published, by path and by platform', async () => {
    const { env } = await bucketForServers();
    const [one, two] = [await startRegistry(temporaryDirectory(), env), await startRegistry(temporaryDirectory(), env)];
    const get = 'GET /v1/artifacts/a/1?platform=linux-x86_64 HTTP/1.1';
    expect((await ask(two.port, get, { headers: [authorized] })).status).toBe(404);
    const body = await bareArchive();
    const post = 'POST /v1/artifacts?name=a&version=1&runtime=static&platform=linux-x86_64 HTTP/1.1';
    expect((await ask(one.port, post, { headers: [authorized], body })).status).toBe(201);
    const whole = await ask(two.port, get, { headers: [authorized] });
    expect([whole.status, whole.body]).toEqual([200, body.toString('latin1')]);
    const part = await ask(two.port, get, { headers: [authorized, 'Range: bytes=2-5'] });
    expect([part.status, part.body]).toEqual([206, body.subarray(2, 6).toString('latin1')]);
    let index: unknown = [];
    while (JSON.stringify(index) === '[]') {
      index = JSON.parse((await ask(two.port, 'GET /v1/artifacts HTTP/1.1', { headers: [authorized] })).body);
    }
    expect(index).toMatchObject([{ name: 'a', version: '1', platforms: [['linux', 'x86_64']] }]);
  });
});

it('holds no archive in memory, neither on its way to the service nor back', async () => {
  const { env } = await bucketForServers();
  const { process: server, port } = await startRegistry(temporaryDirectory(), env);
  const peak = (): number => {
    const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  };
  const size = 192 * 1024 * 1024;
  const body = zipBytes([{ name: 'large', data: Buffer.alloc(size, 'large ') }]);
  const before = peak();
  const line = 'POST /v1/artifacts?name=a&version=1&runtime=static HTTP/1.1';
  expect((await ask(port, line, { headers: [authorized], body })).status).toBe(201);
  const download = await ask(port, 'GET /v1/artifacts/a/1 HTTP/1.1', { headers: [authorized] });
  expect(download.body.length).toBe(body.length);
  expect(peak() - before).toBeLessThan(size / 2);
});

describe(`a server on S3 killed while it takes publishes, ${rounds} rounds`, () => {
  it(
    'leaves every artifact whole or not there, and has every one it answered 201 for',
    async () => {
      const { env } = await bucketForServers();
      const data = temporaryDirectory();
      let server = await startRegistry(data, env);
      const confirmed = new Map<string, Buffer>();
      let cut = 0;
      for (let round = 0; round < rounds; round += 1) {
        const attempts = Array.from({ length: 6 }, async (_, index) => {
          const version = `1.${round}.${index}`;
          const body = await bareArchive(`${version} ${'x'.repeat(index * 100_000)}`);
          const line = `POST /v1/artifacts?name=a&version=${version}&runtime=static HTTP/1.1`;
          const { status } = await ask(server.port, line, { headers: [authorized], body });
          return { version, body, status };
        });
        // Killed by the first, the second, … answer: the others are under way.
        const killed = server;
        const running = attempts.slice(0, 1 + (round % 3));
        await Promise.race([Promise.all(running), killed.process.ended]);
        killed.process.child.kill('SIGKILL');
        await killed.process.ended;
        server = await startRegistry(data, env);
        for (const { version, body, status } of await Promise.all(attempts)) {
          if (status === 201) confirmed.set(version, body);
          else cut += 1;
          const line = `GET /v1/artifacts/a/${version} HTTP/1.1`;
          const answer = await ask(server.port, line, { headers: [authorized] });
          if (status === 201) expect(answer.status, version).toBe(200);
          if (answer.status === 200) expect(Buffer.from(answer.body, 'latin1').equals(body), version).toBe(true);
          else expect(answer.status, version).toBe(404);
        }
      }
      const { body } = await ask(server.port, 'GET /v1/artifacts HTTP/1.1', { headers: [authorized] });
      const index = (JSON.parse(body) as { version: string }[]).map(({ version }) => version);
      expect(new Set(index).size).toBe(index.length);
      expect([...confirmed.keys()].filter((version) => !index.includes(version))).toEqual([]);
      // How many are cut depends on how busy the machine is.
      expect(cut).toBeGreaterThan(0);
      process.stdout.write(`${rounds} rounds on S3: ${confirmed.size} answered 201, ${cut} cut\n`);
    },
    60_000 + rounds * 10_000,
  );
});

/** The names of all archives in the bucket, referred to or not. */
async function archivesIn(settings: S3Settings): Promise<string[]> {
  const { S3Client } = await import('../src/s3/s3-client.ts');
  const { listObjects } = await import('../src/s3/s3-listing.ts');
  const client = new S3Client(settings, { now, limits: shortLimits });
  onTestFinished(() => client.close());
  const names: string[] = [];
  for await (const { objects } of listObjects(client, `${settings.prefix}archives/`))
    names.push(...objects.map(({ name }) => name));
  return names;
}

async function* pieces(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}
