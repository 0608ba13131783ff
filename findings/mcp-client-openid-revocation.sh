#!/bin/sh
# An OpenID provider that says where tokens are revoked, in the same words as any authorization server (RFC 8414, 2): @modelcontextprotocol/client 2.4.0
# keeps that place if it reads it at /.well-known/oauth-authorization-server, and drops it if it reads it at /.well-known/openid-configuration. A client
# that logs out then finds nothing to ask, and the tokens live on. The text of `discoverOAuthServerInfo` names revocation as a use of what it returns.
# @modelcontextprotocol/sdk 1.32.2 does the same.
# Seen with Node 20.19.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/client@2.4.0 @modelcontextprotocol/sdk@1.32.2
cat >look.js <<'JS'
import { createServer } from 'node:http';

import * as client from '@modelcontextprotocol/client';
import * as sdk from '@modelcontextprotocol/sdk/client/auth.js';

let place = '';
const server = createServer(({ url }, response) => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  if (url !== place) return response.writeHead(404).end();
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    revocation_endpoint: `${issuer}/revoke`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    code_challenge_methods_supported: ['S256'],
  };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const seen = [];
for (const [name, library] of Object.entries({ client, sdk })) {
  for (const known of ['oauth-authorization-server', 'openid-configuration']) {
    place = `/.well-known/${known}`;
    const issuer = `http://127.0.0.1:${server.address().port}`;
    const { revocation_endpoint: endpoint } = await library.discoverAuthorizationServerMetadata(issuer);
    seen.push(endpoint !== undefined);
    console.log(`${name} ${known}: ${endpoint === undefined ? 'dropped' : 'kept'}`);
  }
}
server.close();
process.exit(seen.join() === 'true,false,true,false' ? 0 : 1);
JS
node look.js
