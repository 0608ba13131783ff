// Stands in for `claude` or `codex`, whichever it is called: takes their words, speaks their lines, keeps conversations in its home, and
// calls the tools it is offered with the official client. The last line of its prompt, a JSON list of steps, says what it does.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const program = basename(process.argv[1]);
const args = process.argv.slice(2);

const write = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

async function readAll(stream) {
  let text = '';
  for await (const piece of stream.setEncoding('utf8')) text += piece;
  return text;
}

/** What the two programs do each in their own way. */
const dialects = {
  claude: () => {
    const flag = (name) => args.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
    const server = JSON.parse(flag('mcp-config') ?? '{}').mcpServers?.svc;
    const expanded = server?.headers.Authorization.replace(/\$\{(\w+)\}/, (_, name) => process.env[name] ?? '');
    const maxTurns = Number(flag('max-turns'));
    let messages = 0;
    const common = (session) => ({ session_id: session, uuid: randomUUID() });
    const event = (session, inner) =>
      write({ type: 'stream_event', event: inner, parent_tool_use_id: null, ...common(session) });
    const usage = () => ({ input_tokens: 10 * messages, cache_read_input_tokens: 1, output_tokens: 5 * messages });
    const end = (session, more) => write({ type: 'result', ...more, usage: usage(), ...common(session) });
    return {
      resume: flag('resume'),
      server: server === undefined ? null : { url: server.url, authorization: expanded },
      prompt: (stdin) => JSON.parse(stdin).message.content[0].text,
      unknown: (session) => {
        const errors = [`No conversation found with session ID: ${session}`];
        write({ type: 'result', subtype: 'error_during_execution', is_error: true, errors, session_id: session });
        process.exit(1);
      },
      begin: (session, tools, status) => {
        const servers = server === undefined ? [] : [{ name: 'svc', status }];
        const names = tools.map((name) => `mcp__svc__${name}`);
        write({ type: 'system', subtype: 'init', tools: names, mcp_servers: servers, ...common(session) });
      },
      think: (session, thinking) =>
        event(session, { type: 'content_block_delta', delta: { type: 'thinking_delta', thinking } }),
      say: (session, text) => {
        messages += 1;
        const message = { id: `msg_${messages}`, role: 'assistant', content: [] };
        event(session, { type: 'message_start', message });
        event(session, { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
        event(session, { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
        const whole = { ...message, content: [{ type: 'text', text }] };
        write({ type: 'assistant', message: whole, parent_tool_use_id: null, ...common(session) });
      },
      turnsLeft: (turns) => turns < maxTurns,
      usedUp: (session) => {
        const errors = [`Reached maximum number of turns (${maxTurns})`];
        end(session, { subtype: 'error_max_turns', is_error: true, errors });
        process.exit(1);
      },
      end: (session, text) =>
        end(session, { subtype: 'success', is_error: false, result: text, stop_reason: 'end_turn' }),
    };
  },
  codex: () => {
    const settings = args.flatMap((word, index) => (args[index - 1] === '-c' ? [word] : []));
    const setting = (name) => {
      const found = settings.find((word) => word.startsWith(`mcp_servers.svc.${name}=`));
      return found === undefined ? undefined : JSON.parse(found.slice(found.indexOf('=') + 1));
    };
    let items = 0;
    const item = (type, more) => write({ type: 'item.completed', item: { id: `item_${items++}`, type, ...more } });
    const url = setting('url');
    return {
      resume: args[args.indexOf('resume') + 1 || args.length],
      server:
        url === undefined
          ? null
          : { url, authorization: `Bearer ${process.env[setting('bearer_token_env_var')] ?? ''}` },
      prompt: (stdin) => stdin,
      unknown: (session) => {
        process.stderr.write(`Error: thread/resume failed: no rollout found for thread id ${session}\n`);
        process.exit(1);
      },
      begin: (session) => {
        write({ type: 'thread.started', thread_id: session });
        write({ type: 'turn.started' });
      },
      think: (_, text) => item('reasoning', { text }),
      say: (_, text) => item('agent_message', { text }),
      turnsLeft: () => true,
      usedUp: () => {},
      end: () =>
        write({ type: 'turn.completed', usage: { input_tokens: 20, cached_input_tokens: 1, output_tokens: 10 } }),
    };
  },
};

async function connect({ url, authorization }) {
  const client = new Client({ name: program, version: '0' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: authorization } } }),
  );
  return client;
}

async function main() {
  const dialect = dialects[program]();
  const prompt = dialect.prompt(await readAll(process.stdin));
  const memory = join(process.env.HOME, '.stand-in');
  const known = dialect.resume === undefined ? null : join(memory, dialect.resume);
  if (known !== null && !existsSync(known)) dialect.unknown(dialect.resume);
  const session = dialect.resume ?? randomUUID();
  const prompts = [...(known === null ? [] : JSON.parse(readFileSync(known, 'utf8'))), prompt];

  let client = null;
  let status = 'connected';
  try {
    if (dialect.server !== null) client = await connect(dialect.server);
  } catch {
    status = 'failed';
  }
  const tools = client === null ? [] : (await client.listTools()).tools;
  dialect.begin(
    session,
    tools.map(({ name }) => name),
    status,
  );

  let last = '';
  let turns = 0;
  const say = (text) => {
    last = text;
    dialect.say(session, text);
  };
  const answers = [];
  const call = async ([name, input]) => {
    try {
      const { content, isError } = await client.callTool({ name, arguments: input });
      answers.push(`${isError ? 'failed: ' : ''}${content[0].text}`);
    } catch (error) {
      answers.push(`broken: ${error.message}`);
    }
  };

  const steps = {
    say,
    think: (text) => dialect.think(session, text),
    /** Several at once. */
    call: async (calls) => {
      if (!dialect.turnsLeft((turns += 1))) dialect.usedUp(session);
      await Promise.all(calls.map(call));
    },
    sayAnswers: () => say(answers.join('\n')),
    sayPrompts: () => say(JSON.stringify(prompts)),
    sayStart: () =>
      say(JSON.stringify({ args, env: process.env, cwd: process.cwd(), tools: tools.map(({ name }) => name) })),
    raw: (text) => new Promise((resolve) => process.stdout.write(text, resolve)),
    flood: (bytes) => new Promise((resolve) => process.stderr.write('e'.repeat(bytes), resolve)),
    longLine: (bytes) => new Promise((resolve) => process.stdout.write('x'.repeat(bytes), resolve)),
    complain: (text) => new Promise((resolve) => process.stderr.write(text, resolve)),
    exit: (code) => process.exit(code),
    /** A caller that asks it to end has to insist. */
    stay: () => {
      process.on('SIGTERM', () => {});
      setInterval(() => {}, 1000);
    },
    /** A process of its own, which is in the same containment. */
    run: (command) => answers.push(execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8' })),
    hang: () => new Promise(() => setInterval(() => {}, 1000)),
    endEarly: () => dialect.end(session, last),
  };

  for (const step of JSON.parse(prompt.trim().split('\n').at(-1))) {
    const [[kind, value]] = Object.entries(step);
    await steps[kind](value);
  }
  mkdirSync(memory, { recursive: true });
  writeFileSync(join(memory, session), JSON.stringify(prompts));
  dialect.end(session, last);
  await client?.close();
}

void main();
