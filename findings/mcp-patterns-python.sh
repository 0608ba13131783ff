#!/bin/sh
# A server of mcp 2.3.0 for Python with a tool whose result has a pattern in the way of pydantic, `(?i)^[a-z]+$`: `listTools` of
# @modelcontextprotocol/sdk 1.32.2 fails, and with it every tool of the server is out of reach. @modelcontextprotocol/client 2.4.0 lists them
# all, and refuses to call that one.
# Seen with Node 20.19 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts \
  @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
cat >server.py <<'PY'
from mcp.server import MCPServer
from pydantic import BaseModel, Field

server = MCPServer("codes")


class Code(BaseModel):
    text: str = Field(pattern=r"(?i)^[a-z]+$")


@server.tool()
def code() -> Code:
    return Code(text="aB")


@server.tool()
def other() -> int:
    return 1


server.run()
PY
cat >list.js <<'JS'
const packages = {
  sdk: ['@modelcontextprotocol/sdk/client/index.js', '@modelcontextprotocol/sdk/client/stdio.js'],
  client: ['@modelcontextprotocol/client', '@modelcontextprotocol/client/stdio'],
};
for (const [name, [main, stdio]] of Object.entries(packages)) {
  const { Client } = await import(main);
  const { StdioClientTransport } = await import(stdio);
  const client = new Client({ name: 'caller', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: 'python/bin/python', args: ['server.py'], stderr: 'ignore' }));
  const attempt = async (what, work) => {
    const outcome = await work().catch((error) => `fails, ${error.message.split(':')[0]}`);
    console.log(`${name}: ${what} ${outcome}`);
  };
  await attempt('list', async () => (await client.listTools()).tools.map((tool) => tool.name).join(', '));
  for (const tool of ['code', 'other']) {
    await attempt(tool, async () => JSON.stringify((await client.callTool({ name: tool, arguments: {} })).structuredContent));
  }
  await client.close();
}
JS
seen=$(node list.js)
printf '%s\n' "$seen"
[ "$seen" = "sdk: list fails, Invalid regular expression
sdk: code {\"text\":\"aB\"}
sdk: other {\"result\":1}
client: list code, other
client: code fails, Tool 'code' has an invalid outputSchema
client: other {\"result\":1}" ]
