#!/bin/sh
# An access token that has expired is refused in each call that is under way, and a refresh token is good for one use (OAuth 2.1, 4.3.1).
# @modelcontextprotocol/client 2.4.0 refreshes once for one call, and for each of five calls at once: a request then shows a refresh token that another
# has used, the client throws its tokens away, also those that have just come, fails calls and sends the person to log in again.
# Seen with Node 20.19.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/client@2.4.0
cat >server.js <<'JS'
import { createServer } from 'node:http';

let valid = new Set();
let refreshToken = null;
let counts = {};
const server = createServer(async (request, response) => {
  const base = `http://127.0.0.1:${server.address().port}`;
  let body = '';
  for await (const piece of request) body += piece;
  const json = (value, status = 200, headers = {}) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
  const { pathname } = new URL(request.url, base);
  if (pathname === '/begin') {
    valid = new Set(['access-1']);
    refreshToken = 'refresh-1';
    counts = { refreshes: 0, reused: 0 };
    return response.end();
  }
  if (pathname === '/expire') {
    valid.clear();
    return response.end();
  }
  if (pathname === '/counts') return json(counts);
  if (pathname === '/.well-known/oauth-protected-resource/mcp')
    return json({ resource: `${base}/mcp`, authorization_servers: [base] });
  if (pathname === '/.well-known/oauth-authorization-server')
    return json({
      issuer: base,
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/token`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
    });
  if (pathname === '/token') {
    if (new URLSearchParams(body).get('refresh_token') !== refreshToken) {
      counts.reused += 1;
      return json({ error: 'invalid_grant' }, 400);
    }
    counts.refreshes += 1;
    refreshToken = `refresh-${counts.refreshes + 1}`;
    const token = `access-${counts.refreshes + 1}`;
    valid.add(token);
    return json({ access_token: token, token_type: 'Bearer', expires_in: 3600, refresh_token: refreshToken });
  }
  if (pathname !== '/mcp') return response.writeHead(404).end();
  if (request.method !== 'POST') return response.writeHead(405).end();
  if (!valid.has(request.headers.authorization?.replace('Bearer ', ''))) {
    const where = `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"`;
    return response.writeHead(401, { 'www-authenticate': where }).end();
  }
  const { id, method, params } = JSON.parse(body);
  const result = (value) => json({ jsonrpc: '2.0', id, result: value });
  if (method === 'server/discover') return json({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } });
  if (id === undefined) return response.writeHead(202).end();
  if (method === 'initialize') {
    const { protocolVersion } = params;
    return result({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'any', version: '1' } });
  }
  if (method === 'tools/list') return result({ tools: [{ name: 'greet', inputSchema: { type: 'object' } }] });
  return result({ content: [{ type: 'text', text: 'hello' }] });
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
JS
cat >ask.js <<'JS'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [base] = process.argv.slice(2);
await fetch(`${base}/begin`);
let tokens = { access_token: 'access-1', token_type: 'Bearer', refresh_token: 'refresh-1', issuer: base };
let logins = 0;
const authProvider = {
  redirectUrl: 'http://127.0.0.1:9/callback',
  clientMetadata: { redirect_uris: ['http://127.0.0.1:9/callback'] },
  clientInformation: () => ({ client_id: 'any', issuer: base }),
  tokens: () => tokens,
  saveTokens: (given) => void (tokens = given),
  redirectToAuthorization: () => void (logins += 1),
  saveCodeVerifier: () => {},
  codeVerifier: () => 'any',
  invalidateCredentials: (what) => {
    if (what === 'all' || what === 'tokens') tokens = undefined;
  },
};
const client = new Client({ name: 'any', version: '1' });
await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', base), { authProvider }));
const call = () => client.callTool({ name: 'greet' }).then(() => 1, () => 0);
const after = async (calls) => {
  await fetch(`${base}/expire`);
  const done = await Promise.all(Array.from({ length: calls }, call));
  const { refreshes, reused } = await (await fetch(`${base}/counts`)).json();
  return [done.reduce((sum, each) => sum + each, 0), refreshes, reused, logins];
};
const one = await after(1);
const five = await after(5);
console.log(`one: ${one.join(' ')}\nfive: ${five.join(' ')}`);
if (one.join() !== '1,1,0,0') process.exit(1);
const [answered, , reused, asked] = five;
process.exit(answered < 5 && reused > 0 && asked > 0 ? 0 : 1);
JS
node server.js >address &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -s address ] || sleep 1; done
base=$(cat address)
echo 'calls after the token expired: answered, refreshes, refresh tokens shown twice, new logins'
node ask.js "$base" 2>/dev/null
