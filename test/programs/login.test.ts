import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

import { loginPlace, writeLogin } from '@svc/session/tools/mcp/login/kept-login.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { calls } from '../support/mcp-artifact.ts';
import { playSession } from '../support/mcp-capsule.ts';
import { ProtectedServer } from '../support/protected-server.ts';
import { svc, type SvcEnd, SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const killing = fileURLToPath(new URL('../support/killed-at-rename.cjs', import.meta.url));
const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

const address = /^http:\/\/127\.0\.0\.1:\d+\/authorize\?.*$/m;

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const server of opened.splice(0)) server.close();
});

async function started(): Promise<ProtectedServer> {
  const known = await ProtectedServer.start();
  opened.push(known);
  return known;
}

async function loggedIn(workspace: Workspace, known: ProtectedServer, more: readonly string[] = []): Promise<SvcEnd> {
  const login = new SvcProcess(workspace, ['login', known.remote.url, ...more]);
  expect(await known.sayYes(login)).toContain('You can close this page.');
  return await login.ended;
}

function project(script = calls(['server__echo', { text: 'hi' }])): Workspace {
  return capsule({ manifest: '', script });
}

/** A project that has a login at the server, and has added it. */
async function withLogin(known: ProtectedServer, script?: string): Promise<Workspace> {
  const workspace = project(script);
  const login = await known.login();
  await writeLogin(loginPlace(known.remote.url, workspace.home, process.getuid?.()), { ...login, used_by: [] });
  expect(await svc(workspace, ['add', `mcp+${known.remote.url}`])).toMatchObject({ code: 0 });
  return workspace;
}

function loginFile({ home }: Workspace): string {
  const folder = join(home, '.svc', 'logins');
  return join(folder, readdirSync(folder).find((name) => /^[0-9a-f]{32}\.json$/.test(name)) ?? 'none');
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

function tokensIn(workspace: Workspace): Tokens {
  return (JSON.parse(readFileSync(loginFile(workspace), 'utf8')) as { readonly tokens: Tokens }).tokens;
}

function everythingIn(folder: string, without: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && join(entry.parentPath, entry.name) !== without)
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}

function fenced(tool: string, content: string): string {
  return `<untrusted-content source=tool:${tool}>\n${content}\n</untrusted-content>`;
}

