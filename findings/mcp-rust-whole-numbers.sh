#!/bin/sh
# rmcp 3.11.0, the official Rust library for the Model Context Protocol: a tool whose parameter is a `u32` has a schema with the type `integer`, to which
# 3.0 belongs (JSON Schema 2020-12, validation, 6.1.1), and the server refuses 3.0. A client that has its arguments from protobuf's Struct, as agents
# of A2A have, knows no other whole numbers: here they come from protobuf 7.36.2, jsonschema 4.26.0 finds them right, and the call fails.
# Seen with Rust 1.95 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export CARGO_HOME="$folder/cargo"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0 protobuf==7.36.2 jsonschema==4.26.0
mkdir src
cat >Cargo.toml <<'TOML'
[package]
name = "server"
version = "1.0.0"
edition = "2024"

[dependencies]
rmcp = { version = "=3.11.0", features = ["server", "transport-io"] }
schemars = "=1.2.3"
serde = { version = "=1.0.229", features = ["derive"] }
tokio = { version = "=1.54.1", features = ["macros", "rt"] }
TOML
cat >src/main.rs <<'RS'
use rmcp::{ServiceExt, handler::server::wrapper::Parameters, schemars, tool, tool_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Page {
    count: u32,
    above: f64,
}

#[derive(Clone)]
struct Pages;

#[tool_router(server_handler)]
impl Pages {
    #[tool(description = "Shows a page")]
    fn show(&self, Parameters(page): Parameters<Page>) -> String {
        format!("{} above {}", page.count, page.above)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Pages.serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
RS
cargo build --quiet 2>build.log || { cat build.log >&2; exit 1; }
cat >client.py <<'PY'
import asyncio

import jsonschema
from google.protobuf import json_format, struct_pb2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    server = StdioServerParameters(command="target/debug/server")
    async with stdio_client(server) as (reads, writes), ClientSession(reads, writes) as session:
        await session.initialize()
        schema = (await session.list_tools()).tools[0].input_schema
        print(schema["properties"]["count"]["type"])
        written = {"count": 3, "above": 2}
        for arguments in (written, json_format.MessageToDict(json_format.ParseDict(written, struct_pb2.Struct()))):
            jsonschema.validate(arguments, schema, jsonschema.Draft202012Validator)
            try:
                result = await session.call_tool("show", arguments)
                print(arguments, result.content[0].text)
            except Exception as refusal:
                print(arguments, refusal)


asyncio.run(main())
PY
timeout 60 python/bin/python client.py >seen.txt
cat seen.txt
cat >expected.txt <<'TXT'
integer
{'count': 3, 'above': 2} 3 above 2
{'above': 2.0, 'count': 3.0} failed to deserialize parameters: invalid type: floating point `3.0`, expected u32
TXT
diff expected.txt seen.txt
