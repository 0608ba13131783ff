import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, watch, type FSWatcher } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { decodeRecord } from '../src/artifact-records.ts';
import { ask } from '../../kit/test/http/raw-client.ts';
import { portToName } from '../../../test/support/port-to-name.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { authorized, bareArchive } from './registry-kit.ts';
import { startRegistry } from './registry-process.ts';

const rounds = Number(process.env['REGISTRY_ROUNDS'] ?? 20);

/** Publishes at once in one round: of different versions, two of the same, and one of two platforms. */
const bodies = [1, 200_000, 400_000, 600_000].map((bytes) => 'x'.repeat(bytes));

interface Attempt {
  readonly version: string;
  readonly platform: string;
  readonly sha256: string;
  /** Is null if the server died before it answered. */
  readonly status: number | null;
}

describe(`a registry killed while it takes publishes, ${rounds} rounds`, () => {
  it(
    'has every artifact it answered 201 for, whole, none in part and none twice',
    async () => {
      const data = temporaryDirectory();
      const bind = { REGISTRY_BIND: `127.0.0.1:${await portToName()}` };
      const first = await startRegistry(data, bind);
      const startedMs = performance.now();
      const whole = await publishAll(first.port, 'whole');
      const wholeMs = performance.now() - startedMs;
      expect(whole.map(({ status }) => status ?? 0).toSorted((a, b) => a - b)).toEqual([201, 201, 201, 201, 201, 409]);
      const seen = new Map<string, readonly string[]>();
      let server = first;
      const confirmed = whole.filter(({ status }) => status === 201);
      let cut = 0;
      for (let round = 0; round < rounds; round += 1) {
        const watcher = watch(join(data, 'objects'));
        const publishing = publishAll(server.port, String(round));
        // Every other round ends while an artifact appears. The moments of the rest are spread over a round on a machine twice as busy.
        const moment = round % 2 === 0 ? appearance(watcher, round % 5) : delay((2 * wholeMs * (round + 0.5)) / rounds);
        await Promise.race([publishing, moment]);
        server.process.child.kill('SIGKILL');
        watcher.close();
        const attempts = await publishing;
        await server.process.ended;
        cut += attempts.filter(({ status }) => status === null).length;

        server = await startRegistry(data, bind);
        checkFiles(data, seen);
        for (const attempt of attempts) await checkServed(server.port, attempt);
        confirmed.push(...attempts.filter(({ status }) => status === 201));
      }
      for (const attempt of confirmed) await checkServed(server.port, attempt);
      checkFiles(data, new Map());
      // How many are cut depends on how busy the machine is.
      expect(cut).toBeGreaterThan(0);
      process.stdout.write(`${rounds} rounds: ${confirmed.length} answered 201, ${cut} cut\n`);
    },
    60_000 + rounds * 10_000,
  );
});

/** Resolves when something has appeared in the watched directory for the `after`-th time from now. */
async function appearance(watcher: FSWatcher, after: number): Promise<void> {
  for (let seen = 0; seen <= after; seen += 1) await once(watcher, 'change');
}

async function publishAll(port: number, round: string): Promise<Attempt[]> {
  const single = bodies.map((body, index) => publish(port, `1.${round}.${index}`, ['linux-x86_64'], body));
  return await Promise.all([
    ...single,
    publish(port, `1.${round}.2`, ['linux-x86_64'], 'a rival'),
    publish(port, `1.${round}.several`, ['linux-x86_64', 'linux-aarch64'], 'for two'),
  ]);
}

async function publish(port: number, version: string, platforms: readonly string[], text: string): Promise<Attempt> {
  const body = await bareArchive(`${version} ${text}`);
  const query = [`name=a&version=${version}&runtime=static`, ...platforms.map((platform) => `platform=${platform}`)];
  const headers = [authorized];
  const { status } = await ask(port, `POST /v1/artifacts?${query.join('&')} HTTP/1.1`, { headers, body });
  return {
    version,
    platform: platforms.at(-1) ?? '',
    sha256: createHash('sha256').update(body).digest('hex'),
    status: Number.isNaN(status) ? null : status,
  };
}

/** What was confirmed is there with its bytes; what was cut is there as a whole or not at all. */
async function checkServed(port: number, { version, platform, sha256, status }: Attempt): Promise<void> {
  const requestLine = `GET /v1/artifacts/a/${version}?platform=${platform} HTTP/1.1`;
  const response = await ask(port, requestLine, { headers: [authorized] });
  const hash = createHash('sha256').update(Buffer.from(response.body, 'latin1')).digest('hex');
  if (response.status === 200) expect(hash, version).toBe(response.headers['x-svc-sha256']);
  if (status === 201) expect([response.status, hash], version).toEqual([200, sha256]);
  else if (status === null) expect([200, 404], version).toContain(response.status);
}

/** Every object is whole, no variant is there twice, and nothing is left of what was cut. What `seen` has is not read again. */
function checkFiles(data: string, seen: Map<string, readonly string[]>): void {
  const keys = readdirSync(join(data, 'objects'));
  for (const key of keys) if (!seen.has(key)) seen.set(key, variantsOf(join(data, 'objects', key)));
  const variants = keys.flatMap((key) => seen.get(key) ?? []);
  expect(new Set(variants).size).toBe(variants.length);
  const staged = readdirSync(join(data, 'staging'), { recursive: true, encoding: 'utf8' });
  expect(staged.filter((path) => path.includes('/'))).toEqual([]);
}

function variantsOf(directory: string): string[] {
  expect(readdirSync(directory).sort(), directory).toEqual(['archive.zip', 'record.json']);
  const record = decodeRecord(readFileSync(join(directory, 'record.json'), 'utf8'));
  const archive = readFileSync(join(directory, 'archive.zip'));
  expect(createHash('sha256').update(archive).digest('hex'), directory).toBe(record?.sha256);
  return (record?.platforms ?? []).map((platform) => `${record?.version} ${platform}`);
}
