import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { AuthorizationServer } from '../../../../../../test/support/authorization-server.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { RemoteMcpServer } from '../../../../../../test/support/remote-server.ts';
import { passed } from '../../../../test/tools/played-server.ts';
import { clientOf } from '../../../../test/tools/remote-client.ts';
import { remoteServer } from '../remote-server.ts';
import type { ToolServer } from '../tool-server.ts';
import {
  allLogins,
  isOver,
  type KeptLogin,
  type LoginPlace,
  loginPlace,
  readLogin,
  removeLogin,
  writeLogin,
} from './kept-login.ts';
import { LoginTokens } from './login-tokens.ts';

interface Known {
  readonly issuer: AuthorizationServer;
  readonly remote: RemoteMcpServer;
  readonly place: LoginPlace;
  readonly secrets: string[];
  now: number;
  readonly tokens: () => LoginTokens;
}

/** A server that wants a login, and one that is kept, whose access token no longer holds. */
async function started(): Promise<Known> {
  const [issuer, remote] = [await AuthorizationServer.start(), await RemoteMcpServer.start()];
  const home = mkdtempSync(join(tmpdir(), 'svc-login-'));
  onTestFinished(() => {
    issuer.close();
    remote.close();
    rmSync(home, { recursive: true });
  });
  remote.ways.protection = { issuer: issuer.issuer, isKnown: (token) => issuer.isKnown(token) };
  const place = loginPlace(remote.url, home, process.getuid?.());
  const login: KeptLogin = {
    server: remote.url,
    address: '127.0.0.1',
    resource: remote.url,
    issuer: issuer.issuer,
    endpoints: {
      authorization_endpoint: `${issuer.issuer}/authorize`,
      token_endpoint: `${issuer.issuer}/token`,
      revocation_endpoint: null,
      methods: ['none'],
    },
    client: { client_id: 'svc', client_secret: null, is_given: true },
    tokens: { access_token: 'old', refresh_token: issuer.refreshToken(), scope: 'tools', renew_at_ms: null },
    used_by: [],
  };
  await writeLogin(place, login);
  const secrets: string[] = [];
  const known: Known = {
    issuer,
    remote,
    place,
    secrets,
    now: 1_000_000,
    tokens: () =>
      new LoginTokens({
        place,
        login: readLogin(place) ?? login,
        proxyFor: null,
        now: () => known.now,
        onSecret: (secret) => void secrets.push(secret.reveal()),
        onEnded: (secret) => void secrets.splice(secrets.indexOf(secret.reveal()), 1),
      }),
  };
  return known;
}

function serverOf({ remote }: Known, tokens: LoginTokens): ToolServer {
  const place = remoteServer({ url: new URL(remote.url), allow: [], proxyFor: null, headers: {}, tokens });
  return clientOf(remote, { place }).server;
}

const { signal } = new AbortController();

async function reasonOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'done',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

/** No file of this process gets larger than so many bytes, as on a full disk, until what it returns is called. */
function limitFiles(bytes: number): () => void {
  const limited = (soft: string): void => {
    const { status } = spawnSync('prlimit', ['--pid', String(process.pid), `--fsize=${soft}:`]);
    expect(status).toBe(0);
  };
  limited(String(bytes));
  return () => limited('unlimited');
}

async function withLargestFile<T>(bytes: number, work: () => Promise<T>): Promise<T> {
  const restore = limitFiles(bytes);
  return await work().finally(restore);
}

describe.each([true, false])('the tokens of a login, at a server whose revision is the newest: %s', (isModern) => {
  it('change once for 20 calls at once', async () => {
    const known = await started();
    known.remote.ways.isModern = isModern;
    const server = serverOf(known, known.tokens());
    expect(await server.call({ tool: 'echo', args: { text: 'hi' }, signal })).toEqual(passed('hi'));
    expect(known.issuer.refreshes).toBe(1);
    known.issuer.expire();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => await server.call({ tool: 'echo', args: { text: `${at}` }, signal })),
    );
    expect(outcomes).toEqual(Array.from({ length: 20 }, (_, at) => passed(`${at}`)));
    expect({ refreshes: known.issuer.refreshes, reused: known.issuer.reused }).toEqual({ refreshes: 2, reused: 0 });
  });
});

