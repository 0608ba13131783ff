import { mkdirSync, readdirSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, onTestFinished } from 'vitest';

import {
  type KeptLogin,
  type LoginPlace,
  loginPlace,
  readLogin,
  writeLogin,
} from '@svc/session/tools/mcp/login/kept-login.ts';
import { LoginTokens } from '@svc/session/tools/mcp/login/login-tokens.ts';
import type { AuthorizationServer } from '../support/authorization-server.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { ProtectedServer } from '../support/protected-server.ts';
import { svc, SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

/** Half of them end at a change of a file, and half at a moment. */
const rounds = 2 * Number(process.env['CRASH_ROUNDS'] ?? 20);
const longestMs = 25;
const capsule = useCapsules();
const preload = fileURLToPath(new URL('../support/killed-at-change.cjs', import.meta.url));

interface Known {
  readonly server: ProtectedServer;
  readonly workspace: Workspace;
  readonly place: LoginPlace;
  readonly login: KeptLogin;
}

async function withLogin(): Promise<Known> {
  const server = await ProtectedServer.start();
  onTestFinished(() => server.close());
  const workspace = capsule();
  const asking = new SvcProcess(workspace, ['login', server.remote.url]);
  await server.sayYes(asking);
  expect(await asking.ended).toMatchObject({ code: 0 });
  expect(await svc(workspace, ['add', `mcp+${server.remote.url}`])).toMatchObject({ code: 0 });
  const place = loginPlace(server.remote.url, workspace.home, process.getuid?.());
  return { server, workspace, place, login: keptAt(place) };
}

function keptAt(place: LoginPlace): KeptLogin {
  const login = readLogin(place);
  if (login === null) throw new Error('a login is kept');
  return login;
}

/** Has the login there renewed. Returns why it could not be; null where it was. */
async function unrenewed(place: LoginPlace): Promise<string | null> {
  const login = keptAt(place);
  const nobody = (): void => {};
  const told = { onSecret: nobody, onEnded: nobody };
  return await new LoginTokens({ place, login, proxyFor: null, now: Date.now, ...told })
    .renew(login.tokens.access_token)
    .then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
}

/** Looks at what is left of the login `before`, and has it renewed. Returns whether its tokens were the old ones, new ones, or lost. */
async function lookedAt(before: KeptLogin, place: LoginPlace, issuer: AuthorizationServer): Promise<string> {
  const { refresh_token: token } = before.tokens;
  const timesShown = (): number => issuer.tokenRequests.filter((form) => form['refresh_token'] === token).length;
  const after = keptAt(place);
  expect({ ...after, tokens: null }).toEqual({ ...before, tokens: null });
  const isNew = after.tokens.refresh_token !== token;
  const why = await unrenewed(place);
  const names = readdirSync(dirname(place.path)).filter((name) => !name.startsWith('.svc-tmp-'));
  expect(names).toEqual([basename(place.path)]);
  if (why === null) {
    expect(timesShown()).toBe(1);
    return isNew ? 'new' : 'old';
  }
  expect(isNew).toBe(false);
  for (const said of [why, await unrenewed(place)])
    expect(said).toMatch(/^was not asked, since its login is over: .*; run svc login /);
  expect(timesShown()).toBe(2);
  return 'lost';
}

describe(`svc killed while it renews a login, ${rounds} rounds`, () => {
  it(
    'leaves one that can be renewed, or is lost by name, and shows no token that it has replaced',
    async () => {
      const { server, workspace, place, login } = await withLogin();
      const { issuer } = server;
      const command = ['update', 'server', '--dry-run'];
      const looks: Promise<string>[] = [];
      const killedAt = new Set<number>();
      let killAt = 1;
      for (let round = 0; round < rounds; round += 1) {
        const tokens = { ...login.tokens, access_token: 'old', refresh_token: issuer.refreshToken() };
        const before = { ...login, tokens };
        await writeLogin(place, before);
        if (round % 2 === 0) {
          const env = { NODE_OPTIONS: `--require ${preload}`, KILL_IN: dirname(place.path), KILL_AT: String(killAt) };
          const { signal } = await svc(workspace, command, { env });
          if (signal === 'SIGKILL') killedAt.add(killAt);
          killAt = signal === 'SIGKILL' ? killAt + 1 : 1;
        } else {
          const running = new SvcProcess(workspace, command);
          const asked = new Promise<void>((resolve) => {
            issuer.rules.onToken = (form) => {
              if (form['refresh_token'] === tokens.refresh_token) resolve();
            };
          });
          await Promise.race([running.ended, asked]);
          await delay((longestMs * round) / rounds);
          running.child.kill('SIGKILL');
          await running.ended;
        }
        // It is looked at elsewhere, while others are killed: a guard that was left counts for ten seconds.
        const left = join(workspace.home, 'left', String(round));
        mkdirSync(left, { recursive: true });
        renameSync(dirname(place.path), join(left, 'logins'));
        const leftPlace = { ...place, path: join(left, 'logins', basename(place.path)) };
        looks.push(lookedAt(before, leftPlace, issuer).catch((error: unknown) => `${round}: ${String(error)}`));
      }
      const found = await Promise.all(looks);
      expect([...new Set(found)].toSorted()).toEqual(['lost', 'new', 'old']);
      expect(issuer.reused).toBe(found.filter((left) => left === 'lost').length);
      expect(killedAt.size).toBeGreaterThan(10);
    },
    120_000 + rounds * 30_000,
  );
});
