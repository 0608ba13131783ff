/** Makes the body of a request to the Chat Completions API, and reads the settings of its driver. */

import { argumentsText, textOf, ToolCallPairs, toolCallsIn } from '../conversation.ts';
import {
  anyBodyExcept,
  extraHeaders,
  numberBetween,
  oneOf,
  readDriverConfig,
  texts,
  wholeNumberBetween,
  withExtraBody,
  withExtraHeaders,
} from '../driver-config.ts';
import type { ConfigOf } from '../driver-config.ts';
import type { ContentBlock, DriverRequest, Message, ToolDefinition } from '../../driver.ts';
import type { PostRequest } from '../driver-ports.ts';
import { isOf } from '../companions.ts';
import { bodyWith, type EncodedConversation, type MessageEncoder } from '../kept-conversation.ts';
import { chatCompletions, providerUrl } from '../provider-url.ts';
import type { ToolNames } from '../tool-names.ts';
import type { JsonObject } from '../../json.ts';
import { companionsOf } from './reply-companions.ts';

const configKeys = {
  temperature: numberBetween(0, 2),
  top_p: numberBetween(0, 1),
  stop: texts,
  /** OpenAI's own models take the second spelling alone, most other servers the first alone. */
  max_tokens_field: oneOf('max_tokens', 'max_completion_tokens'),
  max_retries: wholeNumberBetween(0, 10),
  headers: extraHeaders,
  extra_body: anyBodyExcept(['messages', 'model', 'n', 'stream', 'tools']),
};

export type ChatConfig = ConfigOf<typeof configKeys>;

/** `inference.driver.config` of this driver; throws an `Error` naming a key that is unknown or wrong. */
export function readChatConfig(text: string): ChatConfig {
  return readDriverConfig(text, configKeys);
}

/** Messages as Chat Completions has them, one for one. What `giver` gave with a message goes back with it. */
export function chatMessages(names: ToolNames, giver: string): MessageEncoder {
  const pairs = new ToolCallPairs((content) => isOf(giver, content));
  let hasCalled = false;
  return {
    push: (messages) =>
      messages.map((message) => {
        if (message.tag === 'user') hasCalled = false;
        hasCalled ||= message.tag === 'assistant' && toolCallsIn(message.val).length > 0;
        const [paired = message] = pairs.pair([message]);
        return JSON.stringify(chatMessage(message, paired, { names, giver, hasCalled }));
      }),
    open: () => null,
  };
}

export interface ChatTurn {
  readonly conversation: EncodedConversation;
  readonly config: ChatConfig;
  readonly names: ToolNames;
}

/** The streaming Chat Completions request for one turn. */
export function chatRequest(request: DriverRequest, { conversation, config, names }: ChatTurn): PostRequest {
  const tokenLimit = config.max_tokens_field ?? tokenLimitField(request.endpoint);
  const rest = {
    model: request.model,
    stream: true,
    stream_options: { include_usage: true },
    [tokenLimit]: request.maxTokens,
    temperature: config.temperature,
    top_p: config.top_p,
    stop: config.stop,
    // An empty list is refused by some servers.
    tools: request.tools.length === 0 ? undefined : request.tools.map((tool) => chatTool(tool, names)),
  };
  const headers: [string, string][] = [
    ['content-type', 'application/json'],
    ['accept', 'text/event-stream'],
  ];
  if (request.apiKey !== null) headers.push(['authorization', `Bearer ${request.apiKey}`]);
  return {
    url: providerUrl(request.endpoint, chatCompletions),
    headers: withExtraHeaders(headers, config.headers),
    body: bodyWith(conversation, {
      before: systemMessage(request.system),
      rest: withExtraBody(rest, config.extra_body),
    }),
  };
}

function tokenLimitField(endpoint: string): 'max_tokens' | 'max_completion_tokens' {
  return /^https:\/\/api\.openai\.com(?=[:/]|$)/i.test(endpoint) ? 'max_completion_tokens' : 'max_tokens';
}

function systemMessage(system: string): readonly JsonObject[] {
  return system === '' ? [] : [{ role: 'system', content: system }];
}

interface MessagePlace {
  readonly names: ToolNames;
  readonly giver: string;
  /** Since the user spoke last. */
  readonly hasCalled: boolean;
}

/** `paired` is the message with the ids that it is sent with. */
function chatMessage(original: Message, paired: Message, place: MessagePlace): JsonObject {
  if (paired.tag === 'user') return { role: 'user', content: textOf(paired.val) };
  if (paired.tag === 'tool') {
    return { role: 'tool', tool_call_id: paired.val.toolCallId, content: textOf(paired.val.content) };
  }
  return assistantMessage(original.tag === 'assistant' ? original.val : [], paired.val, place);
}

function assistantMessage(
  original: readonly ContentBlock[],
  blocks: readonly ContentBlock[],
  { names, giver, hasCalled }: MessagePlace,
): JsonObject {
  const content = textOf(blocks);
  const given = companionsOf(original, giver);
  const ids = toolCallsIn(original).map(({ id }) => id);
  const calls = toolCallsIn(blocks).map((call, index) => {
    const companions = given.call(ids[index] ?? '');
    const text = argumentsText(call.input);
    const input = names.schema(call.name)?.toProvider(text) ?? text;
    const called = { name: names.toProvider(call.name), arguments: input, ...companions.function };
    return Object.assign({ id: call.id, type: 'function', function: called }, companions.call);
  });
  const message = { role: 'assistant', content, ...given.message(hasCalled) };
  return calls.length === 0 ? message : { ...message, content: content === '' ? null : content, tool_calls: calls };
}

function chatTool(tool: ToolDefinition, names: ToolNames): JsonObject {
  return {
    type: 'function',
    function: {
      name: names.toProvider(tool.name),
      description: tool.description,
      parameters: names.schema(tool.name)?.parameters,
    },
  };
}
