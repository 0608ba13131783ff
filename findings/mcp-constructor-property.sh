#!/bin/sh
# @modelcontextprotocol/sdk 1.32.2 and mcp 2.3.0 for Python: a tool whose output schema has an optional property named `constructor`, as one about
# motor racing has, works with the client for Python. The client for JavaScript refuses each result that leaves the property out: the checker that it
# brings, ajv 8.20, finds the function by which JavaScript made the object, and wants it to be a text. `valueOf` and `toString` fare alike.
# Seen with Node 20.19 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/sdk@1.32.2 ajv@8.20.0
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
cat >server.js <<'JS'
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const text = { type: 'string' };
const outputSchema = { type: 'object', properties: { driver: text, constructor: text }, required: ['driver'] };
const server = new Server({ name: 'racing', version: '1' }, { capabilities: { tools: {} } });
const tools = [{ name: 'winner', inputSchema: { type: 'object' }, outputSchema }];
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
server.setRequestHandler(CallToolRequestSchema, () => ({ content: [], structuredContent: { driver: 'Kim' } }));
await server.connect(new StdioServerTransport());
JS
cat >ask.js <<'JS'
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const client = new Client({ name: 'any', version: '1' });
await client.connect(new StdioClientTransport({ command: 'node', args: ['server.js'] }));
await client.listTools();
const said = await client.callTool({ name: 'winner' }).then(
  ({ structuredContent }) => JSON.stringify(structuredContent),
  ({ message }) => message,
);
console.log(said);
await client.close();
JS
cat >ask.py <<'PY'
import asyncio

from mcp import Client, StdioServerParameters, stdio_client


async def main() -> None:
    async with Client(stdio_client(StdioServerParameters(command="node", args=["server.js"]))) as client:
        await client.list_tools()
        print((await client.call_tool("winner")).structured_content)


asyncio.run(main())
PY
node=$(node ask.js)
python=$(python/bin/python ask.py)
echo "Node:   $node"
echo "Python: $python"
[ "$python" = "{'driver': 'Kim'}" ]
[ "$node" = "MCP error -32602: Structured content does not match the tool's output schema: data/constructor must be string" ]
