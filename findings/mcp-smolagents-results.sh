#!/bin/sh
# smolagents 1.26.0 with mcpadapt 0.1.19: of a result of an MCP tool with several texts the model gets the first one alone, which a line of
# the log says, and a result with `isError` arrives as a result like any other. A link to a resource, which results may have since 2025-06-18, ends
# the call with an error although a text stands behind it.
# Seen with Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check smolagents==1.26.0 mcpadapt==0.1.19 mcp==1.30.0
cat >server.py <<'PY'
import asyncio

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ResourceLink, TextContent, Tool

server = Server("results")


def text(words: str) -> TextContent:
    return TextContent(type="text", text=words)


results = {
    "pages": CallToolResult(content=[text("page one"), text("page two")]),
    "failed": CallToolResult(content=[text("the disk is full")], isError=True),
    "linked": CallToolResult(content=[ResourceLink(type="resource_link", uri="file:///report.txt", name="report"), text("written")]),
}


@server.list_tools()
async def list_tools() -> list[Tool]:
    return [Tool(name=name, description="Answers.", inputSchema={"type": "object", "properties": {}}) for name in results]


@server.call_tool()
async def call_tool(name: str, arguments: dict) -> CallToolResult:
    return results[name]


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
PY
cat >call.py <<'PY'
import sys

from mcp import StdioServerParameters
from smolagents import ToolCollection

server = StdioServerParameters(command=sys.executable, args=["server.py"])
with ToolCollection.from_mcp(server, trust_remote_code=True, structured_output=False) as collection:
    for tool in collection.tools:
        try:
            print(tool.name, repr(tool()))
        except ValueError as error:
            print(tool.name, "ValueError", error)
PY
seen=$(python/bin/python call.py)
printf '%s\n' "$seen"
[ "$seen" = "pages 'page one'
failed 'the disk is full'
linked ValueError tool linked returned an unsupported content type: <class 'mcp.types.ResourceLink'>" ]
