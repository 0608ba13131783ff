import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { calls } from '@svc/testing/fake-reply.ts';
import { FirstMinute } from '../support/first-minute.ts';
import { ProtectedServer } from '../support/protected-server.ts';
import { RemoteMcpServer } from '../support/remote-server.ts';
import { SvcProcess } from '../support/svc-process.ts';

const opened: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

/** A folder without a manifest, and a model that calls the one tool of the server. */
async function asking(text = 'hi'): Promise<FirstMinute> {
  const minute = new FirstMinute({ ceiling: 'advisory' });
  opened.push(() => minute.dispose());
  await minute.plays(calls('server__echo', { text }));
  return minute;
}

async function started(): Promise<RemoteMcpServer> {
  const remote = await RemoteMcpServer.start();
  opened.push(() => remote.close());
  return remote;
}

describe('svc --mcp with an address', () => {
  it('lets the task call the tools of that server, which is asked once for them before', async () => {
    const remote = await started();
    const minute = await asking();
    expect(await minute.svc(['--mcp', remote.url, 'say hi'])).toEqual({ code: 0, stdout: 'Done.\n', stderr: '' });
    expect(minute.results).toEqual(['hi']);
    expect(minute.asked.tools).toContain('server__echo');
    expect(minute.asked.system).toContain('Tools whose names begin with server__ are those of a server');
    const listing = ['server/discover', 'tools/list'];
    expect(remote.methods).toEqual([...listing, ...listing, 'tools/call']);
    expect(readdirSync(minute.folder)).toEqual([]);
    expect(minute.ofSession('svc.yaml')).toMatch(/name: server, version: 0\.0\.0-pin[0-9a-f]{16}, from: "mcp\+http:/);
  });

  it('asks nobody for a report', async () => {
    const remote = await started();
    const minute = await asking();
    const { code, stdout } = await minute.svc(['--mcp', remote.url, '--explain-scope', 'say hi']);
    expect(code).toBe(0);
    expect(stdout).toContain(`server ${remote.url} (shown nothing)`);
    expect(remote.seen).toEqual([]);
  });

  it('shows the server the token of a variable, and nothing that svc writes has it', async () => {
    const remote = await started();
    const token = 'canary-of-a-task-5b1f';
    remote.ways.authorization = `Bearer ${token}`;
    remote.ways.answer = () => `it is ${token}`;
    const minute = await asking();
    const server = `${remote.url} --auth-env NOTES_TOKEN`;
    const env = { NOTES_TOKEN: token };
    expect(await minute.svc(['--mcp', server, 'say hi'], { env })).toMatchObject({ code: 0 });
    expect(minute.results).toEqual(['it is [secret]']);
    const all = readdirSync(minute.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
    expect(all.filter((text) => text.includes(token))).toEqual([]);
    const unset = await minute.svc(['--mcp', server, 'say hi']);
    expect(unset).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-MAN-003]') as string });
    expect(unset.stderr).toContain('NOTES_TOKEN, which is not set');
    const bare = await minute.svc(['--mcp', remote.url, 'say hi'], { env });
    expect(bare).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-RUN-036]') as string });
  });

  it('uses the login of this user, since a person names the server', async () => {
    const known = await ProtectedServer.start();
    opened.push(() => known.close());
    const minute = await asking();
    const login = new SvcProcess(minute.workspace, ['login', known.remote.url]);
    expect(await known.sayYes(login)).toContain('You can close this page.');
    expect(await login.ended).toMatchObject({ code: 0 });
    expect(await minute.svc(['--mcp', known.remote.url, 'say hi'])).toMatchObject({ code: 0 });
    expect(minute.results).toEqual(['hi']);
    expect(minute.ofSession('svc.yaml')).toContain('auth: "login"');
  });

  it('takes the tools that the server lists when the task begins', async () => {
    const remote = await started();
    const minute = await asking();
    expect(await minute.svc(['--mcp', remote.url, 'say hi'])).toMatchObject({ code: 0 });
    const [echo] = remote.ways.tools;
    if (echo === undefined) throw new Error('there is a first tool');
    remote.ways.tools = [{ ...echo, description: 'Says it differently.' }];
    await minute.plays(calls('server__echo', { text: 'ho' }));
    expect(await minute.svc(['--mcp', remote.url, 'say ho'])).toMatchObject({ code: 0, stderr: '' });
    expect(minute.asked.tools.filter((name) => name.startsWith('server__'))).toEqual(['server__echo']);
    expect(minute.results).toEqual(['ho']);
  });

  it('asks each of two servers that list the same tools, one after the other', async () => {
    const minute = await asking();
    for (const name of ['one', 'two']) {
      const remote = await started();
      remote.ways.answer = (said) => `${said} from ${name}`;
      await minute.plays(calls('server__echo', { text: 'hi' }));
      expect(await minute.svc(['--mcp', remote.url, 'say hi'])).toMatchObject({ code: 0, stderr: '' });
      expect(minute.results).toEqual([`hi from ${name}`]);
    }
  });

  it.each([
    ['http://example.com/mcp', 'the address must be https, or http to a loopback address'],
    ['https://u:p@example.com/mcp', 'the address must not hold a user or password'],
    ['https://example.com/mcp token', 'behind an address stands --auth-env with the name of a variable'],
    ['https://example.com/mcp --auth-env X y', 'behind an address stands --auth-env with the name of a variable'],
  ])('refuses %s', async (server, why) => {
    const minute = await asking();
    const { code, stderr } = await minute.svc(['--mcp', server, 'say hi']);
    expect(code).toBe(2);
    expect(stderr).toContain(why);
    expect(minute.model?.requests).toEqual([]);
  });

  it('asks nobody with --offline, and refuses', async () => {
    const remote = await started();
    const minute = await asking();
    const { code, stderr } = await minute.svc(['--offline', '--mcp', remote.url, 'say hi']);
    expect({ code, seen: remote.seen }).toEqual({ code: 1, seen: [] });
    expect(stderr).toContain('error[E-RUN-036]');
  });
});
