#!/bin/sh
# A server of the Model Context Protocol says in `WWW-Authenticate` of a 401 where a client logs in. A server that takes other schemes too sends
# several challenges, in one header or in several (RFC 9110, 11.6.1). The official libraries do not read the same: @modelcontextprotocol/sdk 1.32.2 finds
# the address only if Bearer comes first, one blank behind it; mcp 2.3.0 for Python only if the name of the parameter is written small and without a
# blank before `=`, which a recipient has to take (RFC 9110, 5.6.3 and 11.2); github.com/modelcontextprotocol/go-sdk v1.8.0 finds it in each.
# Seen with Node 20.19, Python 3.11 and Go 1.26.
set -eu
folder=$(mktemp -d)
# Go writes its modules without write permission.
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOCACHE="$folder/cache" GOFLAGS=-mod=mod
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/sdk@1.32.2
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
cat >go.mod <<'MOD'
module challenges

go 1.24

require github.com/modelcontextprotocol/go-sdk v1.8.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

func main() {
	answer, err := http.Get(os.Args[1])
	if err != nil {
		panic(err)
	}
	challenges, err := oauthex.ParseWWWAuthenticate(answer.Header.Values("WWW-Authenticate"))
	if err != nil {
		panic(err)
	}
	found := "nothing"
	for _, challenge := range challenges {
		if address := challenge.Params["resource_metadata"]; challenge.Scheme == "bearer" && address != "" {
			found = address
		}
	}
	fmt.Println(found)
}
GO
go build -o client . 2>build.log || { cat build.log >&2; exit 1; }
cat >client.py <<'PY'
import sys

import httpx2
from mcp.client.auth.utils import extract_resource_metadata_from_www_auth

print(extract_resource_metadata_from_www_auth(httpx2.get(sys.argv[1])) or "nothing")
PY
cat >look.js <<'JS'
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { promisify } from 'node:util';

import { extractWWWAuthenticateParams } from '@modelcontextprotocol/sdk/client/auth.js';

const run = promisify(execFile);
const address = 'https://tools.example.com/oauth';
const bearer = `Bearer resource_metadata="${address}"`;
const challenges = [
  bearer,
  `${bearer}, Basic realm="tools"`,
  `Basic realm="tools", ${bearer}`,
  ['Negotiate', bearer],
  `Bearer  resource_metadata="${address}"`,
  `Bearer resource_metadata = "${address}"`,
  `Bearer Resource_Metadata="${address}"`,
];
const server = createServer((request, answer) => {
  answer.writeHead(401, { 'www-authenticate': challenges[Number(request.url.slice(1))] }).end();
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
for (const [index, challenge] of challenges.entries()) {
  const url = `http://127.0.0.1:${server.address().port}/${index}`;
  const script = extractWWWAuthenticateParams(await fetch(url)).resourceMetadataUrl?.href ?? 'nothing';
  const python = (await run('python/bin/python', ['client.py', url])).stdout.trim();
  const go = (await run('./client', [url])).stdout.trim();
  const told = (found) => (found === address ? 'found' : found);
  const header = [challenge].flat().join(' | ').replaceAll(address, '...');
  console.log(`${header}: JavaScript ${told(script)}, Python ${told(python)}, Go ${told(go)}`);
}
server.close();
JS
timeout 120 node look.js >seen.txt
cat seen.txt
cat >expected.txt <<'TXT'
Bearer resource_metadata="...": JavaScript found, Python found, Go found
Bearer resource_metadata="...", Basic realm="tools": JavaScript found, Python found, Go found
Basic realm="tools", Bearer resource_metadata="...": JavaScript nothing, Python found, Go found
Negotiate | Bearer resource_metadata="...": JavaScript nothing, Python found, Go found
Bearer  resource_metadata="...": JavaScript nothing, Python found, Go found
Bearer resource_metadata = "...": JavaScript nothing, Python nothing, Go found
Bearer Resource_Metadata="...": JavaScript nothing, Python nothing, Go found
TXT
diff expected.txt seen.txt
