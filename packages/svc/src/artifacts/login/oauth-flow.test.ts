/** What no login comes of, with a real MCP server and a real authorization server. */

import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';

import { AuthorizationServer } from '../../../../../test/support/authorization-server.ts';
import { ProtectedServer } from '../../../../../test/support/protected-server.ts';
import { findCodeOffer } from './oauth-flow.ts';

interface Servers {
  readonly known: ProtectedServer;
  readonly other: AuthorizationServer;
}

async function started(): Promise<Servers> {
  const known = await ProtectedServer.start();
  const other = await AuthorizationServer.start();
  onTestFinished(() => {
    known.close();
    other.close();
  });
  return { known, other };
}

type Change = (known: ProtectedServer, other: AuthorizationServer) => void;

const metadata =
  (made: (known: ProtectedServer) => object): Change =>
  (known) => {
    known.issuer.rules.metadata = { ...made(known) };
  };
const resource =
  (made: (known: ProtectedServer, other: AuthorizationServer) => object): Change =>
  (known, other) => {
    if (known.remote.ways.protection !== null)
      known.remote.ways.protection = { ...known.remote.ways.protection, ...made(known, other) };
  };
const instead =
  (path: string, answer: (response: ServerResponse, other: AuthorizationServer) => void): Change =>
  (known, other) => {
    known.issuer.rules.instead = (_request, response, asked) => {
      if (asked === path) answer(response, other);
      return asked === path;
    };
  };
const wellKnown = '/.well-known/oauth-authorization-server';

describe('no login comes of', () => {
  it.each<readonly [string, Change, string]>([
    [
      'an authorization server without PKCE',
      metadata(() => ({ code_challenge_methods_supported: ['plain'] })),
      'does not announce PKCE with S256',
    ],
    [
      'one that does not say whether it has PKCE',
      metadata(() => ({ code_challenge_methods_supported: undefined })),
      'does not announce PKCE with S256',
    ],
    [
      'an authorization server that gives no codes',
      metadata(() => ({ response_types_supported: ['token'] })),
      'gives no codes',
    ],
    [
      'one whose answers have a status beyond 599',
      instead(wellKnown, (response) => void response.writeHead(999).end()),
      'answers with status 999',
    ],
    ['metadata of another issuer', metadata(() => ({ issuer: 'https://other.example' })), 'Issuer mismatch'],
    [
      'a door for people that is no address of the web',
      metadata(() => ({ authorization_endpoint: 'ftp://a.example/x' })),
      'ftp://a.example/x, which is no https address',
    ],
    [
      'a server that says it is another',
      resource(() => ({ metadata: { resource: 'https://other.example/mcp' } })),
      'says that it is https://other.example/mcp',
    ],
    [
      'a server that says it is more than it is',
      resource(({ remote }) => ({ metadata: { resource: `${remote.url}/inner` } })),
      'says that it is ',
    ],
    [
      'a server that names nobody',
      resource(() => ({ metadata: { authorization_servers: [] } })),
      'names no authorization server',
    ],
    [
      'a server whose metadata is elsewhere',
      resource((_known, other) => ({ metadataUrl: `${other.issuer}/x` })),
      'which is another origin',
    ],
    [
      'http to another machine',
      resource(() => ({ metadata: { authorization_servers: ['http://a.example'] } })),
      'sends logins to http://a.example, which is no https address',
    ],
    [
      'a user in an address',
      resource(() => ({ metadata: { authorization_servers: ['https://u:p@a.example'] } })),
      'with a user or password',
    ],
    [
      'metadata that leads to another origin',
      instead(
        wellKnown,
        (response, other) => void response.writeHead(302, { location: `${other.issuer}${wellKnown}` }).end(),
      ),
      'sends the client on to',
    ],
    [
      'metadata that is too long',
      instead(
        wellKnown,
        (response) =>
          void response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(`{"issuer":"${'x'.repeat(300_000)}"}`),
      ),
      'answers with more than 256 KiB',
    ],
    [
      'metadata that is no JSON',
      instead(wellKnown, (response) => void response.writeHead(200).end('<html>')),
      'answered what no login comes of',
    ],
    [
      'metadata that is not there',
      instead(wellKnown, (response) => void response.writeHead(404).end()),
      'has no metadata of an authorization server',
    ],
  ])('%s', async (_what, change, why) => {
    const { known, other } = await started();
    change(known, other);
    await expect(known.login()).rejects.toMatchObject({
      code: 'E-RUN-240',
      message: expect.stringContaining(why) as string,
    });
    expect(other.paths).toEqual([]);
    expect(known.issuer.authorized).toEqual([]);
  });

  it('a server that wants a token of another kind, or that is down: the hint says what to do', async () => {
    const { known } = await started();
    Object.assign(known.remote.ways, { protection: null, authorization: 'Bearer fixed' });
    await expect(known.login()).rejects.toMatchObject({ hint: expect.stringContaining('--auth-env NAME') as string });
    const { url } = known.remote;
    known.remote.close();
    await expect(findCodeOffer(new URL(url), { proxyFor: null })).rejects.toMatchObject({
      message: expect.stringMatching(/could not be asked: nothing listens there$/) as string,
      hint: 'check the address, and that the server runs',
    });
  });

  it.each<readonly [string, Change, string]>([
    [
      'an answer of another issuer',
      (known) => void (known.issuer.rules.iss = 'https://other.example'),
      'Issuer mismatch in authorization response',
    ],
    [
      'an answer without the issuer that was announced',
      (known) => void (known.issuer.rules.iss = null),
      'Issuer mismatch in authorization response',
    ],
    [
      'a token endpoint that leads to another origin',
      instead('/token', (response, other) => void response.writeHead(307, { location: `${other.issuer}/token` }).end()),
      'sends the client on to',
    ],
    [
      'a token of another type',
      instead(
        '/token',
        (response) =>
          void response
            .writeHead(200, { 'content-type': 'application/json' })
            .end('{"access_token":"a","token_type":"mac"}'),
      ),
      'gives a token of the type mac, and not Bearer',
    ],
    [
      'a token with a line break',
      instead(
        '/token',
        (response) =>
          void response
            .writeHead(200, { 'content-type': 'application/json' })
            .end('{"access_token":"a\\nb","token_type":"Bearer"}'),
      ),
      'gives a token that no request can show',
    ],
  ])('%s, after the person said yes', async (_what, change, why) => {
    const { known, other } = await started();
    change(known, other);
    await expect(known.login()).rejects.toMatchObject({
      code: 'E-RUN-240',
      message: expect.stringContaining(why) as string,
    });
    expect(other.paths).toEqual([]);
    expect(known.issuer.authorized).toHaveLength(1);
  });
});
