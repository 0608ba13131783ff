#!/bin/sh
# @langchain/openai 1.5.8: with `useResponsesApi`, a stream that ends with the event `response.failed` ends like one that succeeded, with
# an empty text. The error object of the event is shown nowhere. Without streaming the same client throws the message of a failed
# response, and `openai` 6, on which it stands, gives its caller the event. A server whose model fails in the middle of a stream has to
# know that these callers see an empty answer and no reason.
# Seen with Node 20.19 and @langchain/core 1.4.0.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @langchain/openai@1.5.8 @langchain/core@1.4.0
cat >ask.js <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:http';

import { ChatOpenAI } from '@langchain/openai';

const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (type, more, sequence_number) => {
    const whole = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', output: [], tools: [], ...more };
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, response: whole })}\n\n`);
  };
  send('response.created', { status: 'in_progress', error: null }, 0);
  send('response.failed', { status: 'failed', error: { code: 'server_error', message: 'out of memory' } }, 1);
  response.end();
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const configuration = { baseURL: `http://127.0.0.1:${server.address().port}/v1` };
const model = new ChatOpenAI({ model: 'm', apiKey: 'any', useResponsesApi: true, maxRetries: 0, configuration });
try {
  let text = '';
  for await (const chunk of await model.stream('hello')) text += chunk.text;
  console.log(`the stream ended with ${JSON.stringify(text)}`);
} catch (error) {
  console.log(`the stream threw ${error.message}`);
}
server.close();
server.closeAllConnections();
JS
seen=$(node ask.js)
echo "$seen"
[ "$seen" = 'the stream ended with ""' ]
