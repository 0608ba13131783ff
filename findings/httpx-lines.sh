#!/bin/sh
# httpx 0.28.1 splits the lines of an answer as Python splits text: at U+2028, U+2029 and U+0085 too, which JSON does not have to escape and
# JSON.stringify never escapes. One line of JSON becomes two. Clients that read streams with `iter_lines` end with an error in the middle of an
# answer: ollama 0.6.3 (lines of JSON) with a JSONDecodeError, a2a-sdk 1.3.0 (events) with "Invalid JSON-RPC response". httpx-sse 0.4.3 has lines
# of its own and reads the same events.
# Seen with Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check httpx==0.28.1 ollama==0.6.3 a2a-sdk==1.3.0 httpx-sse==0.4.3
cat >ask.py <<'PY'
import asyncio
import http.server
import json
import threading

import httpx
import httpx_sse
import ollama
from a2a.client.transports.jsonrpc import JsonRpcTransport
from a2a.types import AgentCard, Message, Part, Role, SendMessageRequest


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        is_chat = self.path == "/api/chat"
        if is_chat:
            text = request["messages"][0]["content"]
            answer = {"model": "m", "message": {"role": "assistant", "content": text}, "done": True}
        else:
            text = request["params"]["message"]["parts"][0]["text"]
            message = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": text}]}
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": {"message": message}}
        line = json.dumps(answer, ensure_ascii=False)
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson" if is_chat else "text/event-stream")
        self.end_headers()
        self.wfile.write((f"{line}\n" if is_chat else f"data: {line}\n\n").encode())

    def log_message(self, *args: object) -> None:
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"


def asked_ollama(text: str) -> str:
    parts = ollama.Client(host=url).chat(model="m", messages=[{"role": "user", "content": text}], stream=True)
    return "".join(part.message.content for part in parts)


def asked_a2a(text: str) -> str:
    async def ask() -> str:
        message = Message(message_id="x", role=Role.ROLE_USER, parts=[Part(text=text)])
        async with httpx.AsyncClient() as client:
            events = JsonRpcTransport(client, AgentCard(), url).send_message_streaming(SendMessageRequest(message=message))
            return "".join([event.message.parts[0].text async for event in events])

    return asyncio.run(ask())


def asked_sse(text: str) -> str:
    call = {"jsonrpc": "2.0", "id": 1, "params": {"message": {"parts": [{"text": text}]}}}
    with httpx.Client() as client, httpx_sse.connect_sse(client, "POST", url, json=call) as source:
        return "".join(event.json()["result"]["message"]["parts"][0]["text"] for event in source.iter_sse())


for ask in (asked_ollama, asked_a2a, asked_sse):
    for name, text in {"blank": "one two", "U+2028": "one\u2028two", "U+0085": "one\u0085two"}.items():
        try:
            seen = "whole" if ask(text) == text else "changed"
        except Exception as error:
            seen = type(error).__name__
        print(ask.__name__, name, seen)
PY
seen=$(python/bin/python ask.py)
printf '%s\n' "$seen"
[ "$seen" = 'asked_ollama blank whole
asked_ollama U+2028 JSONDecodeError
asked_ollama U+0085 JSONDecodeError
asked_a2a blank whole
asked_a2a U+2028 A2AClientError
asked_a2a U+0085 A2AClientError
asked_sse blank whole
asked_sse U+2028 whole
asked_sse U+0085 whole' ]
