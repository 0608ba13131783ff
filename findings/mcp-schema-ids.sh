#!/bin/sh
# A server of MCP changes the output schema of a tool, as after an update, says that its list changed, and is listed anew. If the schema has an `$id`, as
# generators of schemas write it, the clients of @modelcontextprotocol/sdk 1.32.2, @modelcontextprotocol/client 2.4.0 and io.modelcontextprotocol.sdk:mcp
# 2.1.0 for Java check each result by the first schema of that id, and refuse what fits the second until they are started anew.
# mcp 2.3.0 for Python takes it. Without an `$id` all do.
# Seen with Node 20, Java 17 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export npm_config_cache="$folder/npm"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts \
  @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
cat >pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>client</groupId>
  <artifactId>client</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>io.modelcontextprotocol.sdk</groupId>
      <artifactId>mcp</artifactId>
      <version>2.1.0</version>
    </dependency>
  </dependencies>
</project>
XML
mvn -q -B -Dmaven.repo.local="$folder/m2" dependency:copy-dependencies -DoutputDirectory=lib >/dev/null 2>&1
cat >server.js <<'JS'
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const id = process.argv[2] === 'id' ? { $id: 'https://roofs.example/tiles' } : {};
let count = 3;
const server = new Server({ name: 'roofs', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
server.setRequestHandler(ListToolsRequestSchema, () => {
  const type = typeof count === 'number' ? 'integer' : 'string';
  const outputSchema = { ...id, type: 'object', properties: { count: { type } } };
  return { tools: [{ name: 'tiles', inputSchema: { type: 'object' }, outputSchema }, { name: 'update', inputSchema: { type: 'object' } }] };
});
server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
  if (params.name === 'update') {
    count = 'three';
    await server.sendToolListChanged();
    return { content: [] };
  }
  return { structuredContent: { count }, content: [{ type: 'text', text: JSON.stringify({ count }) }] };
});
await server.connect(new StdioServerTransport());
JS
cat >call.js <<'JS'
const packages = {
  sdk: ['@modelcontextprotocol/sdk/client/index.js', '@modelcontextprotocol/sdk/client/stdio.js'],
  client: ['@modelcontextprotocol/client', '@modelcontextprotocol/client/stdio'],
};
const [id] = process.argv.slice(2);
for (const [name, [main, stdio]] of Object.entries(packages)) {
  const { Client } = await import(main);
  const { StdioClientTransport } = await import(stdio);
  const client = new Client({ name: 'caller', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: 'node', args: ['server.js', id] }));
  const seen = async () => {
    await client.listTools();
    return await client.callTool({ name: 'tiles', arguments: {} }).then(
      ({ structuredContent }) => structuredContent.count,
      () => 'refused',
    );
  };
  const before = await seen();
  await client.callTool({ name: 'update', arguments: {} });
  console.log(`${id} ${name}: ${before} ${await seen()}`);
  await client.close();
}
JS
cat >Call.java <<'JAVA'
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpSchema;
import java.util.Map;

class Call {
  public static void main(String[] args) {
    var server = ServerParameters.builder("node").args("server.js", args[0]).build();
    var transport = new StdioClientTransport(server, McpJsonDefaults.getMapper());
    try (var client = McpClient.sync(transport).enableCallToolSchemaCaching(true).build()) {
      client.initialize();
      Object before = seen(client);
      client.callTool(McpSchema.CallToolRequest.builder("update").build());
      System.out.println(args[0] + " Java: " + before + " " + seen(client));
    }
  }

  private static Object seen(McpSyncClient client) {
    client.listTools();
    try {
      var result = client.callTool(McpSchema.CallToolRequest.builder("tiles").build());
      return ((Map<?, ?>) result.structuredContent()).get("count");
    } catch (RuntimeException refusal) {
      return "refused";
    }
  }
}
JAVA
javac -cp 'lib/*' -d . Call.java
cat >call.py <<'PY'
import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(id: str) -> None:
    async def seen() -> object:
        await session.list_tools()
        try:
            return (await session.call_tool("tiles", {})).structured_content["count"]
        except Exception:
            return "refused"

    server = StdioServerParameters(command="node", args=["server.js", id])
    async with stdio_client(server) as (reads, writes), ClientSession(reads, writes) as session:
        await session.initialize()
        before = await seen()
        await session.call_tool("update", {})
        print(f"{id} Python: {before} {await seen()}")


asyncio.run(main(sys.argv[1]))
PY
seen=$(for id in id none; do
  node call.js $id
  timeout 60 java -cp 'lib/*:.' Call $id 2>/dev/null
  python/bin/python call.py $id
done)
printf '%s\n' "$seen"
[ "$seen" = 'id sdk: 3 refused
id client: 3 refused
id Java: 3 refused
id Python: 3 three
none sdk: 3 three
none client: 3 three
none Java: 3 three
none Python: 3 three' ]
