#!/bin/sh
# semantic-kernel 1.45.0 for Python: the data URI of an image or of a sound that an MCP tool returned says nothing of base64 (RFC 2397, 3), so its reader
# gets the letters of the encoding for the bytes of the picture. A link to a resource, which results may have since 2025-06-18, ends the call with
# an error although a text stands before it. A parameter with a list of types, as the official libraries for Go and Rust write for what may be null,
# keeps every tool of the server from the kernel.
# Seen with Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --no-compile --disable-pip-version-check semantic-kernel==1.45.0 mcp==1.30.0
cat >server.py <<'PY'
import asyncio
import sys

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import AudioContent, CallToolResult, ImageContent, ResourceLink, TextContent, Tool

server = Server("results")
written = TextContent(type="text", text="written")
image = ImageContent(type="image", data="iVBORw0KGgo=", mimeType="image/png")
audio = AudioContent(type="audio", data="UklGRg==", mimeType="audio/wav")
link = ResourceLink(type="resource_link", uri="file:///report.txt", name="report")
results = {"text": [written], "image": [written, image], "audio": [audio], "link": [written, link]}


@server.list_tools()
async def list_tools() -> list[Tool]:
    schema = {"type": "object", "properties": {"note": {"type": sys.argv[1:]} if sys.argv[2:] else {"type": "string"}}}
    return [Tool(name=name, description="Answers.", inputSchema=schema) for name in results]


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
import logging
import sys
from urllib.request import urlopen

from semantic_kernel import Kernel
from semantic_kernel.connectors.mcp import MCPStdioPlugin

logging.disable()


async def main() -> None:
    async with MCPStdioPlugin(name="results", command=sys.executable, args=["server.py", "string"]) as server:
        kernel = Kernel()
        for name, function in sorted(kernel.add_plugin(server).functions.items()):
            try:
                contents = (await function.invoke(kernel)).value
            except Exception as error:
                print(name, error)
                continue
            print(name, [urlopen(content.data_uri).read() if name in ("audio", "image") else content.text for content in contents[-1:]])
    async with MCPStdioPlugin(name="results", command=sys.executable, args=["server.py", "string", "null"]) as server:
        try:
            print(len(Kernel().add_plugin(server).functions))
        except Exception as error:
            print("with a list of types", type(error).__name__)


asyncio.run(main())
PY
python/bin/python call.py >seen.txt 2>errors.txt || { cat errors.txt >&2; exit 1; }
cat seen.txt
cat >expected.txt <<'TXT'
audio [b'UklGRg==']
image [b'iVBORw0KGgo=']
link Failed to call tool 'link'.
text ['written']
with a list of types ValidationError
TXT
diff expected.txt seen.txt