describe('svc login', () => {
  it('asks the person with PKCE, a state and the resource, and keeps the tokens in one file of this user', async () => {
    const known = await started();
    const workspace = project();
    const done = await loggedIn(workspace, known);
    const { remote, issuer } = known;
    const { host } = new URL(issuer.issuer);
    expect(done).toMatchObject({ code: 0 });
    expect(done.stderr).toContain(
      `${new URL(remote.url).host} asks you to log in at ${host}, for: tools offline_access\n`,
    );
    expect(done.stderr).toContain(`logged in at ${remote.url}\n`);
    expect(issuer.registered).toMatchObject([{ application_type: 'native', token_endpoint_auth_method: 'none' }]);
    const [asked = {}] = issuer.authorized;
    expect(asked).toMatchObject({
      response_type: 'code',
      client_id: 'registered-1',
      code_challenge_method: 'S256',
      resource: remote.url,
      scope: 'tools offline_access',
    });
    expect(asked['state']).toMatch(/^[\w-]{43}$/);
    expect(asked['redirect_uri']).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expect(issuer.tokenRequests).toMatchObject([{ grant_type: 'authorization_code', resource: remote.url }]);
    expect(statSync(loginFile(workspace)).mode & 0o777).toBe(0o600);
    expect(statSync(join(workspace.home, '.svc', 'logins')).mode & 0o777).toBe(0o700);
  });

  it('lets the project that adds the server use it, and no file, frame or line has a token', async () => {
    const known = await started();
    const script = calls(['server__echo', { text: 'hi' }], ['server__echo', { text: 'TOKENS' }]);
    const workspace = await withLogin(known, script);
    expect(readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')).toMatch(/from: "mcp\+http[^"]*", auth: login }/);
    const report = await svc(workspace, ['run', '--explain-scope']);
    expect(report.stdout).toContain(`server ${known.remote.url} (login of this user)`);
    // A server that repeats what it was shown.
    const { access_token: access, refresh_token: refresh } = tokensIn(workspace);
    known.remote.ways.answer = (text) => text.replace('TOKENS', `${access} ${refresh}`);
    const session = await playSession(workspace);
    expect(session).toMatchObject({ code: 0 });
    expect(session.calls.map(({ content }) => content)).toEqual([
      fenced('server__echo', 'hi'),
      fenced('server__echo', '[secret] [secret]'),
    ]);
    const all = [workspace.folder, workspace.home].map((folder) => everythingIn(folder, loginFile(workspace)));
    for (const text of [...all, session.stdout, session.stderr]) {
      expect(text).not.toContain(access);
      expect(text).not.toContain(refresh);
    }
    const replayed = await svc(workspace, ['run', '--replay']);
    expect(replayed.stdout).toContain('the same except for ids and times');
  });

  it('takes the address that is pasted, and not that of another login', async () => {
    const known = await started();
    const { remote } = known;
    const { folder, home } = project();
    const child = spawn(process.execPath, [program, 'login', remote.url], {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: home },
      stdio: 'pipe',
    });
    let said = '';
    const shown = new Promise<string>((resolve) => {
      child.stderr.setEncoding('utf8').on('data', (piece: string) => {
        said += piece;
        const [url] = address.exec(said) ?? [];
        if (url !== undefined && said.includes('paste the address')) resolve(url);
      });
    });
    const url = await shown;
    const back = new URL(await known.landed(url));
    const other = new URL(back);
    other.searchParams.set('state', 'another');
    const refused = await fetch(other);
    expect({ status: refused.status, text: await refused.text() }).toEqual({
      status: 400,
      text: 'This belongs to no login.\n',
    });
    back.port = '1';
    child.stdin.write(`${other.href}\n${back.href}\n`);
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(0);
    expect(said).toContain('that is not the address that the browser lands on\n');
  });

  it('lets another project use a login that is there once it is run beside it', async () => {
    const known = await started();
    const workspace = await withLogin(known);
    const clone = project();
    clone.write('svc.yaml', readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8'));
    const home = { env: { HOME: workspace.home } };
    const refused = await svc(clone, ['run', '--task', 'x'], home);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-RUN-241]') as string });
    expect(refused.stderr).toContain(`hint: run svc login ${known.remote.url} beside the manifest`);
    known.remote.seen.splice(0);
    const shared = await svc(clone, ['login', 'server'], home);
    expect(shared).toMatchObject({ code: 0 });
    expect(shared.stderr).toBe(`there is a login at ${known.remote.url}\nthe capsule in ${clone.folder} may use it\n`);
    expect(known.issuer.authorized).toHaveLength(1);
    expect(await svc(clone, ['run', '--task', 'x'], home)).toMatchObject({ code: 0 });
  });

  it('stands in the hint where a server wants one', async () => {
    const { remote } = await started();
    const workspace = project();
    const added = await svc(workspace, ['add', `mcp+${remote.url}`]);
    expect(added).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-RUN-036]') as string });
    expect(added.stderr).toContain(`log in first: svc login ${remote.url}`);
  });

  it('shows in svc doctor and svc info, also when it is over', async () => {
    const known = await started();
    const workspace = await withLogin(known);
    const { issuer, remote } = known;
    expect((await svc(workspace, ['doctor'])).stdout).toMatch(
      new RegExp(`^login: +${remote.url} by ${issuer.issuer}$`, 'm'),
    );
    const [, version = ''] =
      /version: (0\.0\.0-pin\w+)/.exec(readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')) ?? [];
    const info = await svc(workspace, ['info', `server@${version}`]);
    expect(info.stdout).toMatch(new RegExp(`^server +${remote.url}, where you are logged in$`, 'm'));
    expect(info.stdout).not.toContain('asks for');
    issuer.forget();
    await playSession(workspace);
    expect(JSON.parse((await svc(workspace, ['doctor', '--json'])).stdout)).toMatchObject({
      logins: [{ server: remote.url, issuer: issuer.issuer, holds: false }],
    });
  });

  it('ends with logout, which has the tokens revoked, and a replay needs none', async () => {
    const known = await started();
    const workspace = await withLogin(known);
    const { refresh_token: refresh } = tokensIn(workspace);
    expect(await playSession(workspace)).toMatchObject({ code: 0 });
    const out = await svc(workspace, ['logout', 'server', '--json']);
    expect({ code: out.code, said: JSON.parse(out.stdout) as unknown }).toEqual({
      code: 0,
      said: { server: known.remote.url, revoked: true },
    });
    expect(known.issuer.revoked).toEqual([{ token: refresh, client_id: 'registered-1' }]);
    const again = await svc(workspace, ['logout', known.remote.url]);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-RUN-241]') as string });
    const replayed = await svc(workspace, ['run', '--replay']);
    expect(replayed.stdout).toContain('the same except for ids and times');
    const session = await svc(workspace, ['run', '--task', 'x']);
    expect(session.stderr).toContain(`error[E-RUN-241]: there is no login at ${known.remote.url}`);
  });

  it('acts as the client that a person names, and goes on as that', async () => {
    const known = await started();
    known.issuer.rules.metadata = { registration_endpoint: undefined };
    const workspace = project();
    const refused = await svc(workspace, ['login', known.remote.url]);
    expect(refused.stderr).toContain(`error[E-RUN-240]: ${known.issuer.issuer} registers no clients\n`);
    expect(refused.stderr).toContain('--client-id');
    expect(await loggedIn(workspace, known, ['--client-id', 'mine', '--scope', 'more'])).toMatchObject({ code: 0 });
    expect(await loggedIn(workspace, known)).toMatchObject({ code: 0 });
    expect(known.issuer.authorized).toMatchObject([
      { client_id: 'mine', scope: 'more' },
      { client_id: 'mine', scope: 'tools offline_access' },
    ]);
  });
});

