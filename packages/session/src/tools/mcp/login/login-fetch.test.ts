import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { loginFetch } from './login-fetch.ts';
import { ledByServer } from './token-answer.ts';

afterEach(() => void vi.useRealTimers());

const publicServer = ledByServer(new URL('https://mcp.example.com/mcp'), '93.184.215.14');
const ownServer = ledByServer(new URL('http://127.0.0.1:1/mcp'), '127.0.0.1');

async function listening(serve: RequestListener): Promise<string> {
  const server = createServer(serve);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a request to an authorization server', () => {
  it.each([
    ['https://10.0.0.5/token', 'which is 10.0.0.5, a private address'],
    ['https://169.254.169.254/latest', 'which is 169.254.169.254, a metadata address'],
    ['https://[::1]/token', 'which is ::1, a loopback address'],
    ['https://[::ffff:127.0.0.1]/token', 'a loopback address'],
    ['https://localhost/token', 'which is 127.0.0.1, a loopback address'],
    ['http://127.0.0.1:1/token', 'which is not https'],
    ['https://user@auth.example.com/', 'with a user or password that it chose'],
    ['file:///etc/passwd', 'which is no https address'],
  ])('does not go to %s when a server of the public web names it', async (url, why) => {
    await expect(loginFetch({ ledBy: publicServer, proxyFor: null })(url)).rejects.toMatchObject({
      code: 'E-RUN-240',
      message: expect.stringMatching(
        new RegExp(`^the MCP server https://mcp\\.example\\.com/mcp sends logins to \\S+, .*${why}$`),
      ) as string,
    });
  });

  it('goes to this machine when the server is there', async () => {
    const origin = await listening((_request, response) => void response.end('{"a":1}'));
    const answer = await loginFetch({ ledBy: ownServer, proxyFor: null })(origin);
    expect(await answer.json()).toEqual({ a: 1 });
  });

  it('ends after 20 seconds in which the answer did not', async () => {
    let asked = (): void => {};
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    const origin = await listening((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{', () => asked());
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const answer = loginFetch({ ledBy: ownServer, proxyFor: null })(origin);
    const ended = answer.catch((error: unknown) => error);
    await isAsked;
    vi.advanceTimersByTime(20_000);
    expect(await ended).toMatchObject({ code: 'E-RUN-240', message: `${origin}/ did not answer in 20 seconds` });
  });

  it('fails with a status that no answer has', async () => {
    const origin = await listening((_request, response) => void response.writeHead(999).end());
    await expect(loginFetch({ ledBy: ownServer, proxyFor: null })(origin)).rejects.toMatchObject({
      code: 'E-RUN-240',
      message: `${origin}/ answers with status 999`,
    });
  });

  it('leaves no connection open whose answer it does not want', async () => {
    let isClosed = Promise.resolve();
    const origin = await listening((request, response) => {
      isClosed = new Promise((resolve) => request.socket.once('close', () => resolve()));
      response.writeHead(302, { location: 'https://other.example/' }).write('it goes on');
    });
    await expect(loginFetch({ ledBy: ownServer, proxyFor: null })(origin)).rejects.toMatchObject({ code: 'E-RUN-240' });
    await isClosed;
  });

  it('ends when nobody waits for it any more', async () => {
    const origin = await listening(() => {});
    const leaving = new AbortController();
    const answer = loginFetch({ ledBy: ownServer, proxyFor: null, signal: leaving.signal })(origin);
    leaving.abort();
    await expect(answer).rejects.toMatchObject({ code: 'E-IO-003' });
  });
});
