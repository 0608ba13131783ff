#!/bin/sh
# anthropic 2.14.0 for Python and @anthropic-ai/sdk 1.14.0: a stream that a server or a proxy ends early, between two events and without an error
# of the connection, is no error for the client for Python: it gives the text so far as the final message, with a `stop_reason` of None. The
# client for Node throws. A program that was written against one of them takes half an answer for a whole one with the other.
# Seen with Node 20.19 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @anthropic-ai/sdk@1.14.0
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check anthropic==2.14.0
cat >ask.py <<'PY'
import sys

from anthropic import Anthropic

client = Anthropic(api_key="any", base_url=sys.argv[1], max_retries=0)
asked = [{"role": "user", "content": "hello"}]
with client.messages.stream(model="m", max_tokens=8, messages=asked) as stream:
    message = stream.get_final_message()
print(message.content[0].text, message.stop_reason)
PY
cat >ask.js <<'JS'
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { promisify } from 'node:util';

import Anthropic from '@anthropic-ai/sdk';

const begun = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null };
const events = [
  { type: 'message_start', message: { ...begun, usage: { input_tokens: 1, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'It is not' } },
];
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const baseURL = `http://127.0.0.1:${server.address().port}`;
const client = new Anthropic({ apiKey: 'any', baseURL, maxRetries: 0 });
const asked = [{ role: 'user', content: 'hello' }];
const node = await client.messages
  .stream({ model: 'm', max_tokens: 8, messages: asked })
  .finalMessage()
  .then(
    ({ content }) => content[0].text,
    ({ message }) => message,
  );
const { stdout } = await promisify(execFile)('python/bin/python', ['ask.py', baseURL]);
console.log(`Node:   ${node}\nPython: ${stdout.trim()}`);
server.close();
server.closeAllConnections();
JS
seen=$(node ask.js)
echo "$seen"
[ "$seen" = 'Node:   stream ended without producing a Message with role=assistant
Python: It is not None' ]