describe('the tokens of a login', () => {
  it('reach the disk, and the list of secrets, before a server is shown them', async () => {
    const known = await started();
    const tokens = known.tokens();
    await tokens.renew('old');
    const shown = await tokens.current();
    expect(readLogin(known.place)?.tokens.access_token).toBe(shown);
    expect(known.secrets).toContain(shown);
    expect(known.secrets).toContain(readLogin(known.place)?.tokens.refresh_token);
  });

  it('come from the disk where another process renewed them', async () => {
    const known = await started();
    const [one, other] = [known.tokens(), known.tokens()];
    await one.renew('old');
    await other.renew('old');
    expect(await other.current()).toBe(await one.current());
    expect(known.issuer.refreshes).toBe(1);
  });

  it('change half a minute before they end, and short ones at half of their time', async () => {
    const known = await started();
    const tokens = known.tokens();
    await tokens.renew('old');
    expect(readLogin(known.place)?.tokens.renew_at_ms).toBe(known.now + 3_570_000);
    known.now += 3_570_000;
    known.issuer.rules.expiresIn = 10;
    await tokens.current();
    expect(known.issuer.refreshes).toBe(2);
    expect(readLogin(known.place)?.tokens.renew_at_ms).toBe(known.now + 5000);
  });

  it('end once the refresh token does not hold, and nobody is asked again', async () => {
    const known = await started();
    known.issuer.forget();
    const tokens = known.tokens();
    for (const _again of [1, 2]) await expect(tokens.renew('old')).rejects.toThrow('its login is over');
    expect(known.issuer.refreshes).toBe(1);
    const kept = readLogin(known.place);
    expect(kept !== null && isOver(kept, known.now)).toBe(true);
  });

  it('end where the login was removed', async () => {
    const known = await started();
    const tokens = known.tokens();
    rmSync(known.place.path);
    await expect(tokens.renew('old')).rejects.toThrow('its login is over: it was removed; run svc login ');
    expect(known.issuer.refreshes).toBe(0);
  });

  it('count as secrets for as long as they may open something, and no longer', async () => {
    const known = await started();
    const tokens = known.tokens();
    for (let times = 0; times < 100; times += 1) await tokens.renew(await tokens.current());
    expect(known.issuer.refreshes).toBe(100);
    expect(known.secrets).toHaveLength(50);
    expect(new Set(known.secrets).size).toBe(50);
    expect(known.secrets.slice(-2)).toEqual([
      await tokens.current(),
      readLogin(known.place)?.tokens.refresh_token ?? 'none',
    ]);
  });

  it('go with those that a session got while they were removed', async () => {
    const known = await started();
    const tokens = known.tokens();
    const kept = readLogin(known.place);
    if (kept === null) throw new Error('a login is kept');
    const removing = await withGuard(known.place.path, async () => {
      const begun = removeLogin(known.place);
      await writeLogin(known.place, { ...kept, tokens: { ...kept.tokens, refresh_token: 'renewed' } });
      return { begun };
    });
    expect((await removing.begun)?.login?.tokens.refresh_token).toBe('renewed');
    expect([readLogin(known.place), await removeLogin(known.place)]).toEqual([null, null]);
    await expect(tokens.renew('old')).rejects.toThrow('it was removed');
  });

  it('stay as they are where nobody could read the new ones again', async () => {
    const known = await started();
    const kept = readLogin(known.place);
    if (kept === null) throw new Error('a login is kept');
    const crowded = { ...kept, used_by: Array.from({ length: 4000 }, () => 'a'.repeat(64)) };
    await expect(writeLogin(known.place, crowded)).rejects.toMatchObject({
      code: 'E-RUN-240',
      message: `the login at ${known.remote.url} would take more than 256 KiB`,
    });
    expect(readLogin(known.place)).toEqual(kept);
  });

  it('change for a client whose secret has characters of its own', async () => {
    const known = await started();
    const kept = readLogin(known.place);
    if (kept === null) throw new Error('a login is kept');
    const client = { client_id: 'a:b', client_secret: 'c+d %', is_given: true };
    const endpoints = { ...kept.endpoints, methods: ['client_secret_basic'] };
    await writeLogin(known.place, { ...kept, client, endpoints });
    await known.tokens().renew('old');
    expect(known.issuer.tokenRequests).toMatchObject([{ client_id: 'a:b', client_secret: 'c+d %' }]);
  });

  it('stay, and are asked for nowhere, while the disk has no room for new ones', async () => {
    const known = await started();
    const tokens = known.tokens();
    const before = readLogin(known.place);
    const failed = await withLargestFile(10_000, async () => await reasonOf(tokens.renew('old')));
    expect(failed).toContain('could not be renewed: cannot write');
    expect([known.issuer.refreshes, readLogin(known.place)]).toEqual([0, before]);
    expect(readdirSync(join(known.place.path, '..'))).toHaveLength(1);
    await tokens.renew('old');
    expect({ refreshes: known.issuer.refreshes, reused: known.issuer.reused }).toEqual({ refreshes: 1, reused: 0 });
  });

  it('end by name where the new ones cannot be kept all the same, and nobody shows the old ones again', async () => {
    const known = await started();
    const tokens = known.tokens();
    let restore = (): void => {};
    known.issuer.rules.instead = (_request, _response, path) => {
      if (path === '/token') restore = limitFiles(10);
      return false;
    };
    const lost = await reasonOf(tokens.renew('old')).finally(() => restore());
    expect(lost).toMatch(/its login is over: its new tokens were lost: cannot write .*; run svc login /);
    expect(await reasonOf(known.tokens().renew('old'))).toContain('it was removed');
    expect({ refreshes: known.issuer.refreshes, reused: known.issuer.reused }).toEqual({ refreshes: 1, reused: 0 });
    expect(readdirSync(join(known.place.path, '..'))).toEqual([]);
  });

  it('fail by the name of what is missing in an answer', async () => {
    const known = await started();
    known.issuer.rules.instead = (_request, response, path) => {
      if (path === '/token') response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      return path === '/token';
    };
    await expect(known.tokens().renew('old')).rejects.toThrow('gives no token: access_token is missing');
  });

  it('name the next step as a shell reads it, whatever a server asks for', async () => {
    const known = await started();
    const tokens = known.tokens();
    expect(tokens.more('read write')).toBe(`svc login ${known.remote.url} --scope 'read write' may help`);
    expect(tokens.more("$(id)'`id`")).toBe(`svc login ${known.remote.url} --scope '$(id)'\\''\`id\`' may help`);
  });

  it.each<readonly [string, (known: Known) => Promise<unknown>]>([
    ['are renewed', async (known) => await known.tokens().renew('old')],
    ['are removed', async ({ place }) => await removeLogin(place)],
  ])('take with them what writers killed an hour ago left, when they %s', async (_when, change) => {
    const known = await started();
    const folder = dirname(known.place.path);
    const [old, young] = ['.svc-tmp-old', '.svc-tmp-young'].map((name) => join(folder, name)) as [string, string];
    for (const path of [old, young]) writeFileSync(path, '{"tokens":{"refresh_token":"new"}}', { mode: 0o600 });
    utimesSync(old, new Date(0), new Date(0));
    await change(known);
    expect([existsSync(old), existsSync(young)]).toEqual([false, true]);
  });

  it('leave beside the login nothing that a process wrote half', async () => {
    const known = await started();
    await known.tokens().renew('old');
    const folder = join(known.place.path, '..');
    expect(readdirSync(folder)).toHaveLength(1);
    writeFileSync(join(folder, `${'0'.repeat(32)}.json`), '{', { mode: 0o600 });
    const { logins, faults } = allLogins(join(folder, '..', '..'), known.place.uid);
    expect(logins.map(({ server }) => server)).toEqual([known.remote.url]);
    expect(faults).toEqual([`${join(folder, `${'0'.repeat(32)}.json`)} holds no login`]);
  });
});
