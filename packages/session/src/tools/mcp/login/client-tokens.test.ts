import { describe, expect, it, onTestFinished } from 'vitest';

import { AuthorizationServer } from '../../../../../../test/support/authorization-server.ts';
import { RemoteMcpServer } from '../../../../../../test/support/remote-server.ts';
import { passed } from '../../../../test/tools/played-server.ts';
import { clientOf } from '../../../../test/tools/remote-client.ts';
import { remoteServer } from '../remote-server.ts';
import type { ToolServer } from '../tool-server.ts';
import { ClientTokens } from './client-tokens.ts';

interface Known {
  readonly issuer: AuthorizationServer;
  readonly remote: RemoteMcpServer;
  readonly secrets: string[];
  now: number;
  readonly tokens: (issuer?: string) => ClientTokens;
}

const secret = 'a secret: 100% & +more';

async function started(): Promise<Known> {
  const [issuer, remote] = [await AuthorizationServer.start(), await RemoteMcpServer.start()];
  onTestFinished(() => {
    issuer.close();
    remote.close();
  });
  issuer.rules.clients = { ci: secret };
  issuer.rules.metadata = { token_endpoint_auth_methods_supported: ['client_secret_basic'] };
  remote.ways.protection = { issuer: issuer.issuer, isKnown: (token) => issuer.isKnown(token) };
  const secrets: string[] = [];
  const known: Known = {
    issuer,
    remote,
    secrets,
    now: 1_000_000,
    tokens: (named = issuer.issuer) =>
      new ClientTokens({
        server: new URL(remote.url),
        issuer: named,
        clientId: 'ci',
        clientSecret: secret,
        proxyFor: null,
        now: () => known.now,
        onSecret: (told) => void secrets.push(told.reveal()),
        onEnded: () => {},
      }),
  };
  return known;
}

function serverOf({ remote }: Known, tokens: ClientTokens): ToolServer {
  const place = remoteServer({ url: new URL(remote.url), allow: [], proxyFor: null, headers: {}, tokens });
  return clientOf(remote, { place }).server;
}

const { signal } = new AbortController();

describe('the tokens of a client for which no person logs in', () => {
  it.each(['client_secret_basic', 'client_secret_post'])('come once for 20 calls at once, by %s', async (method) => {
    const known = await started();
    known.issuer.rules.metadata = { token_endpoint_auth_methods_supported: [method] };
    const server = serverOf(known, known.tokens());
    const calls = async (): Promise<unknown> =>
      await Promise.all(
        Array.from(
          { length: 20 },
          async (_, at) => await server.call({ tool: 'echo', args: { text: `${at}` }, signal }),
        ),
      );
    const all = Array.from({ length: 20 }, (_, at) => passed(`${at}`));
    expect(await calls()).toEqual(all);
    expect(known.issuer.tokenRequests).toMatchObject([
      { grant_type: 'client_credentials', scope: 'tools', resource: known.remote.url },
    ]);
    known.issuer.expire();
    expect(await calls()).toEqual(all);
    expect(known.issuer.tokenRequests).toHaveLength(2);
  });

  it('change half a minute before they end, and count as secrets before they are shown', async () => {
    const known = await started();
    const tokens = known.tokens();
    const first = await tokens.current();
    expect(known.secrets).toEqual([first]);
    known.now += 3_569_999;
    expect(await tokens.current()).toBe(first);
    known.now += 1;
    expect(await tokens.current()).not.toBe(first);
    expect(known.secrets).toEqual([first, await tokens.current()]);
  });

  it('come from the issuer of the manifest, and no other gets the secret', async () => {
    const known = await started();
    const other = await AuthorizationServer.start();
    onTestFinished(() => other.close());
    known.remote.ways.protection = { issuer: other.issuer, isKnown: () => false };
    await expect(known.tokens().current()).rejects.toThrow(
      `was not asked, since there is no token for it: ${known.remote.url} does not name the authorization server ${known.issuer.issuer}, but ${other.issuer}`,
    );
    expect([...other.paths, ...known.issuer.paths]).toEqual([]);
  });

  it.each<readonly [string, (known: Known) => void, string]>([
    [
      'a secret is wrong',
      ({ issuer }) => void (issuer.rules.clients = { ci: 'other' }),
      'gives the client ci no token: ',
    ],
    [
      'clients get none without a person',
      ({ issuer }) => void (issuer.rules.metadata = { grant_types_supported: ['authorization_code'] }),
      'gives no tokens to clients for which no person logs in',
    ],
    [
      'an answer has none',
      ({ issuer }) => {
        issuer.rules.instead = (_request, response, path) => {
          if (path === '/token') response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
          return path === '/token';
        };
      },
      'no token: access_token is missing',
    ],
  ])('fail by name where %s, and come with a later call', async (_what, spoil, why) => {
    const known = await started();
    const { clients, metadata, instead } = known.issuer.rules;
    spoil(known);
    const tokens = known.tokens();
    await expect(tokens.current()).rejects.toThrow(why);
    Object.assign(known.issuer.rules, { clients, metadata, instead });
    if (!why.includes('no person')) expect(await tokens.current()).toMatch(/^access-/);
  });

  it('name who may let the client do more', async () => {
    const known = await started();
    expect(known.tokens().more('write')).toBe(
      `those who run ${known.issuer.issuer} may give the client ci the scope write`,
    );
  });
});
