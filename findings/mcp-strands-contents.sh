#!/bin/sh
# strands-agents 1.62.0: a link to a resource or a sound in the result of an MCP tool is left out of what the model gets. The log says it at the level
# `debug` alone, and the call counts as a success with less in it, or with nothing. The protocol has links since 2025-06-18 and sounds since 2025-03-26;
# a tool that wrote a file answers with a link to it.
# Seen with Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --no-compile --disable-pip-version-check strands-agents==1.62.0 mcp==1.30.0
cat >server.py <<'PY'
import asyncio

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import AudioContent, CallToolResult, ResourceLink, TextContent, Tool

server = Server("results")
link = ResourceLink(type="resource_link", uri="file:///report.txt", name="report")
results = {
    "text": [TextContent(type="text", text="written")],
    "text_and_link": [TextContent(type="text", text="written"), link],
    "link": [link],
    "sound": [AudioContent(type="audio", data="UklGRg==", mimeType="audio/wav")],
}


@server.list_tools()
async def list_tools() -> list[Tool]:
    return [Tool(name=name, description="Answers.", inputSchema={"type": "object", "properties": {}}) for name in results]


@server.call_tool()
async def call_tool(name: str, arguments: dict) -> CallToolResult:
    return CallToolResult(content=results[name])


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
PY
cat >call.py <<'PY'
import sys

from mcp import StdioServerParameters, stdio_client
from strands.tools.mcp import MCPClient

with MCPClient(lambda: stdio_client(StdioServerParameters(command=sys.executable, args=["server.py"]))) as client:
    for tool in client.list_tools_sync():
        result = client.call_tool_sync("1", tool.tool_name, {})
        print(tool.tool_name, result["status"], result["content"])
PY
python/bin/python call.py >seen.txt
cat seen.txt
cat >expected.txt <<'TXT'
text success [{'text': 'written'}]
text_and_link success [{'text': 'written'}]
link success []
sound success []
TXT
diff expected.txt seen.txt
