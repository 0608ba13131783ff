import { afterEach, describe, expect, it } from 'vitest';

import { startFakeAnthropic } from '@svc/testing/fake-anthropic.ts';
import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import { type FakeStream, refuses, says } from '@svc/testing/fake-reply.ts';
import type { FakeProvider } from '@svc/testing/fake-provider.ts';
import { scriptLineSchemas, type RunResult } from '@svc/svc/run/script/run-result.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { pipedSvc } from '../support/piped-run.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

const providers: FakeProvider[] = [];
afterEach(async () => {
  await Promise.all(providers.splice(0).map(async (provider) => await provider.close()));
});

/** A stream of the Chat Completions API. */
function chat(...chunks: readonly object[]): { kind: 'raw'; pieces: readonly string[] } {
  return { kind: 'raw', pieces: [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'] };
}

/** A stream of the Messages API. */
function messages(...events: readonly { readonly type: string }[]): { kind: 'raw'; pieces: readonly string[] } {
  return { kind: 'raw', pieces: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`) };
}

function asking(endpoint: string, driver: string, rest = ''): Workspace {
  return capsule({
    files: {
      'svc.yaml': `name: demo
version: 1.2.3
inference:
  endpoint: ${endpoint}
  model: m
  driver: { artifact: ${driver}, config: { max_retries: 0 } }
${rest}`,
    },
  });
}

async function resultOf(workspace: Workspace): Promise<RunResult> {
  const { stdout } = await pipedSvc(workspace, ['-p', 'Go', '--output', 'json']);
  return scriptLineSchemas.result.parse(JSON.parse(stdout)) as RunResult;
}

/** Calls `echo`, and the pieces of a message before it. */
function calling(deltas: readonly object[], call: object): ReturnType<typeof chat> {
  const whole = { index: 0, type: 'function', function: { name: 'echo', arguments: '{"command":"hi"}' }, ...call };
  const pieces = [...deltas, { tool_calls: [whole] }].map((delta) => ({ choices: [{ index: 0, delta }] }));
  return chat(...pieces, { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] });
}

const echo = 'capabilities: { shell: { allow: [echo] } }\n';

it('a call goes back to the provider with its id and with what it brought', async () => {
  const id = `call_1__thought__${'QUJD'.repeat(16_000)}`;
  const provider = await startFakeOpenAi([
    calling([{ reasoning_details: [{ type: 'reasoning.encrypted', data: 'AAAA', index: 0 }] }], {
      id,
      extra_content: { google: { thought_signature: 'U0lH' } },
    }),
    says('Done.'),
  ]);
  providers.push(provider);
  expect(await resultOf(asking(provider.endpoint, 'svc-driver-openai', echo))).toMatchObject({ answer: 'Done.' });
  expect(provider.requests[1]?.json).toMatchObject({
    messages: [
      { role: 'user' },
      {
        reasoning_details: [{ type: 'reasoning.encrypted', data: 'AAAA', index: 0 }],
        tool_calls: [{ id, extra_content: { google: { thought_signature: 'U0lH' } } }],
      },
      { role: 'tool', tool_call_id: id },
    ],
  });
});

const server = `
import { createInterface } from 'node:readline';
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'ids', version: '1' } } });
  if (method === 'tools/list') say({ id, result: { tools: [{ name: 'find', inputSchema: { type: 'object', properties: { id: { type: 'integer' } } } }] } });
  if (method === 'tools/call') say({ id, result: { content: [{ type: 'text', text: /"arguments":(\\{[^}]*\\})/.exec(line)[1] }] } });
});
`;

/** A capsule with an MCP server whose tool answers its arguments as they came. */
function withServer(endpoint: string, driver: string): Workspace {
  const workspace = asking(
    endpoint,
    driver,
    'artifacts: [{ name: ids, version: 1.0.0, source: ./ids }]\ncapabilities: { shell: { allow: [node] } }\n',
  );
  workspace.write('ids/server.mjs', server);
  workspace.write(
    'ids/svc.yaml',
    'name: ids\nversion: 1.0.0\nruntime: tool\nimplementation: mcp\ncommand: [node, ./server.mjs]\ndescription: Finds.\n',
  );
  return workspace;
}

const finds = (id: string, input: string): FakeStream => ({
  kind: 'stream',
  toolCalls: [{ id, name: 'ids__find', arguments: input }],
});

it.each([
  ['svc-driver-openai', startFakeOpenAi, '"arguments":"{\\"id\\":1234567890123456789}"'],
  ['svc-driver-anthropic', startFakeAnthropic, '"input":{"id":1234567890123456789}'],
] as const)(
  'a number of many digits reaches tool and conversation of %s as it is written',
  async (driver, start, sent) => {
    const provider = await start([
      finds('c1', '{"id":1234567890123456789}'),
      finds('c2', '{"id":1e400}'),
      says('Done.'),
    ]);
    providers.push(provider);
    expect(await resultOf(withServer(provider.endpoint, driver))).toMatchObject({ answer: 'Done.' });
    const [, second, third] = provider.requests.map(({ body }) => body);
    expect(second).toContain(sent);
    expect(second).toContain('{\\"id\\":1234567890123456789}\\n</untrusted-content>');
    expect(third).toContain('arguments.id is 1e400');
  },
);

it('a tool that the provider refuses is left out by name, and the task goes on without asking for it again', async () => {
  const provider = await startFakeOpenAi([
    refuses(400, "Invalid schema for function 'node': 'pattern' is not permitted."),
    calling([], { id: 'c1' }),
    says('Done.'),
  ]);
  providers.push(provider);
  const workspace = asking(
    provider.endpoint,
    'svc-driver-openai',
    'capabilities: { shell: { allow: [echo, node] } }\n',
  );
  const { stdout, stderr } = await pipedSvc(workspace, ['-p', 'Go', '--output', 'json']);
  expect(JSON.parse(stdout)).toMatchObject({ answer: 'Done.' });
  expect(stderr).toContain('warning[W-RUN-006]: the model goes on without the tool node, which its provider refuses:');
  const offered = provider.requests.map(({ body }) =>
    ['"name":"echo"', '"name":"node"'].map((name) => body.includes(name)),
  );
  expect(offered).toEqual([
    [true, true],
    [true, false],
    [true, false],
  ]);
});

describe('the result of a run', () => {
  it('says what the provider had in its cache', async () => {
    const openAi = await startFakeOpenAi([
      chat(
        { choices: [{ index: 0, delta: { content: 'Done.' }, finish_reason: 'stop' }] },
        {
          choices: [],
          usage: { prompt_tokens: 900, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 640 } },
        },
      ),
    ]);
    const anthropic = await startFakeAnthropic([
      messages(
        { type: 'message_start', message: { usage: { input_tokens: 10, cache_read_input_tokens: 800 } } } as never,
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } } as never,
        { type: 'message_stop' },
      ),
    ]);
    providers.push(openAi, anthropic);
    expect(await resultOf(asking(openAi.endpoint, 'svc-driver-openai'))).toMatchObject({
      usage: { input_tokens: 900, output_tokens: 5, cache_read_tokens: 640 },
    });
    expect(await resultOf(asking(anthropic.endpoint, 'svc-driver-anthropic'))).toMatchObject({
      usage: { input_tokens: 810, output_tokens: 4, cache_read_tokens: 800 },
    });
  });
});