describe('a document that says who svc is', () => {
  const document = 'https://me.example/svc.json';
  const configured = (workspace: Workspace, address: string): void =>
    writeFileSync(join(workspace.home, '.svc', 'config.yaml'), `mcp: { client_metadata: "${address}" }\n`);

  it('names the client where the server reads such documents, and nobody registers one', async () => {
    const known = await started();
    known.issuer.rules.metadata = { client_id_metadata_document_supported: true };
    const workspace = project();
    mkdirSync(join(workspace.home, '.svc'), { recursive: true });
    configured(workspace, document);
    expect(await loggedIn(workspace, known, ['--port', '0'])).toMatchObject({ code: 0 });
    expect(known.issuer.authorized).toMatchObject([{ client_id: document }]);
    expect(known.issuer.tokenRequests).toMatchObject([{ client_id: document }]);
    known.issuer.rules.metadata = {};
    expect(await loggedIn(workspace, known, ['--scope', 'tools'])).toMatchObject({ code: 0 });
    expect([known.issuer.authorized.at(-1), known.issuer.registered]).toMatchObject([
      { client_id: 'registered-1' },
      [{ client_name: 'svc' }],
    ]);
    known.issuer.rules.metadata = { registration_endpoint: undefined };
    const refused = await svc(workspace, ['login', known.remote.url, '--scope', 'tools']);
    expect(refused.stderr).toContain(' registers no clients, and reads no documents of clients\n');
    configured(workspace, 'http://me.example/svc.json');
    expect(await svc(workspace, ['login', known.remote.url])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'error[E-MAN-003]: mcp.client_metadata must be an https address with a path',
      ) as string,
    });
  });
});

describe('a client for which no person logs in', () => {
  const secret = 'canary+of a client%';

  it('gets its tokens as svc add writes it, one for each process, and nothing that svc writes has its secret', async () => {
    const known = await started();
    const { issuer, remote } = known;
    issuer.rules.clients = { ci: secret };
    issuer.rules.metadata = { token_endpoint_auth_methods_supported: ['client_secret_basic'] };
    const script = calls(['server__echo', { text: 'hi' }], ['server__echo', { text: 'SECRET' }]);
    remote.ways.answer = (text) => text.replace('SECRET', `${secret} ${issuer.lastGiven}`);
    const workspace = project(script);
    workspace.write('.env', `OPS='${secret}'\n`);
    const words = ['add', `mcp+${remote.url}`, '--auth-env', 'OPS', '--client-id', 'ci'];
    expect(await svc(workspace, words)).toMatchObject({ code: 0 });
    expect(readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')).toContain(
      `auth: { client_id: ci, client_secret: "\${OPS}", issuer: "${issuer.issuer}" } }`,
    );
    expect((await svc(workspace, ['run', '--explain-scope'])).stdout).toContain(
      `server ${remote.url} (client ci by OPS)`,
    );
    issuer.tokenRequests.splice(0);
    const session = await playSession(workspace);
    expect(session.calls.map(({ content }) => content)).toEqual([
      fenced('server__echo', 'hi'),
      fenced('server__echo', '[secret] [secret]'),
    ]);
    expect(issuer.tokenRequests).toHaveLength(1);
    const ends = await Promise.all(
      Array.from({ length: 2 }, async () => await svc(workspace, ['update', 'server', '--dry-run'])),
    );
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    expect(issuer.tokenRequests).toHaveLength(3);
    const all = [workspace.folder, workspace.home].map((folder) =>
      everythingIn(folder, join(workspace.folder, '.env')),
    );
    for (const text of [...all, session.stdout, session.stderr]) {
      expect(text).not.toContain(secret);
      expect(text).not.toMatch(/access-[0-9a-f]{24}/);
    }
    issuer.rules.clients = {};
    const refused = await svc(workspace, ['update', 'server', '--dry-run']);
    expect(refused.stderr).toContain(
      `it was not asked, since there is no token for it: ${issuer.issuer} gives the client ci no token: `,
    );
  });
});

