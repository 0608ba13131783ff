import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { decodeRecord } from '../../src/registry/artifact-record.ts';
import { ask } from '../http/raw-client.ts';
import { temporaryDirectory } from '../store/artifacts.ts';
import { authorized, bareArchive } from './registry-kit.ts';
import { startRegistry } from './registry-process.ts';

const rounds = Number(process.env['REGISTRY_ROUNDS'] ?? 20);

/** Publishes at once in one round: of different versions, two of the same, and one of two platforms. */
const bodies = [1, 200_000, 400_000, 600_000].map((bytes) => 'x'.repeat(bytes));

interface Attempt {
  readonly version: string;
  readonly platform: string;
  readonly sha256: string;
  /** Null when the server died before it answered. */
  readonly status: number | null;
}

describe(`a registry killed while it takes publishes, ${rounds} rounds`, () => {
  it(
    'has every artifact it answered 201 for, whole, none in part and none twice',
    async () => {
      const data = temporaryDirectory();
      const first = await startRegistry(data);
      const bind = { REGISTRY_BIND: `127.0.0.1:${first.port}` };
      const startedMs = performance.now();
      const whole = await publishAll(first.port, 'whole');
      const wholeMs = performance.now() - startedMs;
      expect(whole.map(({ status }) => status ?? 0).toSorted((a, b) => a - b)).toEqual([201, 201, 201, 201, 201, 409]);
      let server = first;
      const confirmed = whole.filter(({ status }) => status === 201);
      let cut = 0;
      for (let round = 0; round < rounds; round += 1) {
        const publishing = publishAll(server.port, String(round));
        // The moments are spread over a whole round, its very start and end included.
        await Promise.race([publishing, delay((wholeMs * (round + 0.5)) / rounds)]);
        server.process.child.kill('SIGKILL');
        const attempts = await publishing;
        await server.process.ended;
        cut += attempts.filter(({ status }) => status === null).length;

        server = await startRegistry(data, bind);
        checkFiles(data);
        for (const attempt of attempts) await checkServed(server.port, attempt);
        confirmed.push(...attempts.filter(({ status }) => status === 201));
      }
      for (const attempt of confirmed) await checkServed(server.port, attempt);
      expect(cut).toBeGreaterThan(rounds / 4);
      process.stdout.write(`${rounds} rounds: ${confirmed.length} answered 201, ${cut} cut\n`);
    },
    60_000 + rounds * 10_000,
  );
});

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

/** Every object is whole, no variant is there twice, and nothing is left of what was cut. */
function checkFiles(data: string): void {
  const variants: string[] = [];
  for (const key of readdirSync(join(data, 'objects'))) {
    const directory = join(data, 'objects', key);
    expect(readdirSync(directory).sort(), key).toEqual(['archive.zip', 'record.json']);
    const record = decodeRecord(readFileSync(join(directory, 'record.json'), 'utf8'));
    const archive = readFileSync(join(directory, 'archive.zip'));
    expect(createHash('sha256').update(archive).digest('hex'), key).toBe(record?.sha256);
    for (const platform of record?.platforms ?? []) variants.push(`${record?.version} ${platform}`);
  }
  expect(new Set(variants).size).toBe(variants.length);
  const staged = readdirSync(join(data, 'staging'), { recursive: true, encoding: 'utf8' });
  expect(staged.filter((path) => path.includes('/') && !path.endsWith('-probe'))).toEqual([]);
}
