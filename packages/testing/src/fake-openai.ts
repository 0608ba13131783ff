/** A model provider that plays a script in the words of the OpenAI API. */

import { FakeProvider, type FakeProviderOptions, type ProviderProtocol, isRecord, recordsIn } from './fake-provider.ts';
import { argumentPieces, type FakeReply, type FakeStream, type FakeToolCall } from './fake-reply.ts';

/**
 * A Chat Completions server. Beside the wire format it keeps the rules that the real one refuses a request for: `stream` on,
 * known roles, no empty list of tools, and one result for each tool call right behind the message that holds it.
 */
export async function startFakeOpenAi(
  replies: readonly FakeReply[],
  options: FakeProviderOptions = {},
): Promise<FakeProvider> {
  return await FakeProvider.start(chatCompletions, replies, options);
}

/** The wire form of Chat Completions, which other servers have beside their own. */
export const chatCompletions: ProviderProtocol = {
  path: '/v1/chat/completions',
  keyHeader: { name: 'authorization', value: (key) => `Bearer ${key}` },
  bodyFault,
  errorBody: (status, message) =>
    JSON.stringify({
      error: { message, type: status >= 500 ? 'server_error' : 'invalid_request_error', param: null, code: null },
    }),
  events: (reply) => [...chunksOf(reply).map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), ...end(reply)],
};

function end(reply: FakeStream): readonly string[] {
  return reply.finish === null ? [] : ['data: [DONE]\n\n'];
}

function chunksOf(reply: FakeStream): readonly object[] {
  const delta = (value: object): object => chunk([{ index: 0, delta: value, finish_reason: null }]);
  const finish = reply.finish === undefined ? (reply.toolCalls === undefined ? 'stop' : 'tool_calls') : reply.finish;
  const usage = reply.usage === undefined ? { input: 10, output: 5 } : reply.usage;
  return [
    delta({ role: 'assistant', content: '' }),
    ...(reply.thinking ?? []).map((text) => delta({ reasoning_content: text })),
    ...(reply.text ?? []).map((text) => delta({ content: text })),
    ...(reply.toolCalls ?? []).flatMap(callPieces).map((piece) => delta({ tool_calls: [piece] })),
    ...(finish === null ? [] : [chunk([{ index: 0, delta: {}, finish_reason: finish }])]),
    ...(usage === null ? [] : [{ ...chunk([]), usage: usageOf(usage.input, usage.output) }]),
  ];
}

function callPieces(call: FakeToolCall, index: number): readonly object[] {
  const [first = '', ...rest] = argumentPieces(call);
  const id = call.id === null ? {} : { id: call.id };
  const opening = { index, ...id, type: 'function', function: { name: call.name, arguments: first } };
  return [opening, ...rest.map((piece) => ({ index, function: { arguments: piece } }))];
}

function chunk(choices: readonly object[]): object {
  return { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_760_000_000, model: 'fake', choices };
}

function usageOf(input: number, output: number): object {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function bodyFault(body: unknown): string | null {
  if (!isRecord(body)) return 'the body is not a JSON object';
  if (typeof body['model'] !== 'string' || body['model'] === '') return 'you must provide a model parameter';
  if (body['stream'] !== true) return 'this server streams only';
  if (Array.isArray(body['tools']) && body['tools'].length === 0) return "[] is too short - 'tools'";
  const messages = recordsIn(body['messages']);
  if (messages.length === 0) return "[] is too short - 'messages'";
  return messagesFault(messages);
}

function messagesFault(messages: readonly Readonly<Record<string, unknown>>[]): string | null {
  let owed: unknown[] = [];
  for (const [index, message] of messages.entries()) {
    if (message['role'] === 'tool') {
      if (!owed.includes(message['tool_call_id'])) return `messages[${index}] answers no tool call`;
      owed = owed.filter((id) => id !== message['tool_call_id']);
      continue;
    }
    if (owed.length > 0) return `tool calls without a result: ${owed.join(', ')}`;
    if (!['system', 'user', 'assistant'].includes(String(message['role'])))
      return `messages[${index}] has no known role`;
    owed = recordsIn(message['tool_calls']).map((call) => call['id']);
  }
  return owed.length > 0 ? `tool calls without a result: ${owed.join(', ')}` : null;
}
