#!/bin/sh
# openai 7.59.0 for Node and openai 3.57.0 for Python: when a stream of chat completions ends without the empty line behind its last event,
# the client for Node gives that event to its caller, and the client for Python drops it, as the standard for event streams says. Neither
# raises an error. Behind the same server, the same question has two answers, of which one lacks its last words and its finish reason.
# Seen with Node 20.19 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts openai@7.59.0
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check openai==3.57.0
cat >ask.py <<'PY'
import sys
from openai import OpenAI

client = OpenAI(api_key="any", base_url=sys.argv[1], max_retries=0)
stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}], stream=True)
print("".join(chunk.choices[0].delta.content or "" for chunk in stream), end="")
PY
cat >ask.js <<'JS'
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { promisify } from 'node:util';

import OpenAI from 'openai';

const event = (delta, finish_reason) => {
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n`;
};
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`${event({ role: 'assistant', content: 'first' }, null)}\n${event({ content: ' last' }, 'stop')}`);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const client = new OpenAI({ apiKey: 'any', baseURL, maxRetries: 0 });
let node = '';
const asked = { model: 'm', messages: [{ role: 'user', content: 'hello' }], stream: true };
for await (const chunk of await client.chat.completions.create(asked)) node += chunk.choices[0].delta.content ?? '';
const { stdout: python } = await promisify(execFile)('python/bin/python', ['ask.py', baseURL]);
console.log(JSON.stringify({ node, python }));
server.close();
server.closeAllConnections();
JS
seen=$(node ask.js)
echo "$seen"
[ "$seen" = '{"node":"first last","python":"first"}' ]
