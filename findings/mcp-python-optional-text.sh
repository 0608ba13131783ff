#!/bin/sh
# mcp 2.3.0 for Python: where a parameter of a tool is text or something else, as in `text: str | None`, the server reads text that looks like
# JSON before it checks the type. A file of JSON cannot be passed to such a tool: it becomes a dict, which is no text, and the call fails. The
# text `null` becomes None without an error. A parameter that is `str` alone takes all of them. Making a parameter optional changes what it
# takes.
# Seen with Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
cat >call.py <<'PY'
import asyncio

from mcp import Client
from mcp.server import MCPServer

server = MCPServer("files")


@server.tool()
def write(text: str) -> str:
    return repr(text)


@server.tool()
def append(text: str | None = None) -> str:
    return repr(text)


async def main() -> None:
    async with Client(server) as client:
        for tool in ("write", "append"):
            for text in ("hello", '{"a": 1}', "[1]", "null"):
                result = await client.call_tool(tool, {"text": text})
                print(f"{tool} {text}: {'refused' if result.is_error else result.content[0].text}")


asyncio.run(main())
PY
seen=$(python/bin/python call.py 2>/dev/null)
printf '%s\n' "$seen"
[ "$seen" = "write hello: 'hello'
write {\"a\": 1}: '{\"a\": 1}'
write [1]: '[1]'
write null: 'null'
append hello: 'hello'
append {\"a\": 1}: refused
append [1]: refused
append null: None" ]
