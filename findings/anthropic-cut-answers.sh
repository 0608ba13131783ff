#!/bin/sh
# @anthropic-ai/sdk 1.14.0 and anthropic 2.14.0 for Python: their helpers for streams give half an answer as if it were whole.
# When `max_tokens` ends it in the middle of the arguments of a call, both complete what is cut off by guess: here the text of a file is gone, and
# the path remains. Only `stop_reason`, which stands beside the call and not in it, says that there was more. A program that carries out the calls
# of the message it is given writes an empty file, or does what the rest of the arguments would have kept it from.
# When a server or a proxy ends the stream early, between two events and without an error of the connection, the helper for Python gives the text
# so far as the final message, with a `stop_reason` of None. The one for Node throws: what was written against it takes half for whole there.
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
import json
import sys

from anthropic import Anthropic

client = Anthropic(api_key="any", base_url=sys.argv[1], max_retries=0)
asked = [{"role": "user", "content": "hello"}]
for model in ["arguments", "stream"]:
    with client.messages.stream(model=model, max_tokens=8, messages=asked) as stream:
        message = stream.get_final_message()
    block = message.content[0]
    given = block.input if block.type == "tool_use" else block.text
    print(json.dumps([given, message.stop_reason], separators=(",", ":")))
PY
cat >ask.js <<'JS'
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { promisify } from 'node:util';

import Anthropic from '@anthropic-ai/sdk';

const begun = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null };
const start = { type: 'message_start', message: { ...begun, usage: { input_tokens: 1, output_tokens: 1 } } };
const block = (content_block, delta) => [
  { type: 'content_block_start', index: 0, content_block },
  { type: 'content_block_delta', index: 0, delta },
];
const partial_json = '{"path":"notes.txt","content":"First, ';
const answers = {
  arguments: [
    start,
    ...block({ type: 'tool_use', id: 't', name: 'write', input: {} }, { type: 'input_json_delta', partial_json }),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'max_tokens', stop_sequence: null }, usage: { output_tokens: 8 } },
    { type: 'message_stop' },
  ],
  stream: [start, ...block({ type: 'text', text: '' }, { type: 'text_delta', text: 'It is not' })],
};
const server = createServer(async (request, response) => {
  const { model } = JSON.parse((await request.toArray()).join(''));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(answers[model].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const baseURL = `http://127.0.0.1:${server.address().port}`;
const client = new Anthropic({ apiKey: 'any', baseURL, maxRetries: 0 });
const asked = [{ role: 'user', content: 'hello' }];
const given = ({ content: [first], stop_reason: stop }) => JSON.stringify([first.input ?? first.text, stop]);
for (const model of Object.keys(answers)) {
  const message = client.messages.stream({ model, max_tokens: 8, messages: asked }).finalMessage();
  console.log(`Node:   ${await message.then(given, (error) => error.message)}`);
}
const { stdout } = await promisify(execFile)('python/bin/python', ['ask.py', baseURL]);
console.log(stdout.trim().replaceAll(/^/gm, 'Python: '));
server.close();
server.closeAllConnections();
JS
seen=$(node ask.js)
echo "$seen"
[ "$seen" = 'Node:   [{"path":"notes.txt"},"max_tokens"]
Node:   stream ended without producing a Message with role=assistant
Python: [{"path":"notes.txt"},"max_tokens"]
Python: ["It is not",null]' ]
