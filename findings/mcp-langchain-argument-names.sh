#!/bin/sh
# langchain-mcp-adapters 0.3.2 with langchain-core 1.8.3: arguments of MCP tools become keyword arguments of a Python function, and names that this
# function has for itself are lost. A tool with the required parameter `config`, `runtime` or `run_manager` is called without it, without an
# error at the client; one with `self` cannot be called. llama-index-tools-mcp 0.4.8 and smolagents 1.26.0 pass the first three on, and fail at
# `self` too.
# Seen with Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check langchain-mcp-adapters==0.3.2 langchain-core==1.8.3 mcp==1.30.0
cat >server.py <<'PY'
import asyncio
import json

import mcp.types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

server = Server("names")


@server.list_tools()
async def list_tools() -> list[mcp.types.Tool]:
    return [
        mcp.types.Tool(
            name=f"with_{name}",
            description="Answers with its arguments.",
            inputSchema={"type": "object", "properties": {name: {"type": "string"}}, "required": [name]},
        )
        for name in ["path", "config", "runtime", "run_manager", "self"]
    ]


@server.call_tool(validate_input=False)
async def call_tool(name: str, arguments: dict) -> list[mcp.types.TextContent]:
    return [mcp.types.TextContent(type="text", text=json.dumps(arguments))]


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
PY
cat >call.py <<'PY'
import asyncio
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient


async def main() -> None:
    client = MultiServerMCPClient({"names": {"transport": "stdio", "command": sys.executable, "args": ["server.py"]}})
    for tool in await client.get_tools():
        name = tool.name.removeprefix("with_")
        try:
            result = await tool.ainvoke({"type": "tool_call", "id": "1", "name": tool.name, "args": {name: "x"}})
            print(name, result.content[0]["text"])
        except TypeError as error:
            print(name, error)


asyncio.run(main())
PY
seen=$(python/bin/python call.py)
printf '%s\n' "$seen"
[ "$seen" = 'path {"path": "x"}
config {}
runtime {}
run_manager {}
self StructuredTool._arun() got multiple values for argument '"'self'"'' ]
