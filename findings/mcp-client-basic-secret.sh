#!/bin/sh
# The header that shows a client to a token endpoint has its id and its secret form-encoded, joined by a colon, in base64 (RFC 6749, 2.3.1).
# @modelcontextprotocol/client 2.4.0 encodes neither: a server that follows the RFC reads `a b` for the secret `a+b`, and an id with a colon as a
# shorter one. By client_secret_post the same client gets in. openid-client 6.8.1 encodes both.
# Seen with Node 20.19.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/client@2.4.0 openid-client@6.8.1
cat >ask.js <<'JS'
import { createServer } from 'node:http';
import { ClientCredentialsProvider, fetchToken } from '@modelcontextprotocol/client';
import * as openid from 'openid-client';

const [id, secret] = ['mail:any', 'a+b%41'];
const decoded = (text) => new URLSearchParams(`x=${text}`).get('x');
let shown;
const server = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  const { authorization } = request.headers;
  const form = new URLSearchParams(body);
  const [first, ...rest] = authorization === undefined ? [] : Buffer.from(authorization.slice(6), 'base64').toString().split(':');
  shown = authorization === undefined ? [form.get('client_id'), form.get('client_secret')] : [decoded(first), decoded(rest.join(':'))];
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end('{"access_token":"any","token_type":"Bearer"}');
});
server.listen(0, '127.0.0.1', async () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const metadata = (method) => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ['code'],
    token_endpoint_auth_methods_supported: [method],
  });
  const results = {};
  for (const method of ['client_secret_basic', 'client_secret_post']) {
    const client = new ClientCredentialsProvider({ clientId: id, clientSecret: secret, expectedIssuer: issuer });
    await fetchToken(client, issuer, { metadata: metadata(method) });
    results[method] = shown.join(' | ');
  }
  const config = new openid.Configuration(metadata('client_secret_basic'), id, undefined, openid.ClientSecretBasic(secret));
  openid.allowInsecureRequests(config);
  await openid.clientCredentialsGrant(config);
  results.openid = shown.join(' | ');
  console.log(results);
  server.close();
  const right = `${id} | ${secret}`;
  const { client_secret_basic: basic, client_secret_post: post, openid: other } = results;
  process.exitCode = basic === 'mail | any:a bA' && post === right && other === right ? 0 : 1;
});
JS
node ask.js