describe('a login', () => {
  it('gets one new token for a session in whose middle the old one ends', async () => {
    const known = await started();
    const workspace = await withLogin(
      known,
      calls(['server__echo', { text: 'one' }], ['server__echo', { text: 'two' }]),
    );
    known.remote.ways.answer = (text) => {
      if (text === 'one') known.issuer.expire();
      return text;
    };
    const session = await playSession(workspace);
    expect(session.calls.map(({ content }) => content)).toEqual([
      fenced('server__echo', 'one'),
      fenced('server__echo', 'two'),
    ]);
    expect({ refreshes: known.issuer.refreshes, reused: known.issuer.reused }).toEqual({ refreshes: 1, reused: 0 });
    expect(known.issuer.tokenRequests.at(-1)).toMatchObject({ resource: known.remote.url, client_id: 'registered-1' });
  });

  it('gets a new token before the old one ends', async () => {
    const known = await started();
    known.issuer.rules.expiresIn = 1;
    const workspace = await withLogin(known);
    const before = known.issuer.refreshes;
    await expect.poll(() => Date.now() > dueOf(workspace), { timeout: 10_000 }).toBe(true);
    known.remote.seen.splice(0);
    expect(await playSession(workspace)).toMatchObject({ code: 0 });
    expect(known.issuer.refreshes).toBeGreaterThan(before);
  });

  it('gets one new token for four processes at once', async () => {
    const known = await started();
    const workspace = await withLogin(known);
    known.issuer.expire();
    const ends = await Promise.all(
      Array.from({ length: 4 }, async () => await svc(workspace, ['update', 'server', '--dry-run'])),
    );
    expect(ends.map(({ code }) => code)).toEqual(Array.from({ length: 4 }, () => 0));
    expect({ refreshes: known.issuer.refreshes, reused: known.issuer.reused }).toEqual({ refreshes: 1, reused: 0 });
  });

  it('fails the call with the next step when it was revoked, and the next session at its start', async () => {
    const known = await started();
    const workspace = await withLogin(known);
    known.issuer.forget();
    const session = await playSession(workspace);
    expect(session.calls).toMatchObject([
      {
        isError: true,
        content: fenced(
          'server__echo',
          `the server of server was not asked, since its login is over: ${new URL(known.issuer.issuer).host} refuses to renew it (invalid_grant: the refresh token does not hold); run svc login ${known.remote.url}`,
        ),
      },
    ]);
    const next = await svc(workspace, ['run', '--task', 'x']);
    expect(next).toMatchObject({ code: 1 });
    expect(next.stderr).toContain(`error[E-RUN-241]: the login at ${known.remote.url} is over\n`);
    expect(await loggedIn(workspace, known)).toMatchObject({ code: 0 });
    expect(await playSession(workspace)).toMatchObject({ calls: [{ isError: false }] });
  });

  it('stays whole when a process dies that writes it, and ends by name where its token is spent', async () => {
    const known = await started();
    const workspace = await withLogin(known);
    const before = readFileSync(loginFile(workspace), 'utf8');
    known.issuer.expire();
    const env = { NODE_OPTIONS: `--require ${killing}`, KILL_AT: basename(loginFile(workspace)) };
    const killed = await svc(workspace, ['update', 'server', '--dry-run'], { env });
    expect(killed.signal).toBe('SIGKILL');
    expect(readFileSync(loginFile(workspace), 'utf8')).toBe(before);
    // Else the session waits for ten seconds until it takes that over.
    rmSync(join(dirname(loginFile(workspace)), `.${basename(loginFile(workspace))}.guard`));
    const session = await playSession(workspace);
    expect(session.calls[0]?.content).toContain('was not asked, since its login is over: ');
    expect(session.calls[0]?.content).toContain(`run svc login ${known.remote.url}`);
    expect({ refreshes: known.issuer.refreshes, reused: known.issuer.reused }).toEqual({ refreshes: 2, reused: 1 });
  });

  it('stays when nobody could be asked for a new token', async () => {
    const known = await started();
    const workspace = await withLogin(known);
    known.issuer.expire();
    known.issuer.rules.instead = (_request, response, path) => {
      if (path === '/token') response.writeHead(503).end('later');
      return path === '/token';
    };
    const session = await playSession(workspace);
    expect(session.calls[0]?.content).toContain('was not asked, since its login could not be renewed: ');
    known.issuer.rules.instead = () => false;
    expect(await playSession(workspace)).toMatchObject({ calls: [{ isError: false }] });
  });

  it.each([
    ['that others can read', (path: string): void => chmodSync(path, 0o644), 'can be read or written by other users'],
    ['that is torn', (path: string): void => writeFileSync(path, '{"server"'), 'holds no login'],
  ])('serves nobody from a file %s', async (_what, spoil, why) => {
    const known = await started();
    const workspace = await withLogin(known);
    spoil(loginFile(workspace));
    const { code, stderr } = await svc(workspace, ['run', '--task', 'x']);
    expect(code).toBe(1);
    expect(stderr).toContain(`error[E-RUN-242]: ${loginFile(workspace)} ${why}\n`);
    expect(await svc(workspace, ['logout', 'server'])).toMatchObject({ code: 0 });
  });
});

