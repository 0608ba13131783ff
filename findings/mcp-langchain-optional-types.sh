#!/bin/sh
# @langchain/mcp-adapters 1.1.4 rewrites the schemas of MCP tools before the model sees them. Of a parameter that may be null, as a `str | None` of a
# server with mcp 2.3.0 for Python, the type, the allowed values and the items are gone. Two objects that a `const` tells apart become one, with the
# `const` of the last and the properties of both: the client refuses a call with the first, which the server takes.
# Seen with Node 20.20, @langchain/core 1.4.0 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --no-compile --disable-pip-version-check mcp==2.3.0
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @langchain/mcp-adapters@1.1.4 @langchain/core@1.4.0
cat >server.py <<'PY'
from typing import Literal

from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

server = MCPServer("schemas")


class File(BaseModel):
    kind: Literal["file"]
    path: str


class Page(BaseModel):
    kind: Literal["page"]
    url: str


@server.tool()
def read(source: File | Page, order: Literal["up", "down"] | None = None, fields: list[str] | None = None, limit: int = 3) -> str:
    return source.kind


server.run("stdio")
PY
cat >list.js <<'JS'
import { MultiServerMCPClient } from '@langchain/mcp-adapters';

const client = new MultiServerMCPClient({ mcpServers: { schemas: { command: 'python/bin/python', args: ['server.py'] } } });
const [tool] = await client.getTools();
for (const [name, { title, ...schema }] of Object.entries(tool.schema.properties)) {
  console.log(name, JSON.stringify(schema));
}
for (const source of [{ kind: 'file', path: 'a' }, { kind: 'page', url: 'b' }]) {
  const seen = await tool.invoke({ source }).then(() => 'answered', (error) => error.message.split('\n')[0]);
  console.log(source.kind, seen);
}
await client.close();
JS
node list.js >seen.txt
cat seen.txt
cat >expected.txt <<'TXT'
source {"type":"object","properties":{"kind":{"const":"page","title":"Kind","type":"string"},"path":{"title":"Path","type":"string"},"url":{"title":"Url","type":"string"}},"required":["kind"]}
order {"default":null}
fields {"default":null}
limit {"default":3,"type":"integer"}
file Received tool input did not match expected schema
page answered
TXT
diff expected.txt seen.txt
