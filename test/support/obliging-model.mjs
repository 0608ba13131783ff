// @ts-check
// A Chat Completions server whose model does what the last message asks of it, for clients that decide themselves what they send.
import { once } from 'node:events';
import { createServer } from 'node:http';

/**
 * What is asked for with a word in the message: `ask` asks with the bundled tool and repeats the answer, `slow` says a word and no more until its
 * connection is gone, `pause` takes a second and a half, `fail` is an error, `recall` repeats what was said first, `say` says the rest of its line.
 * Everything else is echoed, in two chunks.
 * @returns {Promise<{ endpoint: string, close: () => void }>}
 */
export async function startObligingModel() {
  // A client that leaves in the middle of a request is not asked what it wanted.
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
async function answer(request, response) {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  /** @type {{ role: string, content: string }[]} */
  const messages = JSON.parse(body).messages;
  const asked = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const last = messages.at(-1);
  /** @param {string} word */
  const does = (word) => asked.split(/\W+/).includes(word);
  if (does('fail')) {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(
      '{"error":{"message":"the model is on holiday","type":"invalid_request_error","param":null,"code":null}}',
    );
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (does('ask') && last?.role !== 'tool') return end(response, [callDelta], 'tool_calls');
  if (does('slow')) return void response.write(event({ content: 'a ' }));
  if (does('pause')) await new Promise((resolve) => setTimeout(resolve, 1500));
  const first = messages.find(({ role }) => role === 'user')?.content ?? '';
  const echo = /\bsay (.+)/.exec(asked)?.[1] ?? `echo: ${does('recall') ? first : asked}`;
  const text = last?.role === 'tool' ? `You said ${last.content}.` : echo;
  const half = Math.ceil(text.length / 2);
  end(response, [{ content: text.slice(0, half) }, { content: text.slice(half) }], 'stop');
}

const callDelta = {
  tool_calls: [
    {
      index: 0,
      id: 'call_1',
      type: 'function',
      function: { name: 'svc-tool-request-input', arguments: '{"prompt":"Which colour?"}' },
    },
  ],
};

/**
 * @param {import('node:http').ServerResponse} response
 * @param {readonly object[]} deltas
 * @param {string} finish
 */
function end(response, deltas, finish) {
  for (const delta of deltas) response.write(event(delta));
  response.write(event({}, finish));
  response.end('data: [DONE]\n\n');
}

/**
 * @param {object} delta
 * @param {string | null} finish
 */
function event(delta, finish = null) {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n\n`;
}