function dueOf(workspace: Workspace): number {
  return (JSON.parse(readFileSync(loginFile(workspace), 'utf8')) as { tokens: { renew_at_ms: number } }).tokens
    .renew_at_ms;
}

describe('svc login refuses', () => {
  it('an authorization server without PKCE, before anybody is asked', async () => {
    const known = await started();
    known.issuer.rules.metadata = { code_challenge_methods_supported: ['plain'] };
    const { code, stderr } = await svc(project(), ['login', known.remote.url]);
    expect(code).toBe(1);
    expect(stderr).toContain('error[E-RUN-240]: ');
    expect(stderr).toContain('does not announce PKCE with S256');
    expect(known.issuer.authorized).toEqual([]);
  });

  it('an answer of another issuer, after the person said yes', async () => {
    const known = await started();
    known.issuer.rules.iss = 'https://other.example';
    const workspace = project();
    const { code, stderr } = await loggedIn(workspace, known);
    expect(code).toBe(1);
    expect(stderr).toContain('error[E-RUN-240]: ');
    expect(stderr).toContain('Issuer mismatch in authorization response');
    expect(readdirSync(join(workspace.home, '.svc'))).not.toContain('logins');
  });

  it('what the person refuses', async () => {
    const known = await started();
    const process = new SvcProcess(project(), ['login', known.remote.url]);
    const url = await known.asked(process);
    const { redirect_uri: to = '', state = '' } = Object.fromEntries(new URL(url).searchParams);
    const said = new URLSearchParams({
      error: 'access_denied',
      error_description: 'no\u001b[2J',
      state,
      iss: known.issuer.issuer,
    });
    await fetch(`${to}?${said.toString()}`);
    const { code, stderr } = await process.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/error\[E-RUN-240\]: \S+ refused the login: access_denied no/);
    expect(stderr).not.toContain('\u001b');
  });

  it('a server that lets everybody in, and what is no server', async () => {
    const { remote } = await started();
    remote.ways.protection = null;
    const workspace = project();
    expect((await svc(workspace, ['login', remote.url])).stderr).toContain(`${remote.url} asks nobody to log in`);
    expect((await svc(workspace, ['login', 'nobody'])).stderr).toContain('error[E-ART-008]');
    expect((await svc(workspace, ['login', 'http://a.example/mcp'])).stderr).toContain('must be https');
  });
});
