#!/usr/bin/env node
// An MCP server by hand, for what a well-meant one never does. It reads what to do from the JSON file that its first word names, at every
// request anew: `tools` to list, `pages` instead, and `habits`. Each tool answers by its name.
import { appendFileSync, closeSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const behaviour = process.argv[2] === undefined ? {} : () => JSON.parse(readFileSync(process.argv[2], 'utf8'));
const now = () => (typeof behaviour === 'function' ? behaviour() : behaviour);
const has = (habit) => now().habits?.includes(habit) ?? false;

function write(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function note(text) {
  const { log } = now();
  if (log !== undefined) appendFileSync(log, `${text}\n`);
}

const text = (shown) => ({ content: [{ type: 'text', text: shown }] });

/** An answer by hand. */
function unusable(message) {
  write(message);
  return null;
}

/** The answers to tools/call, by the name of the tool. */
const answers = {
  echo: ({ arguments: args }) => text(JSON.stringify(args)),
  pid: () => text(String(process.pid)),
  die: () => {
    process.stderr.write('out of luck\n');
    process.exit(3);
  },
  silent: () => null,
  closes: () => {
    closeSync(1);
    setInterval(() => {}, 1000);
    return null;
  },
  nothing: (_, id) => unusable({ id }),
  null: (_, id) => unusable({ id, result: null }),
  word: (_, id) => unusable({ id, result: 'done' }),
  erring: (_, id) => unusable({ id, error: 'no' }),
  huge: () => text('x'.repeat(100 * 1024 * 1024)),
  long: () => text('y'.repeat(200 * 1024)),
  odd: () => ({ content: 7 }),
  fails: () => ({ ...text('not there'), isError: true }),
  refuses: () => {
    throw Object.assign(new Error('no such thing'), { code: -32602 });
  },
  garbage: () => {
    process.stdout.write('half a line of {"json\n'.repeat(200));
    return null;
  },
  flood: () => {
    const line = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } })}\n`;
    process.stdout.write(line.repeat(10_100));
    return null;
  },
  chatty: () => {
    process.stdout.write('a word to whoever reads along\n'.repeat(60));
    process.stdout.write(
      `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: {} })}\n`.repeat(6_000),
    );
    return text(String(process.pid));
  },
  bulk: () => {
    const data = 'x'.repeat(1024 * 1024);
    const line = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } })}\n`;
    for (let count = 0; count < 65; count += 1) process.stdout.write(line);
    return null;
  },
  stderr: () => {
    process.stderr.write('flood '.repeat(1024 * 1024));
    return text('still here');
  },
  deep: () => {
    process.stdout.write(`{"jsonrpc":"2.0","id":0,"result":${'['.repeat(100_000)}${']'.repeat(100_000)}}\n`);
    return text('up again');
  },
  asks: () => ask(['sampling/createMessage', 'elicitation/create', 'roots/list', 'ping']),
  changes: () => {
    write({ method: 'notifications/tools/list_changed' });
    return text('changed');
  },
};

let asked = 0;
const waiting = new Map();

/** Requests of the server to its client; the result shows how each was answered. */
async function ask(methods) {
  const replies = [];
  for (const method of methods) {
    asked += 1;
    const reply = new Promise((resolve) => waiting.set(`own-${asked}`, resolve));
    write({ id: `own-${asked}`, method, params: {} });
    const { error, result } = await reply;
    replies.push(`${method}: ${error === undefined ? JSON.stringify(result) : error.code}`);
  }
  return text(replies.join('\n'));
}

function list({ cursor }) {
  const { tools = [], pages } = now();
  if (has('endless pages')) return { tools: [], nextCursor: `${cursor ?? ''}+` };
  if (pages === undefined) return { tools };
  const page = Number(cursor ?? 0);
  return { tools: pages[page], ...(page + 1 < pages.length ? { nextCursor: String(page + 1) } : {}) };
}

async function answer(method, params, id) {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: has('old version') ? '1999-01-01' : params.protocolVersion,
        capabilities: has('resources alone') ? { resources: {} } : { tools: { listChanged: true } },
        serverInfo: { name: 'odd', version: '1' },
      };
    case 'tools/list':
      if (has('no list')) throw Object.assign(new Error('unknown method'), { code: -32601 });
      return list(params ?? {});
    case 'tools/call':
      return await (answers[params.name] ?? answers.echo)(params, id);
    default:
      throw Object.assign(new Error('unknown method'), { code: -32601 });
  }
}

if (has('greets')) process.stdout.write('odd server 1.0 ready\n\n');
if (has('exits')) {
  process.stderr.write('no licence\n  at line 2\n');
  process.exit(7);
}
if (has('stays')) for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});
if (has('stays')) setInterval(() => {}, 1000);

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, ...reply } = JSON.parse(line);
  if (method === undefined) {
    waiting.get(id)?.(reply);
    continue;
  }
  note(id === undefined ? `${method} ${JSON.stringify(params ?? {})}` : method);
  if (id === undefined || has('never answers')) continue;
  void answer(method, params, id).then(
    (result) => result !== null && write({ id, result }),
    (error) => write({ id, error: { code: error.code ?? -32603, message: error.message } }),
  );
}
note('end of input');
