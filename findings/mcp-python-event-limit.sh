#!/bin/sh
# mcp 2.3.0 for Python, client of Streamable HTTP: a result of more than 1 MiB in an event stream is an error, "Server-sent event exceeded the
# 1048576 byte limit" (of httpx2 2.16.2, which the client does not set). The same result as application/json is taken, and so it is by
# @modelcontextprotocol/sdk 1.32.2 in both ways. The server may choose between the two, and a screenshot in base64 is often larger.
# Seen with Node 20.19 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/sdk@1.32.2
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0 httpx2==2.16.2
cat >call.py <<'PY'
import asyncio
import sys

from mcp import Client


async def main() -> None:
    for path in sys.argv[2:]:
        try:
            async with Client(f"{sys.argv[1]}/{path}") as client:
                result = await client.call_tool("picture", {})
                print(f"Python: {path} {len(result.content[0].text)}")
        except BaseExceptionGroup as group:
            error = group.exceptions[0]
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            print(f"Python: {path} {error}")


asyncio.run(main())
PY
cat >call.js <<'JS'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const resultOf = ({ method, params }) => {
  if (method === 'tools/call') return { content: [{ type: 'text', text: 'x'.repeat(2 ** 20) }] };
  if (method === 'tools/list') return { tools: [{ name: 'picture', inputSchema: { type: 'object' } }] };
  if (method !== 'initialize') return {};
  const serverInfo = { name: 'pictures', version: '1.0.0' };
  return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo };
};
const server = createServer(async (request, response) => {
  if (request.method !== 'POST') return response.writeHead(405).end();
  const message = JSON.parse(await text(request));
  if (message.id === undefined) return response.writeHead(202).end();
  const answer = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: resultOf(message) });
  const isStream = request.url === '/events';
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
  response.end(isStream ? `data: ${answer}\n\n` : answer);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${server.address().port}`;

const python = spawn('python/bin/python', ['call.py', url, 'json', 'events'], { stdio: ['ignore', 'pipe', 'inherit'] });
console.log((await text(python.stdout)).trim());
for (const path of ['json', 'events']) {
  const client = new Client({ name: 'caller', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/${path}`)));
  const { content } = await client.callTool({ name: 'picture', arguments: {} });
  console.log(`Node: ${path} ${content[0].text.length}`);
  await client.close();
}
server.close();
server.closeAllConnections();
JS
seen=$(node call.js)
printf '%s\n' "$seen"
[ "$seen" = 'Python: json 1048576
Python: events SSE stream failed: Server-sent event exceeded the 1048576 byte limit.
Node: json 1048576
Node: events 1048576' ]
