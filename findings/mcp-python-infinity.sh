#!/bin/sh
# mcp 2.3.0 for Python: a tool that is declared to return a float and returns infinity has an output schema that wants a number, and its result
# is written with null, for JSON has no infinity. The client of the same library then refuses the result by the schema of the same server:
# whoever asks has an error about the schema in place of the answer.
# Seen with Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
cat >ask.py <<'PY'
import asyncio
import math

from mcp import Client
from mcp.server import MCPServer

server = MCPServer("divider")


@server.tool()
def divide(a: float, b: float) -> float:
    return a / b if b != 0 else math.inf


async def main() -> None:
    async with Client(server) as client:
        for b in (4, 0):
            try:
                result = await client.call_tool("divide", {"a": 1, "b": b})
                print(result.structured_content, result.is_error)
            except RuntimeError as error:
                print(str(error).splitlines()[0])


asyncio.run(main())
PY
seen=$(python/bin/python ask.py)
echo "$seen"
[ "$seen" = "{'result': 0.25} False
Invalid structured content returned by tool divide: None is not of type 'number'" ]
