/** A model provider that plays a script in the words of the Anthropic API. */

import {
  FakeProvider,
  type FakeProviderOptions,
  type ProviderProtocol,
  isRecord,
  recordsIn,
  type JsonRecord,
} from './fake-provider.ts';
import { argumentPieces, type FakeReply, type FakeStream } from './fake-reply.ts';

/**
 * A Messages server. Beside the wire format it keeps the rules that the real one refuses a request for: `max_tokens` given,
 * the first message from the user, no blank texts, signed thinking, and the results of all tool calls in the next message.
 */
export async function startFakeAnthropic(
  replies: readonly FakeReply[],
  options: FakeProviderOptions = {},
): Promise<FakeProvider> {
  return await FakeProvider.start(protocol, replies, options);
}

const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
};

const protocol: ProviderProtocol = {
  path: '/v1/messages',
  keyHeader: { name: 'x-api-key', value: (key) => key },
  bodyFault,
  errorBody: (status, message) =>
    JSON.stringify({ type: 'error', error: { type: errorTypes[status] ?? 'api_error', message }, request_id: 'req_1' }),
  events: (reply) => eventsOf(reply).map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
};

interface Event {
  readonly type: string;
  readonly [key: string]: unknown;
}

function eventsOf(reply: FakeStream): readonly Event[] {
  const finish = reply.finish === undefined ? (reply.toolCalls === undefined ? 'end_turn' : 'tool_use') : reply.finish;
  const usage = reply.usage === undefined ? { input: 10, output: 5 } : reply.usage;
  const blocks = blocksOf(reply).flatMap(blockEvents);
  const [opening, ...rest] = blocks;
  return [
    messageStart(usage?.input),
    ...(opening === undefined ? [] : [opening]),
    { type: 'ping' },
    ...rest,
    ...(finish === null
      ? []
      : [
          {
            type: 'message_delta',
            delta: { stop_reason: finish, stop_sequence: null },
            ...(usage === null ? {} : { usage: { output_tokens: usage.output } }),
          },
          { type: 'message_stop' },
        ]),
  ];
}

function messageStart(inputTokens: number | undefined): Event {
  const usage = inputTokens === undefined ? {} : { usage: { input_tokens: inputTokens, output_tokens: 1 } };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'fake', content: [], stop_reason: null };
  return { type: 'message_start', message: { ...message, ...usage } };
}

interface Block {
  readonly start: object;
  readonly deltas: readonly object[];
}

function blockEvents({ start, deltas }: Block, index: number): readonly Event[] {
  const pieces = deltas.map((delta) => ({ type: 'content_block_delta', index, delta }));
  return [
    { type: 'content_block_start', index, content_block: start },
    ...pieces,
    { type: 'content_block_stop', index },
  ];
}

function blocksOf(reply: FakeStream): readonly Block[] {
  const blocks: Block[] = [];
  if (reply.thinking !== undefined) {
    const signed = [{ type: 'signature_delta', signature: reply.signature ?? 'c2lnbmVk' }];
    blocks.push({
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [...reply.thinking.map((thinking) => ({ type: 'thinking_delta', thinking })), ...signed],
    });
  }
  if (reply.text !== undefined) {
    blocks.push({
      start: { type: 'text', text: '' },
      deltas: reply.text.map((text) => ({ type: 'text_delta', text })),
    });
  }
  for (const call of reply.toolCalls ?? []) {
    blocks.push({
      start: { type: 'tool_use', id: call.id ?? '', name: call.name, input: {} },
      deltas: argumentPieces(call).map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
    });
  }
  return blocks;
}

function bodyFault(body: unknown): string | null {
  if (!isRecord(body)) return 'the body is not a JSON object';
  if (typeof body['model'] !== 'string' || body['model'] === '') return 'model: Field required';
  if (!Number.isInteger(body['max_tokens'])) return 'max_tokens: Field required';
  if (body['stream'] !== true) return 'this server streams only';
  const messages = recordsIn(body['messages']);
  if (messages[0]?.['role'] !== 'user') return 'messages: first message must use the "user" role';
  return messages.map((_, index) => messageFault(messages, index)).find((fault) => fault !== null) ?? null;
}

function messageFault(messages: readonly JsonRecord[], index: number): string | null {
  const blocks = recordsIn(messages[index]?.['content']);
  if (blocks.length === 0) return `messages.${index}: content must not be empty`;
  const calls = blocks.filter((block) => block['type'] === 'tool_use').map((block) => block['id']);
  const results = recordsIn(messages[index + 1]?.['content']).filter((block) => block['type'] === 'tool_result');
  const answered = new Set(results.map((block) => block['tool_use_id']));
  const missing = calls.filter((id) => !answered.has(id));
  if (missing.length > 0)
    return `messages.${index}: tool_use ids were found without tool_result blocks: ${missing.join(', ')}`;
  return blocks.map((block) => blockFault(block, index)).find((fault) => fault !== null) ?? null;
}

function blockFault(block: JsonRecord, index: number): string | null {
  switch (block['type']) {
    case 'text':
      return String(block['text']).trim() === ''
        ? `messages.${index}: text content blocks must contain non-whitespace text`
        : null;
    case 'thinking':
      return typeof block['signature'] === 'string' && block['signature'] !== ''
        ? null
        : `messages.${index}: thinking.signature: Field required`;
    case 'tool_use':
      return isRecord(block['input']) ? null : `messages.${index}: tool_use.input: Input should be a valid dictionary`;
    default:
      return null;
  }
}
