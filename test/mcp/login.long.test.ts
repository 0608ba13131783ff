import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { ownGoProgram } from '../support/go-program.ts';
import { playSession } from '../support/mcp-capsule.ts';
import { ProtectedServer } from '../support/protected-server.ts';
import { installedPython } from '../support/python-program.ts';
import { calls, says, script } from '../support/scripted-turns.ts';
import { svc, SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const run = promisify(execFile);
const capsule = useCapsules();
const fixtures = join(import.meta.dirname, '..', 'fixtures');

/** The command of a server; the test is skipped where it cannot be made. */
type Command = readonly [string, ...string[]];

async function python(context: TestContext): Promise<Command> {
  return [await installedPython(context, 'mcp==2.3.0'), join(fixtures, 'login-server.py')];
}

async function node(context: TestContext): Promise<Command> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-login-server-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const wanted = ['@modelcontextprotocol/sdk@1.32.2', 'express@5.3.0', 'zod@4.6.7'];
  writeFileSync(join(folder, 'package.json'), '{}');
  try {
    await run('npm', ['install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts', ...wanted], {
      cwd: folder,
    });
  } catch (error) {
    context.skip(`needs npm with ${wanted.join(' and ')}: ${String(error).split('\n')[0]}`);
  }
  const program = join(folder, 'login-server.mjs');
  copyFileSync(join(fixtures, 'login-server.mjs'), program);
  return [process.execPath, program];
}

async function go(context: TestContext): Promise<Command> {
  const { path, missing } = ownGoProgram(join(fixtures, 'login-go'));
  return await Promise.resolve(path === null ? context.skip(missing) : [path]);
}

async function started([command, ...args]: Command): Promise<URL> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return new URL(line);
}

/** Logs in, with the browser of a person who says yes. */
async function logIn(workspace: Workspace, { href }: URL, words: readonly string[]): Promise<void> {
  const login = new SvcProcess(workspace, ['login', href, ...words]);
  const [url] = await login.complained(/^http:\S+\/authorize\?.*$/m);
  const page = await fetch(url);
  expect([page.status, await page.text()]).toEqual([200, 'svc has the answer. You can close this page.\n']);
  expect(await login.ended).toMatchObject({ code: 0 });
}

/** One call a turn: the second ends all access tokens. */
const used = script(
  calls([['call_1', 'server__echo', { text: 'one' }]]),
  calls([['call_2', 'server__expire', {}]]),
  calls([['call_3', 'server__echo', { text: 'two' }]]),
  says('Done.'),
);

interface Library {
  readonly library: string;
  readonly made: (context: TestContext) => Promise<Command>;
  /** As which client `svc` logs in where the server registers none. */
  readonly client: readonly string[];
  /** A scope that is too small, and what the hint says then: the server for Python does not say which one it wants. */
  readonly small: string;
  readonly more: string;
}

describe.each<Library>([
  { library: 'mcp 2.3.0 for Python', made: python, client: [], small: 'notes', more: '' },
  { library: '@modelcontextprotocol/sdk 1.32.2', made: node, client: [], small: 'notes', more: ' --scope tools' },
  {
    library: 'go-sdk v1.8.0 behind zitadel/oidc v3.52.0',
    made: go,
    client: ['--client-id', 'svc'],
    small: 'openid',
    more: " --scope 'openid email'",
  },
])('the logins of a server by $library', ({ made, client, small, more }) => {
  it(
    'let a capsule in, are renewed once each time, name what they lack, end by name, and are taken back',
    { timeout: 600_000 },
    async (context) => {
      const server = await started(await made(context));
      const said = async (path: string, method = 'POST'): Promise<string> =>
        await (await fetch(new URL(path, server), { method })).text();
      /** How often tokens were renewed, and taken back. */
      const counts = async (): Promise<string> => await said('/counts', 'GET');
      const workspace = capsule({ manifest: '', script: used });
      await logIn(workspace, server, client);
      expect(await svc(workspace, ['add', `mcp+${server.href}`])).toMatchObject({ code: 0 });
      const works = [{ isError: false }, { isError: false }, { isError: false }];
      expect(await playSession(workspace)).toMatchObject({ calls: works });
      expect(await counts()).toBe('1 0');

      await said('/expire');
      const ends = await Promise.all(
        Array.from({ length: 4 }, async () => await svc(workspace, ['update', 'server', '--dry-run'])),
      );
      expect(ends.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
      expect(await counts()).toBe('2 0');

      await logIn(workspace, server, ['--scope', small]);
      const [lacking] = (await playSession(workspace)).calls;
      expect(lacking).toMatchObject({ isError: true, content: expect.stringContaining(' status 403') as string });
      expect(lacking?.content).toContain(`svc login ${server.href}${more} may help`);

      await logIn(workspace, server, []);
      expect(await playSession(workspace)).toMatchObject({ calls: works });
      await said('/forget');
      const [over] = (await playSession(workspace)).calls;
      expect(over?.content).toContain(' was not asked, since its login is over: ');
      expect(over?.content).toContain(`; run svc login ${server.href}`);
      expect((await svc(workspace, ['run', '--task', 'x'])).stderr).toContain('error[E-RUN-241]: ');

      await logIn(workspace, server, []);
      expect(await svc(workspace, ['logout', 'server', '--json'])).toMatchObject({
        code: 0,
        stdout: `${JSON.stringify({ server: server.href, revoked: true })}\n`,
      });
      expect(await counts()).toBe('3 1');
    },
  );
});

describe('a login that 50 calls in 10 processes want at once', () => {
  it('gets one new token', { timeout: 300_000 }, async () => {
    const known = await ProtectedServer.start();
    onTestFinished(() => known.close());
    const echo = (at: number): [string, string, object] => [`call_${at}`, 'server__echo', { text: `${at}` }];
    const workspace = capsule({ manifest: '', script: script(calls([0, 1, 2, 3, 4].map(echo)), says('Done.')) });
    const login = new SvcProcess(workspace, ['login', known.remote.url]);
    await known.sayYes(login);
    expect(await login.ended).toMatchObject({ code: 0 });
    expect(await svc(workspace, ['add', `mcp+${known.remote.url}`])).toMatchObject({ code: 0 });
    known.issuer.expire();
    let answers = 0;
    known.remote.ways.answer = (text) => {
      answers += 1;
      return text;
    };
    const runs = Array.from({ length: 10 }, async () => await svc(workspace, ['run', '--task', 'Go.']));
    expect((await Promise.all(runs)).map(({ code }) => code)).toEqual(Array.from({ length: 10 }, () => 0));
    expect(answers).toBe(50);
    expect({ refreshes: known.issuer.refreshes, reused: known.issuer.reused }).toEqual({ refreshes: 1, reused: 0 });
  });
});
