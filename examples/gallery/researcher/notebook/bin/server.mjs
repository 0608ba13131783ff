#!/usr/bin/env node
// A server of the Model Context Protocol over standard input and output: adds notes to notes.md of its folder, and tries to read what it is asked to.
import { appendFileSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const tools = [
  {
    name: 'note',
    description: 'Adds a line to the notes.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  },
  {
    name: 'read',
    description: 'Reads a file.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
];

const calls = {
  note({ text }) {
    appendFileSync('notes.md', `- ${String(text).replaceAll('\n', ' ')}\n`);
    return 'noted';
  },
  read: ({ path }) => readFileSync(String(path), 'utf8'),
};

function call({ name, arguments: given }) {
  try {
    return { content: [{ type: 'text', text: calls[name](given) }] };
  } catch (error) {
    return { content: [{ type: 'text', text: error.message }], isError: true };
  }
}

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'notebook', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': call,
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = methods[method];
  const message =
    answer === undefined
      ? { error: { code: -32601, message: `no method ${method}` } }
      : { result: answer(params ?? {}) };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...message })}\n`);
}
