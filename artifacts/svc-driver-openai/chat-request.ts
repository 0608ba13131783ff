/** Makes the body of a request to the Chat Completions API, and reads the settings of its driver. */

import { argumentsText, parametersOf, textOf, ToolCallPairs, toolCallsIn } from '@svc/guest/provider/conversation.ts';
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
} from '@svc/guest/provider/driver-config.ts';
import type { ConfigOf } from '@svc/guest/provider/driver-config.ts';
import type { ContentBlock, DriverRequest, Message, ToolDefinition } from '@svc/guest/driver.ts';
import type { PostRequest } from '@svc/guest/http.ts';
import { bodyWith, type EncodedConversation, type MessageEncoder } from '@svc/guest/provider/kept-conversation.ts';
import { chatCompletions, providerUrl } from '@svc/guest/provider/provider-url.ts';
import type { ToolNames } from '@svc/guest/provider/tool-names.ts';
import type { JsonObject } from '@svc/guest/json.ts';

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

/** Messages as Chat Completions has them, one for one. */
export function chatMessages(names: ToolNames): MessageEncoder {
  const pairs = new ToolCallPairs();
  return {
    push: (messages) => pairs.pair(messages).map((message) => JSON.stringify(chatMessage(message, names))),
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

function chatMessage(message: Message, names: ToolNames): JsonObject {
  if (message.tag === 'user') return { role: 'user', content: textOf(message.val) };
  if (message.tag === 'assistant') return assistantMessage(message.val, names);
  return { role: 'tool', tool_call_id: message.val.toolCallId, content: textOf(message.val.content) };
}

function assistantMessage(blocks: readonly ContentBlock[], names: ToolNames): JsonObject {
  const content = textOf(blocks);
  const calls = toolCallsIn(blocks).map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: names.toProvider(call.name), arguments: argumentsText(call.input) },
  }));
  if (calls.length === 0) return { role: 'assistant', content };
  return { role: 'assistant', content: content === '' ? null : content, tool_calls: calls };
}

function chatTool(tool: ToolDefinition, names: ToolNames): JsonObject {
  return {
    type: 'function',
    function: { name: names.toProvider(tool.name), description: tool.description, parameters: parametersOf(tool) },
  };
}
