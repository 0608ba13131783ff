#!/bin/sh
# @ai-sdk/openai-compatible 3.0.92 with ai 7.0.173: an event of a chat completion that says `"error": null` beside its text counts as an
# error. The text is lost, `finishReason` is "error", and all that the caller is told is an error of null, once for each event and once for
# the end. `openai` 7.59.0 reads the same stream to its end. Servers that write all keys of their type, absent ones as null, work with one of
# the two clients.
# Seen with Node 20.19.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @ai-sdk/openai-compatible@3.0.92 ai@7.0.173 openai@7.59.0
cat >ask.js <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:http';

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';
import OpenAI from 'openai';

const event = (delta, finish_reason) => {
  const choices = [{ index: 0, delta, finish_reason }];
  const whole = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, error: null };
  return `data: ${JSON.stringify(whole)}\n\n`;
};
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`${event({ content: 'hello' }, null)}${event({}, 'stop')}data: [DONE]\n\n`);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;

const client = new OpenAI({ apiKey: 'any', baseURL, maxRetries: 0 });
let openai = '';
const asked = { model: 'm', messages: [{ role: 'user', content: 'hi' }], stream: true };
for await (const chunk of await client.chat.completions.create(asked)) openai += chunk.choices[0].delta.content ?? '';

const model = createOpenAICompatible({ name: 'any', baseURL }).chatModel('m');
const errors = [];
const run = streamText({ model, prompt: 'hi', maxRetries: 0, onError: ({ error }) => void errors.push(error) });
let ai = '';
for await (const text of run.textStream) ai += text;
console.log(JSON.stringify({ openai, ai, errors, finishReason: await run.finishReason }));
server.close();
server.closeAllConnections();
JS
seen=$(node ask.js)
echo "$seen"
[ "$seen" = '{"openai":"hello","ai":"","errors":[null,null,null],"finishReason":"error"}' ]
