#!/bin/sh
# mcp 2.3.0 for Python: a client that is started again with the tokens that it stored sends the access token, whose hour is over, gets 401 and asks the
# person to log in once more. The refresh token lies beside it, unused: when the token ends is kept in memory alone, and a 401 leads to a new login.
# @modelcontextprotocol/sdk 1.32.2 for JavaScript, with the same tokens at the same server, refreshes and asks nobody.
# Seen with Node 20.19 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/sdk@1.32.2
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
cat >client.py <<'PY'
import asyncio
import sys

import httpx2
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken


class Stored:
    def __init__(self, issuer):
        self.issuer = issuer

    async def get_tokens(self):
        return OAuthToken(access_token="old", expires_in=3600, refresh_token="good")

    async def set_tokens(self, tokens):
        pass

    async def get_client_info(self):
        return OAuthClientInformationFull(
            client_id="c", redirect_uris=["http://127.0.0.1/back"], token_endpoint_auth_method="none", issuer=self.issuer
        )

    async def set_client_info(self, info):
        pass


class Asked(Exception):
    pass


async def ask(_):
    raise Asked


async def answer():
    raise Asked


def leaves(error):
    return [leaf for each in error.exceptions for leaf in leaves(each)] if isinstance(error, BaseExceptionGroup) else [error]


async def main():
    server = sys.argv[1]
    metadata = OAuthClientMetadata(redirect_uris=["http://127.0.0.1/back"], token_endpoint_auth_method="none")
    login = OAuthClientProvider(server, metadata, Stored(server.removesuffix("/mcp")), ask, answer)
    try:
        async with httpx2.AsyncClient(auth=login) as http, streamable_http_client(server, http_client=http) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                print("connected")
    except BaseException as error:
        print("asked the person" if any(isinstance(each, Asked) for each in leaves(error)) else repr(error))


asyncio.run(main())
PY
cat >look.js <<'JS'
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { promisify } from 'node:util';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const run = promisify(execFile);
let grants = [];
const server = createServer(async (request, answer) => {
  let body = '';
  for await (const part of request) body += part;
  const send = (status, value, headers = {}) =>
    answer.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
  if (request.url.startsWith('/.well-known/oauth-protected-resource'))
    return send(200, { resource: `${origin}/mcp`, authorization_servers: [origin] });
  if (request.url.startsWith('/.well-known/oauth-authorization-server'))
    return send(200, {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
    });
  if (request.url === '/token') {
    grants.push(new URLSearchParams(body).get('grant_type'));
    return send(200, { access_token: 'new', token_type: 'Bearer', expires_in: 3600, refresh_token: 'good' });
  }
  if (request.url !== '/mcp') return send(404, {});
  if (request.headers.authorization !== 'Bearer new') {
    const challenge = `Bearer error="invalid_token", resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    return send(401, {}, { 'www-authenticate': challenge });
  }
  if (request.method !== 'POST') return send(405, {});
  const { id, method, params } = JSON.parse(body);
  if (id === undefined) return answer.writeHead(202).end();
  if (method !== 'initialize') return send(200, { jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } });
  const { protocolVersion } = params;
  return send(200, { jsonrpc: '2.0', id, result: { protocolVersion, capabilities: {}, serverInfo: { name: 's', version: '1' } } });
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const origin = `http://127.0.0.1:${server.address().port}`;

let script = 'connected';
const authProvider = {
  redirectUrl: 'http://127.0.0.1/back',
  clientMetadata: { redirect_uris: ['http://127.0.0.1/back'], token_endpoint_auth_method: 'none' },
  clientInformation: () => ({ client_id: 'c' }),
  tokens: () => ({ access_token: saved, token_type: 'Bearer', expires_in: 3600, refresh_token: 'good' }),
  saveTokens: (tokens) => void (saved = tokens.access_token),
  saveCodeVerifier() {},
  codeVerifier: () => '',
  redirectToAuthorization: () => void (script = 'asked the person'),
};
let saved = 'old';
await new Client({ name: 'c', version: '1' })
  .connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), { authProvider }))
  .catch((error) => void (script === 'connected' && (script = String(error))));
console.log(`JavaScript: ${script}; requests for a token: ${grants.join(', ') || 'none'}`);
grants = [];
const { stdout } = await run('python/bin/python', ['client.py', `${origin}/mcp`]);
console.log(`Python: ${stdout.trim()}; requests for a token: ${grants.join(', ') || 'none'}`);
process.exit(0);
JS
timeout 120 node look.js >seen.txt
cat seen.txt
cat >expected.txt <<'TXT'
JavaScript: connected; requests for a token: refresh_token
Python: asked the person; requests for a token: none
TXT
diff expected.txt seen.txt
