import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { findLogin, type OciLogin } from '../../src/store/sources/oci/logins.ts';
import { temporaryDirectory } from '../store/artifacts.ts';
import { refusalOf } from './hostile-kit.ts';

let home: string;
beforeEach(() => {
  home = temporaryDirectory();
});

const encoded = (pair: string): string => Buffer.from(pair).toString('base64');

function keep(path: string, logins: unknown): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof logins === 'string' ? logins : JSON.stringify(logins));
  return file;
}

async function login(host: string, repository = 'acme/echo', env: Record<string, string> = {}): Promise<string | null> {
  return shownOf(await findLogin({ host, repository }, { env: { PATH: '', ...env }, home }));
}

function shownOf(found: OciLogin | null): string | null {
  if (found === null) return null;
  if (found.kind === 'identity') return `identity ${found.token.reveal()}`;
  return Buffer.from(found.pair.reveal(), 'base64').toString();
}

describe('the login that is kept for a registry', () => {
  it('does not exist where nobody has logged in', async () => {
    expect(await login('registry.example')).toBeNull();
    keep('.docker/config.json', {});
    expect(await login('registry.example')).toBeNull();
  });

  it('belongs to the host, or to the part of it that is named most closely', async () => {
    keep('.docker/config.json', {
      auths: {
        'registry.example': { auth: encoded('all:1') },
        'registry.example/acme': { auth: encoded('acme:2:3') },
        'other.example': { identitytoken: 'id' },
      },
    });
    expect(await login('registry.example')).toBe('acme:2:3');
    expect(await login('registry.example', 'acmeville/echo')).toBe('all:1');
    expect(await login('other.example')).toBe('identity id');
    expect(await login('registry.example.evil')).toBeNull();
  });

  it('comes from where the environment says, then from podman, then from docker', async () => {
    const auths = (user: string): object => ({ auths: { 'registry.example': { auth: encoded(`${user}:x`) } } });
    keep('.docker/config.json', auths('docker'));
    expect(await login('registry.example')).toBe('docker:x');
    keep('.config/containers/auth.json', auths('podman'));
    expect(await login('registry.example')).toBe('podman:x');
    const runtime = dirname(dirname(keep('run/containers/auth.json', auths('runtime'))));
    expect(await login('registry.example', 'echo', { XDG_RUNTIME_DIR: runtime })).toBe('runtime:x');
    const config = dirname(keep('elsewhere/config.json', auths('elsewhere')));
    expect(await login('registry.example', 'echo', { DOCKER_CONFIG: config })).toBe('elsewhere:x');
    const named = keep('named.json', auths('named'));
    expect(await login('registry.example', 'echo', { REGISTRY_AUTH_FILE: named })).toBe('named:x');
  });

  it('belongs to the hub where docker.io is meant', async () => {
    keep('.docker/config.json', { auths: { 'https://index.docker.io/v1/': { auth: encoded('ann:1') } } });
    expect(await login('docker.io')).toBe('ann:1');
  });

  it.each([
    ['a file that is no JSON', '{'],
    ['logins that are no object', { auths: [] }],
    ['a helper that leads elsewhere', { credsStore: '../../bin/evil' }],
    ['a helper with a blank', { credHelpers: { 'registry.example': 'a b' } }],
    ['a helper that is not there', { credsStore: 'absent' }],
  ])('fails with %s', async (_, logins) => {
    keep('.docker/config.json', logins);
    expect(await refusalOf(login('registry.example'))).toMatchObject({ code: 'E-REG-006' });
  });

  it('has no user or password that is not there, and none of the prototype of an object', async () => {
    keep('.docker/config.json', { auths: { 'registry.example': { auth: encoded('nobody') } }, credHelpers: {} });
    expect(await login('registry.example')).toBeNull();
    expect(await login('constructor')).toBeNull();
  });
});
