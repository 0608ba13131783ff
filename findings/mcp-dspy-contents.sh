#!/bin/sh
# dspy 3.4.1: of a result of an MCP tool with a text and something else, an image or a link to a resource, the agent gets the text alone, without a word
# of the rest; without the text it gets the image. A parameter with a list of types, as the official libraries for Go and Rust write for what may
# be null, is a TypeError, and a program that makes all tools of a server in one step, as the guide does, has none.
# Seen with Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --no-compile --disable-pip-version-check dspy==3.4.1 mcp==1.30.0
cat >server.py <<'PY'
import asyncio

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ImageContent, ResourceLink, TextContent, Tool

server = Server("results")
text = TextContent(type="text", text="written")
image = ImageContent(type="image", data="iVBORw0KGgo=", mimeType="image/png")
link = ResourceLink(type="resource_link", uri="file:///report.txt", name="report")
results = {"text": [text], "image": [image], "text_and_image": [text, image], "text_and_link": [text, link], "types": [text]}


@server.list_tools()
async def list_tools() -> list[Tool]:
    def schema(name: str) -> dict:
        return {"type": "object", "properties": {"note": {"type": ["string", "null"] if name == "types" else "string"}}}

    return [Tool(name=name, description="Answers.", inputSchema=schema(name)) for name in results]


@server.call_tool()
async def call_tool(name: str, arguments: dict) -> CallToolResult:
    return CallToolResult(content=results[name])


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
PY
cat >call.py <<'PY'
import asyncio
import sys

import dspy
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    server = StdioServerParameters(command=sys.executable, args=["server.py"])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        for tool in (await session.list_tools()).tools:
            try:
                seen = await dspy.Tool.from_mcp_tool(session, tool).acall(note="a")
            except TypeError as error:
                seen = f"TypeError {error}"
            print(tool.name, seen if isinstance(seen, str) else [content.type for content in seen])


asyncio.run(main())
PY
python/bin/python call.py >seen.txt 2>errors.txt || { cat errors.txt >&2; exit 1; }
cat seen.txt
cat >expected.txt <<'TXT'
text written
image ['image']
text_and_image written
text_and_link written
types TypeError unhashable type: 'list'
TXT
diff expected.txt seen.txt
