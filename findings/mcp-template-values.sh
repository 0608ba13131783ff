#!/bin/sh
# Templates of resources in MCP, the same in two official servers, asked with addresses that @modelcontextprotocol/sdk 1.32.2 itself makes of them.
# `notes://{name}` and "two words": mcp 2.3.0 for Python gives the function `two words`, @modelcontextprotocol/server 2.4.0 gives it
# `two%20words`; it takes the address apart and decodes nothing. `search://notes{?text,limit}` without a limit: the server for Python answers,
# for that for JavaScript the resource is not there, since each parameter has to stand in the address.
# Seen with Node 20.19 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/server@2.4.0
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
cat >server.py <<'PY'
from mcp.server.mcpserver import MCPServer

server = MCPServer("notes")


@server.resource("notes://{name}")
def note(name: str) -> str:
    return name


@server.resource("search://notes{?text,limit}")
def search(text: str = "", limit: str = "10") -> str:
    return f"{text}, {limit}"


server.run()
PY
cat >server.js <<'JS'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

const server = new McpServer({ name: 'notes', version: '1.0.0' });
const answer = (name, template, text) =>
  server.registerResource(name, new ResourceTemplate(template, { list: undefined }), {}, (uri, values) => ({
    contents: [{ uri: uri.href, text: text(values) }],
  }));
answer('note', 'notes://{name}', ({ name }) => name);
answer('search', 'search://notes{?text,limit}', ({ text, limit = '10' }) => `${text}, ${limit}`);
await server.connect(new StdioServerTransport());
JS
cat >client.js <<'JS'
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { UriTemplate } from '@modelcontextprotocol/sdk/shared/uriTemplate.js';

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'reader', version: '1.0.0' });
await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }));
const read = async (template, values) => {
  const uri = new UriTemplate(template).expand(values);
  const said = await client.readResource({ uri }).then(
    ({ contents }) => contents[0].text,
    ({ code }) => code,
  );
  return `${uri} ${said}`;
};
console.log(await read('notes://{name}', { name: 'two words' }));
console.log(await read('search://notes{?text,limit}', { text: 'roof', limit: '5' }));
console.log(await read('search://notes{?text,limit}', { text: 'roof' }));
await client.close();
JS
python=$(timeout 60 node client.js python/bin/python server.py)
node=$(timeout 60 node client.js node server.js)
printf 'Python:\n%s\nNode:\n%s\n' "$python" "$node"
[ "$python" = 'notes://two%20words two words
search://notes?text=roof&limit=5 roof, 5
search://notes?text=roof roof, 10' ]
[ "$node" = 'notes://two%20words two%20words
search://notes?text=roof&limit=5 roof, 5
search://notes?text=roof -32602' ]
