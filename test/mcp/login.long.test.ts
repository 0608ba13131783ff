import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { calls } from '../support/mcp-artifact.ts';
import { playSession } from '../support/mcp-capsule.ts';
import { installedPython } from '../support/python-program.ts';
import { svc, SvcProcess } from '../support/svc-process.ts';

const capsule = useCapsules();
const fixture = join(import.meta.dirname, '..', 'fixtures', 'login-server.py');

async function started(context: TestContext): Promise<URL> {
  const child = spawn(await installedPython(context, 'mcp==2.3.0'), [fixture], { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return new URL(line);
}

/** What the browser of a person does who says yes. */
async function saysYes(login: SvcProcess): Promise<void> {
  const [url] = await login.complained(/^http:\S+\/authorize\?.*$/m);
  const { headers } = await fetch(url, { redirect: 'manual' });
  expect((await fetch(headers.get('location') ?? '')).status).toBe(200);
}

describe('a server of mcp 2.3.0 for Python with its authorization routes', () => {
  it(
    'lets a capsule in by svc login, renews its tokens, and takes them back',
    { timeout: 300_000 },
    async (context) => {
      const server = await started(context);
      const counts = async (): Promise<string> => await (await fetch(new URL('/counts', server))).text();
      const workspace = capsule({ manifest: '', script: calls(['server__echo', { text: 'hi' }]) });
      const login = new SvcProcess(workspace, ['login', server.href]);
      await saysYes(login);
      expect(await login.ended).toMatchObject({ code: 0 });
      expect(await svc(workspace, ['add', `mcp+${server.href}`])).toMatchObject({ code: 0 });
      expect(await playSession(workspace)).toMatchObject({ calls: [{ isError: false }] });
      await fetch(new URL('/expire', server), { method: 'POST' });
      const ends = await Promise.all(
        Array.from({ length: 4 }, async () => await svc(workspace, ['update', 'server', '--dry-run'])),
      );
      expect(ends.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
      expect(await counts()).toBe('1 0');
      expect(await svc(workspace, ['logout', 'server', '--json'])).toMatchObject({
        code: 0,
        stdout: `${JSON.stringify({ server: server.href, revoked: true })}\n`,
      });
      expect(await counts()).toBe('1 1');
    },
  );
});
