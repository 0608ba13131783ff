#!/bin/sh
# llama-index-tools-mcp 0.4.8 makes models of Pydantic from the schemas of MCP tools, and tells the model of an agent what is left. An object inside
# the arguments loses its properties, a parameter without a type or with a `const` that is a number becomes a text. One parameter with a leading
# underline, which JSON Schema allows, and no tool of the server can be had.
# Seen with Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check llama-index-tools-mcp==0.4.8 llama-index-core==0.14.25 mcp==1.30.0
cat >server.py <<'PY'
import asyncio
import json
import sys

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import TextContent, Tool

server = Server("schemas")


@server.list_tools()
async def list_tools() -> list[Tool]:
    schema = {"type": "object", "properties": json.loads(sys.argv[1])}
    schema["required"] = list(schema["properties"])
    other = {"type": "object", "properties": {}}
    return [Tool(name="one", description="One.", inputSchema=schema), Tool(name="two", description="Two.", inputSchema=other)]


@server.call_tool()
async def call_tool(name: str, arguments: dict) -> list[TextContent]:
    return [TextContent(type="text", text="called")]


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
PY
cat >list.py <<'PY'
import asyncio
import json
import sys

from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

parameters = {
    "span": {"type": "object", "properties": {"from": {"type": "integer"}, "to": {"type": "integer"}}, "required": ["from"]},
    "value": {},
    "version": {"const": 3},
    "_meta": {"type": "string"},
}


async def main() -> None:
    for name, schema in parameters.items():
        client = BasicMCPClient(sys.executable, args=["server.py", json.dumps({name: schema})])
        try:
            tools = await McpToolSpec(client=client).to_tool_list_async()
        except Exception as error:
            print(name, type(error).__name__)
            continue
        told = tools[0].metadata.get_parameters_dict()["properties"][name]
        told = {key: told[key] for key in sorted(told) if key not in ("title", "description")}
        print(name, len(tools), "tools", json.dumps(told))


asyncio.run(main())
PY
seen=$(python/bin/python list.py)
printf '%s\n' "$seen"
[ "$seen" = 'span 2 tools {"additionalProperties": true, "type": "object"}
value 2 tools {"type": "string"}
version 2 tools {"type": "string"}
_meta PydanticUserError' ]
