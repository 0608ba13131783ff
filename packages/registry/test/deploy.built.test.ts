import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, onTestFinished } from 'vitest';

import { ask } from '../../kit/test/http/raw-client.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { authorized, key, toolArchive } from './registry-kit.ts';
import { RegistryProcess, runRegistry } from './registry-process.ts';
import { s3Environment } from './s3-kit.ts';
import { S3StandIn, standInUser } from './s3-stand-in.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const containerfile = readFileSync(join(root, 'deploy', 'Containerfile'), 'utf8');
const unit = join(root, 'deploy', 'svc-registry.service');

/** A directory with what the image has in it. */
function copied(): string {
  const place = temporaryDirectory();
  for (const [, from = '', to = ''] of containerfile.matchAll(/^COPY (\S+) (\S+)\/$/gm)) {
    mkdirSync(join(place, to), { recursive: true });
    cpSync(join(root, from), join(place, to, from.split('/').at(-1) ?? ''));
  }
  return place;
}

function entryPoint(): string {
  return /^ENTRYPOINT \["node", "(.*)"\]$/m.exec(containerfile)?.[1] ?? '';
}

describe('the Containerfile', () => {
  it('copies all that the server needs to take and give an artifact', async () => {
    const place = copied();
    const env = { REGISTRY_API_KEY: key, REGISTRY_BIND: '127.0.0.1:0', REGISTRY_DATA: join(place, 'data') };
    const server = new RegistryProcess([], env, join(place, entryPoint()));
    onTestFinished(() => void server.child.kill('SIGKILL'));
    const [, port] = await server.complained(/listens on http:\/\/\S+:(\d+), /);
    const publish = 'POST /v1/artifacts?name=echo&version=1.0.0&runtime=wasm HTTP/1.1';
    const body = await toolArchive('echo');
    expect((await ask(Number(port), publish, { headers: [authorized], body })).status).toBe(201);
    expect((await ask(Number(port), 'GET /v1/artifacts/echo/1.0.0 HTTP/1.1', { headers: [authorized] })).status).toBe(
      200,
    );
  });

  it('copies what a store on S3 needs, too', async () => {
    const place = copied();
    const standIn = await S3StandIn.start();
    const env = {
      REGISTRY_API_KEY: key,
      REGISTRY_BIND: '127.0.0.1:0',
      REGISTRY_DATA: join(place, 'data'),
      REGISTRY_STORE: 's3://bucket',
      ...s3Environment(standIn.endpoint, standInUser),
    };
    const server = new RegistryProcess([], env, join(place, entryPoint()));
    onTestFinished(() => void server.child.kill('SIGKILL'));
    const [listens] = await server.complained(/listens on .*\n/);
    expect(listens).toContain('data in s3://bucket/\n');
  });

  it('asks after the health of what it starts, where it is', () => {
    expect(containerfile).toContain("fetch('http://127.0.0.1:7801/healthz')");
    expect(containerfile).toContain('REGISTRY_HEALTH=127.0.0.1:7801');
    expect(containerfile).toContain('REGISTRY_BIND=0.0.0.0:7800');
  });
});

const analyze = spawnSync('systemd-analyze', ['--version']).status === 0;

it.skipIf(!analyze)('the unit is one that systemd understands (skipped without systemd-analyze)', () => {
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
  const about = stderr
    .split('\n')
    .filter((line) => line.includes('svc-registry') && !line.includes('is not executable'));
  expect([about, status === 0 || stderr.includes('is not executable')]).toEqual([[], true]);
});

it('docs/registry.md names every option and variable of the help', async () => {
  const page = readFileSync(join(root, 'docs', 'registry.md'), 'utf8');
  const { stdout } = await runRegistry(['--help'], {});
  const named = [...stdout.matchAll(/--[a-z-]+|(?:REGISTRY|AWS|S3)_[A-Z_]+/g)].map(([name]) => name);
  expect(named).toHaveLength(25);
  const said = named.filter((name) => name !== '--help' && name !== '--version');
  expect(said.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
