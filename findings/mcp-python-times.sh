#!/bin/sh
# A tool of mcp 2.3.0 for Python that returns a `datetime` without a time zone, a `time` or a negative `timedelta` has a schema with the formats
# `date-time`, `time` and `duration`, and a result that these formats do not allow: they want a zone, and no sign. Python's own client does not
# check formats. @modelcontextprotocol/sdk 1.32.2 and @modelcontextprotocol/client 2.4.0 check them and refuse the results.
# `datetime.now()` has no time zone.
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
from datetime import datetime, time, timedelta, timezone

from mcp.server import MCPServer
from pydantic import BaseModel

server = MCPServer("times")


def offer(name: str, type_: type, value: object) -> None:
    class Seen(BaseModel):
        at: type_

    def look() -> Seen:
        return Seen(at=value)

    server.tool(name=name)(look)


offer("zoned", datetime, datetime(2026, 1, 1, 12, tzinfo=timezone.utc))
offer("naive", datetime, datetime(2026, 1, 1, 12))
offer("clock", time, time(12))
offer("span", timedelta, timedelta(hours=1))
offer("ago", timedelta, timedelta(hours=-1))
if __name__ == "__main__":
    server.run()
PY
cat >call.py <<'PY'
import asyncio

from mcp import Client
from server import server


async def main() -> None:
    async with Client(server) as client:
        for tool in (await client.list_tools()).tools:
            result = await client.call_tool(tool.name, {})
            print(f"Python: {tool.name} {result.structured_content['at']}")


asyncio.run(main())
PY
cat >call.js <<'JS'
const packages = {
  sdk: ['@modelcontextprotocol/sdk/client/index.js', '@modelcontextprotocol/sdk/client/stdio.js'],
  client: ['@modelcontextprotocol/client', '@modelcontextprotocol/client/stdio'],
};
for (const [name, [main, stdio]] of Object.entries(packages)) {
  const { Client } = await import(main);
  const { StdioClientTransport } = await import(stdio);
  const client = new Client({ name: 'caller', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: 'python/bin/python', args: ['server.py'], stderr: 'ignore' }));
  for (const tool of (await client.listTools()).tools) {
    const outcome = await client.callTool({ name: tool.name, arguments: {} }).then(
      () => 'taken',
      (error) => error.message.replace(/^.*output schema: /, ''),
    );
    console.log(`${name}: ${tool.name} ${outcome}`);
  }
  await client.close();
}
JS
seen=$(python/bin/python call.py && node call.js)
printf '%s\n' "$seen"
[ "$seen" = 'Python: zoned 2026-01-01T12:00:00Z
Python: naive 2026-01-01T12:00:00
Python: clock 12:00:00
Python: span PT1H
Python: ago -PT1H
sdk: zoned taken
sdk: naive data/at must match format "date-time"
sdk: clock data/at must match format "time"
sdk: span taken
sdk: ago data/at must match format "duration"
client: zoned taken
client: naive data/at must match format "date-time"
client: clock data/at must match format "time"
client: span taken
client: ago data/at must match format "duration"' ]
