#!/bin/sh
# @modelcontextprotocol/sdk 1.32.2 with zod 4.6.7: a server checks a result by its zod type, a client by the JSON schema that the server made of
# that type, and the two differ. A value with a default is required by the schema and the server does not add it; the `i` of a pattern is not
# in the schema; 0.3 is a multiple of 0.1 for zod and not for ajv. The server sends the results, and the client of the same package refuses
# them.
# Seen with Node 20.19.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/sdk@1.32.2 zod@4.6.7
cat >call.js <<'JS'
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';

const types = {
  plain: [z.string(), 'text'],
  default: [z.string().default('none'), undefined],
  flag: [z.string().regex(/^yes$/i), 'YES'],
  multiple: [z.number().multipleOf(0.1), 0.3],
};
const server = new McpServer({ name: 'typed', version: '1.0.0' });
for (const [name, [type, value]] of Object.entries(types)) {
  const result = async () => ({ content: [], structuredContent: { value } });
  server.registerTool(name, { description: name, inputSchema: {}, outputSchema: { value: type } }, result);
}
const client = new Client({ name: 'caller', version: '1.0.0' });
const [here, there] = InMemoryTransport.createLinkedPair();
await Promise.all([server.connect(here), client.connect(there)]);
await client.listTools();
for (const name of Object.keys(types)) {
  try {
    const { isError } = await client.callTool({ name, arguments: {} });
    console.log(`${name}: ${isError === true ? 'the server refuses' : 'taken'}`);
  } catch (error) {
    console.log(`${name}: ${error.message.replace(/^.*output schema: /, 'the client refuses, ')}`);
  }
}
await client.close();
JS
seen=$(node call.js)
printf '%s\n' "$seen"
[ "$seen" = "plain: taken
default: the client refuses, data must have required property 'value'
flag: the client refuses, data/value must match pattern \"^yes\$\"
multiple: the client refuses, data/value must be multiple of 0.1" ]
