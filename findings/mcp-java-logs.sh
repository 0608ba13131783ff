#!/bin/sh
# What a server of MCP logs is any value of JSON (2025-11-25, "Logging": `data`, as in its examples an object with the error and where it happened).
# io.modelcontextprotocol.sdk:mcp 2.1.0 for Java has a text there. Of what a server with @modelcontextprotocol/sdk 1.32.2 logs, a client in Java gets
# texts, and numbers as texts; an object or a list reaches no consumer, and neither the call nor the client fails.
# mcp 2.3.0 for Python gets all of them.
# Seen with Java 17, Node 20 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export npm_config_cache="$folder/npm"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/sdk@1.32.2
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
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

const server = new McpServer({ name: 'roofs', version: '1.0.0' }, { capabilities: { logging: {} } });
server.registerTool('repair', {}, async () => {
  for (const data of ['begun', { error: 'rain', tile: 3 }, ['tile', 4], 5, 'done']) {
    await server.server.sendLoggingMessage({ level: 'error', data });
  }
  return { content: [{ type: 'text', text: 'repaired' }] };
});
await server.connect(new StdioServerTransport());
JS
cat >Call.java <<'JAVA'
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpSchema;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

class Call {
  public static void main(String[] args) throws InterruptedException {
    var server = ServerParameters.builder("node").args("server.js").build();
    var transport = new StdioClientTransport(server, McpJsonDefaults.getMapper());
    var done = new CountDownLatch(1);
    try (var client = McpClient.sync(transport).loggingConsumer(log -> {
      System.out.println("Java: " + log.data());
      if (log.data().equals("done")) done.countDown();
    }).build()) {
      client.initialize();
      var result = client.callTool(McpSchema.CallToolRequest.builder("repair").build());
      if (!done.await(30, TimeUnit.SECONDS)) throw new IllegalStateException("the last line did not come");
      System.out.println("Java: " + ((McpSchema.TextContent) result.content().get(0)).text());
    }
  }
}
JAVA
javac -cp 'lib/*' -d . Call.java
cat >call.py <<'PY'
import asyncio

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    done = asyncio.Event()

    async def logged(params) -> None:
        print("Python:", params.data)
        if params.data == "done":
            done.set()

    server = StdioServerParameters(command="node", args=["server.js"])
    async with stdio_client(server) as (reads, writes), ClientSession(reads, writes, logging_callback=logged) as session:
        await session.initialize()
        result = await session.call_tool("repair", {})
        await asyncio.wait_for(done.wait(), 30)
        print("Python:", result.content[0].text)


asyncio.run(main())
PY
seen=$(timeout 60 java -cp 'lib/*:.' Call 2>/dev/null && python/bin/python call.py)
printf '%s\n' "$seen"
[ "$seen" = "Java: begun
Java: 5
Java: done
Java: repaired
Python: begun
Python: {'error': 'rain', 'tile': 3}
Python: ['tile', 4]
Python: 5
Python: done
Python: repaired" ]
