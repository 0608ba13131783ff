#!/bin/sh
# mcp 2.3.0 for Python calls tools of @modelcontextprotocol/sdk 1.32.2 with zod 4.6.7: where the schema of a result has a pattern that Python's
# `re` does not read, the client refuses each result of that tool. `\p{L}`, a named group and zod's own type for emoji are such patterns. JSON
# Schema recommends the patterns of JavaScript, which the server writes.
# Seen with Node 20.19 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/sdk@1.32.2 zod@4.6.7
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0 jsonschema==4.26.0
cat >server.js <<'JS'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'typed', version: '1.0.0' });
const tool = (name, type, value) => {
  const result = async () => ({ content: [], structuredContent: { value } });
  server.registerTool(name, { description: name, inputSchema: {}, outputSchema: { value: type } }, result);
};
tool('digits', z.string().regex(/^\d+$/), '12');
tool('letters', z.string().regex(/^\p{L}+$/u), 'abc');
tool('named', z.string().regex(/^(?<year>\d{4})$/), '2026');
tool('emoji', z.emoji(), '\u{1f44d}');
await server.connect(new StdioServerTransport());
JS
cat >call.py <<'PY'
import asyncio

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


async def main() -> None:
    async with Client(stdio_client(StdioServerParameters(command="node", args=["server.js"]))) as client:
        for tool in (await client.list_tools()).tools:
            try:
                result = await client.call_tool(tool.name, {})
                print(f"{tool.name}: {'error' if result.is_error else 'taken'}")
            except RuntimeError as error:
                print(f"{tool.name}: {str(error).split(':')[0]}")


asyncio.run(main())
PY
seen=$(python/bin/python call.py)
printf '%s\n' "$seen"
[ "$seen" = "digits: taken
letters: Invalid schema for tool letters
named: Invalid schema for tool named
emoji: Invalid schema for tool emoji" ]
