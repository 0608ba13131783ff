#!/usr/bin/env node
// A server of the Model Context Protocol over standard input and output: finds the lines of its folder that have all the words asked for.
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const tool = {
  name: 'find',
  description: 'Lines of the papers that have all of these words.',
  inputSchema: { type: 'object', properties: { words: { type: 'string' } }, required: ['words'] },
};

function find({ words }) {
  const wanted = String(words).toLowerCase().split(/\s+/);
  return readdirSync('.')
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .map((line, index) => ({ place: `${file}:${index + 1}`, line }))
        .filter(({ line }) => wanted.every((word) => line.toLowerCase().includes(word))),
    )
    .slice(0, 20)
    .map(({ place, line }) => `${place}: ${line}`)
    .join('\n');
}

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'library', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': ({ arguments: given }) => ({ content: [{ type: 'text', text: find(given) || 'nothing found' }] }),
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
