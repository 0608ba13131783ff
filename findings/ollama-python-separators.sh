#!/bin/sh
# ollama 0.6.3 for Python: a streamed answer with U+2028 or U+0085 in its text ends in a JSONDecodeError. The client splits the stream as
# Python splits text, at ten characters that JSON does not have to escape, so that one line of JSON becomes two. Go's encoder escapes U+2028
# and not U+0085, and servers in other languages with the same API escape neither. `ollama` 0.6.4 for Node reads the same bytes.
# Seen with Python 3.11 and Node 20.19.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check ollama==0.6.3 httpx==0.28.1
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts ollama@0.6.4
cat >ask.py <<'PY'
import json
import sys

import ollama

client = ollama.Client(host=sys.argv[1])
for path in ("plain", "next-line", "line-separator"):
    try:
        parts = client.chat(model=path, messages=[{"role": "user", "content": "hi"}], stream=True)
        print(path, ascii("".join(part.message.content for part in parts)))
    except json.JSONDecodeError as error:
        print(path, error.msg)
PY
cat >ask.js <<'JS'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

import { Ollama } from 'ollama';

const texts = { plain: 'one two', 'next-line': 'one\u0085two', 'line-separator': 'one\u2028two' };
const server = createServer(async (request, response) => {
  const { model } = JSON.parse(await text(request));
  response.end(`${JSON.stringify({ model, message: { role: 'assistant', content: texts[model] }, done: true })}\n`);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const host = `http://127.0.0.1:${server.address().port}`;

const python = spawn('python/bin/python', ['ask.py', host], { stdio: ['ignore', 'pipe', 'inherit'] });
console.log(`Python\n${(await text(python.stdout)).trim()}\nNode`);
for (const model of Object.keys(texts)) {
  const parts = await new Ollama({ host }).chat({ model, messages: [{ role: 'user', content: 'hi' }], stream: true });
  for await (const { message } of parts) console.log(model, message.content === texts[model] ? 'whole' : 'changed');
}
server.close();
JS
seen=$(node ask.js)
echo "$seen"
[ "$seen" = "Python
plain 'one two'
next-line Unterminated string starting at
line-separator Unterminated string starting at
Node
plain whole
next-line whole
line-separator whole" ]
