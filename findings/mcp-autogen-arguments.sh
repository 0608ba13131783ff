#!/bin/sh
# autogen-ext 0.7.5 makes a model of Pydantic from the schema of an MCP tool and writes the arguments of a call by that model. What the schema allows beside
# `properties`, by `additionalProperties`, `oneOf` or an `allOf`, is left out of the call without an error: the server gets `{}` for an address that
# the model of the agent gave. A list of types, as the official libraries for Go and Rust write for what may be null, or a parameter without a
# type ends the listing, and no tool of that server can be had.
# Seen with Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --no-compile --disable-pip-version-check autogen-ext==0.7.5 autogen-core==0.7.5 mcp==1.30.0
cat >server.py <<'PY'
import asyncio
import json
import sys

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import TextContent, Tool

server = Server("schemas")
text = {"type": "string"}
schemas = {
    "properties": {"properties": {"path": text}},
    "additional": {"properties": {"image": text}, "additionalProperties": text},
    "one": {"oneOf": [{"properties": {"path": text}, "required": ["path"]}, {"properties": {"url": text}, "required": ["url"]}]},
    "all": {"properties": {"note": text}, "allOf": [{"properties": {"path": text}, "required": ["path"]}]},
    "types": {"properties": {"note": {"type": ["string", "null"]}}},
    "untyped": {"properties": {"value": {}}},
}


@server.list_tools()
async def list_tools() -> list[Tool]:
    return [Tool(name=name, inputSchema={"type": "object", **schemas[name]}) for name in sys.argv[1:]]


@server.call_tool(validate_input=False)
async def call_tool(name: str, arguments: dict) -> list[TextContent]:
    return [TextContent(type="text", text=json.dumps(arguments))]


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
PY
cat >call.py <<'PY'
import asyncio
import sys

from autogen_core import CancellationToken
from autogen_ext.tools.mcp import StdioServerParams, mcp_server_tools

calls = {
    "properties": {"path": "a"},
    "additional": {"image": "a", "PATH": "/bin"},
    "one": {"url": "http://localhost"},
    "all": {"path": "a", "note": "b"},
    "types": {"note": "b"},
    "untyped": {"value": 1},
}


async def main() -> None:
    for name, arguments in calls.items():
        try:
            server = StdioServerParams(command=sys.executable, args=["server.py", "properties", name], read_timeout_seconds=60)
            tool = (await mcp_server_tools(server))[-1]
        except Exception as error:
            print(f"{name}: no tool, {type(error).__name__}")
            continue
        result = await tool.run_json(arguments, CancellationToken())
        print(f"{name}: {arguments} arrives as {result[0].text}")


asyncio.run(main())
PY
python/bin/python call.py >seen.txt 2>errors.txt || { cat errors.txt >&2; exit 1; }
cat seen.txt
cat >expected.txt <<'TXT'
properties: {'path': 'a'} arrives as {"path": "a"}
additional: {'image': 'a', 'PATH': '/bin'} arrives as {"image": "a"}
one: {'url': 'http://localhost'} arrives as {}
all: {'path': 'a', 'note': 'b'} arrives as {"path": "a"}
types: no tool, TypeError
untyped: no tool, UnsupportedKeywordError
TXT
diff expected.txt seen.txt
