// In place of a model: does the one thing that its capsule has a tool for, with the address and the handle that the message names. It speaks what
// docs/drivers.md describes.
import { createInterface } from 'node:readline';

const textOf = ({ content }) => content.map((block) => block.text ?? '').join('');

function answer({ messages, tools }) {
  const asked = textOf(messages.findLast(({ role }) => role === 'user'));
  const last = messages.at(-1);
  if (last.role === 'tool') return says(outcome(textOf(last)));
  const peer = /localhost:\d+/.exec(asked)?.[0];
  const handle = /\bmh1\.[\w-]+\.[\w-]+/.exec(asked)?.[0];
  const input = handle === undefined ? { path: 'report.txt', peer, ttl: '60s' } : { peer, handle };
  const [{ name } = { name: 'none' }] = tools;
  return { content: [{ type: 'tool_call', id: 'call_1', name, input }], stop_reason: 'tool_call' };
}

function outcome(text) {
  const handle = /"handle":"([^"]+)"/.exec(text)?.[1];
  if (handle !== undefined) return `I share report.txt: ${handle}`;
  const path = /"path":"([^"]+)"/.exec(text)?.[1];
  return path === undefined ? text : `I have it: ${path}`;
}

function says(text) {
  return { content: [{ type: 'text', text }], stop_reason: 'end_turn' };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { request } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify({ type: 'response', response: answer(request) })}\n`);
}
