#!/bin/sh
# @ai-sdk/mcp 2.0.99 writes `additionalProperties: false` into the schema of every MCP tool, over what the server says there. The model of an agent
# is told that a tool which takes further names takes none, and a tool whose parameters stand in `oneOf` has a schema that no call fits. Of a call that
# failed the model gets the same as of one that did not: `isError` is in the result and not in what `toModelOutput` makes of it.
# Seen with Node 20.20, ajv 8.20.0 and @modelcontextprotocol/sdk 1.32.2.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @ai-sdk/mcp@2.0.99 @modelcontextprotocol/sdk@1.32.2 zod@4.6.7 ajv@8.20.0
cat >server.js <<'JS'
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const text = { type: 'string' };
const schemas = {
  plain: { properties: { path: text } },
  additional: { properties: { image: text }, additionalProperties: text },
  one: { oneOf: [{ properties: { path: text }, required: ['path'] }, { properties: { url: text }, required: ['url'] }] },
};
const server = new Server({ name: 'schemas', version: '1.0.0' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: Object.entries(schemas).map(([name, schema]) => ({ name, inputSchema: { type: 'object', ...schema } })),
}));
server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
  content: [{ type: 'text', text: 'no space is left' }],
  isError: 'path' in params.arguments,
}));
await server.connect(new StdioServerTransport());
JS
cat >call.js <<'JS'
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import Ajv from 'ajv/dist/2020.js';

const parameters = { command: 'node', args: ['server.js'] };
const own = new Client({ name: 'own', version: '1.0.0' });
await own.connect(new StdioClientTransport(parameters));
const listed = (await own.listTools()).tools;
await own.close();
const client = await createMCPClient({ transport: new StdioTransport(parameters) });
const tools = await client.tools();
const takes = (schema, input) => (new Ajv({ strict: false }).validate(schema, input) ? 'takes' : 'refuses');
const inputs = { plain: { path: 'a' }, additional: { image: 'a', HOME: '/' }, one: { url: 'b' } };
for (const { name, inputSchema } of listed) {
  const given = await tools[name].inputSchema.jsonSchema;
  console.log(`${name}: the server ${takes(inputSchema, inputs[name])} it, the schema for the model ${takes(given, inputs[name])} it`);
}
for (const input of [{}, { path: 'a' }]) {
  const output = await tools.plain.execute(input, { toolCallId: '1', messages: [] });
  console.log(output.isError, JSON.stringify(await tools.plain.toModelOutput({ toolCallId: '1', input, output })));
}
await client.close();
JS
node call.js >seen.txt
cat seen.txt
cat >expected.txt <<'TXT'
plain: the server takes it, the schema for the model takes it
additional: the server takes it, the schema for the model refuses it
one: the server takes it, the schema for the model refuses it
false {"type":"content","value":[{"type":"text","text":"no space is left"}]}
true {"type":"content","value":[{"type":"text","text":"no space is left"}]}
TXT
diff expected.txt seen.txt
