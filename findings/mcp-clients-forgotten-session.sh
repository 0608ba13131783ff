#!/bin/sh
# A server of the Model Context Protocol that was started anew answers 404 to the id of a session that it no longer knows, and the protocol (2025-11-25,
# "Session Management") wants the client to begin another session then. None of four official clients does: @modelcontextprotocol/client 2.4.0,
# @modelcontextprotocol/sdk 1.32.2, mcp 2.3.0 for Python and github.com/modelcontextprotocol/go-sdk v1.8.0 fail that call and every one after it.
# Seen with Node 20.19, Python 3.11 and Go 1.26.
set -eu
folder=$(mktemp -d)
server=
# Go writes its modules without write permission.
trap '[ -z "$server" ] || kill "$server"; chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/client@2.4.0 @modelcontextprotocol/sdk@1.32.2
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
cat >server.js <<'JS'
import { createServer } from 'node:http';

let known = null;
let sessions = 0;
const server = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  if (request.url === '/restart') known = null;
  if (request.url === '/sessions') return response.end(String(sessions));
  if (request.method !== 'POST') return response.writeHead(405).end();
  const { id, method, params } = JSON.parse(body);
  const session = request.headers['mcp-session-id'];
  const send = (result, headers = {}) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
  if (method === 'initialize') {
    known = `session-${(sessions += 1)}`;
    const { protocolVersion } = params;
    const serverInfo = { name: 'any', version: '1' };
    return send({ protocolVersion, capabilities: { tools: {} }, serverInfo }, { 'mcp-session-id': known });
  }
  if (session === undefined) return response.writeHead(400).end();
  if (session !== known) return response.writeHead(404).end();
  if (id === undefined) return response.writeHead(202).end();
  if (method === 'tools/list') return send({ tools: [{ name: 'greet', inputSchema: { type: 'object' } }] });
  return send({ content: [{ type: 'text', text: 'hello' }] });
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
JS
cat >ask.js <<'JS'
const [base, ...modules] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport } = Object.assign({}, ...(await Promise.all(modules.map((name) => import(name)))));
const client = new Client({ name: 'any', version: '1' });
await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', base)));
const call = () =>
  client.callTool({ name: 'greet' }).then(
    ({ content }) => content[0].text,
    () => 'failed',
  );
const said = [await call()];
await fetch(new URL('/restart', base));
console.log([...said, await call(), await call()].join(' '));
process.exit(0);
JS
cat >ask.py <<'PY'
import asyncio
import sys
import urllib.error
import urllib.request

from mcp import Client

base = sys.argv[1]


async def main() -> None:
    async with Client(base + "/mcp") as client:

        async def call() -> str:
            try:
                return (await client.call_tool("greet")).content[0].text
            except Exception:
                return "failed"

        said = [await call()]
        try:
            urllib.request.urlopen(base + "/restart").read()
        except urllib.error.HTTPError:
            pass
        print(*said, await call(), await call())


asyncio.run(main())
PY
mkdir go && cd go
export GOPATH="$folder/gopath" GOCACHE="$folder/cache" GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module ask

go 1.25.0

require github.com/modelcontextprotocol/go-sdk v1.8.0
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "any", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Args[1] + "/mcp"}, nil)
	if err != nil {
		panic(err)
	}
	call := func() string {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "greet"})
		if err != nil {
			return "failed"
		}
		return result.Content[0].(*mcp.TextContent).Text
	}
	said := call()
	http.Get(os.Args[1] + "/restart")
	fmt.Println(said, call(), call())
}
GO
go build -o ask . && cd ..
node server.js >address &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -s address ] || sleep 1; done
base=$(cat address)
client=$(node ask.js "$base" @modelcontextprotocol/client)
sdk=$(node ask.js "$base" @modelcontextprotocol/sdk/client/index.js @modelcontextprotocol/sdk/client/streamableHttp.js)
python=$(python/bin/python ask.py "$base" 2>/dev/null)
go=$(go/ask "$base")
printf 'client: %s\nsdk:    %s\nPython: %s\nGo:     %s\n' "$client" "$sdk" "$python" "$go"
for each in "$client" "$sdk" "$python" "$go"; do [ "$each" = 'hello failed failed' ]; done
