/** Makes the body of a request to the Messages API, and reads the settings of its driver. */

import { argumentsObject, parametersOf, textOf, ToolCallPairs } from '@svc/guest/provider/conversation.ts';
import {
  anyBodyExcept,
  extraHeaders,
  numberBetween,
  readDriverConfig,
  texts,
  wholeNumberBetween,
  withExtraBody,
  withExtraHeaders,
} from '@svc/guest/provider/driver-config.ts';
import type { ConfigOf } from '@svc/guest/provider/driver-config.ts';
import type { ContentBlock, DriverRequest, Message } from '@svc/guest/driver.ts';
import type { PostRequest } from '@svc/guest/http.ts';
import { bodyWith, type EncodedConversation, type MessageEncoder } from '@svc/guest/provider/kept-conversation.ts';
import { messages, providerUrl } from '@svc/guest/provider/provider-url.ts';
import type { ToolNames } from '@svc/guest/provider/tool-names.ts';
import type { JsonObject } from '@svc/guest/json.ts';
import { thinkingForProvider } from './thinking-signature.ts';

const leastThinkingBudget = 1024;

const configKeys = {
  temperature: numberBetween(0, 1),
  top_p: numberBetween(0, 1),
  top_k: wholeNumberBetween(0, Number.MAX_SAFE_INTEGER),
  stop: texts,
  /** Tokens the model may think with; they count against `inference.max_tokens`. */
  thinking_budget: wholeNumberBetween(leastThinkingBudget, Number.MAX_SAFE_INTEGER),
  max_retries: wholeNumberBetween(0, 10),
  headers: extraHeaders,
  extra_body: anyBodyExcept(['messages', 'model', 'stream', 'tools']),
};

export type MessagesConfig = ConfigOf<typeof configKeys>;

/** `inference.driver.config` of this driver; throws an `Error` naming a key that is unknown or wrong. */
export function readMessagesConfig(text: string): MessagesConfig {
  return readDriverConfig(text, configKeys);
}

export interface MessagesTurn {
  readonly conversation: EncodedConversation;
  readonly config: MessagesConfig;
  readonly names: ToolNames;
}

/** The streaming Messages request for one turn. */
export function messagesRequest(request: DriverRequest, { conversation, config, names }: MessagesTurn): PostRequest {
  const rest = {
    model: request.model,
    max_tokens: request.maxTokens,
    system: request.system === '' ? undefined : request.system,
    stream: true,
    temperature: config.temperature,
    top_p: config.top_p,
    top_k: config.top_k,
    stop_sequences: typeof config.stop === 'string' ? [config.stop] : config.stop,
    thinking: thinkingOf(config.thinking_budget, request.maxTokens),
    tools:
      request.tools.length === 0
        ? undefined
        : request.tools.map((tool) => ({
            name: names.toProvider(tool.name),
            description: tool.description,
            input_schema: parametersOf(tool),
          })),
  };
  const headers: [string, string][] = [
    ['content-type', 'application/json'],
    ['accept', 'text/event-stream'],
    ['anthropic-version', '2023-06-01'],
  ];
  if (request.apiKey !== null) headers.push(['x-api-key', request.apiKey]);
  return {
    url: providerUrl(request.endpoint, messages),
    headers: withExtraHeaders(headers, config.headers),
    body: bodyWith(conversation, { before: [], rest: withExtraBody(rest, config.extra_body) }),
  };
}

function thinkingOf(budget: number | undefined, maxTokens: number): JsonObject | undefined {
  if (budget === undefined) return undefined;
  if (budget >= maxTokens) {
    throw new Error(
      `inference.driver.config.thinking_budget must be below inference.max_tokens, which is ${maxTokens}`,
    );
  }
  return { type: 'enabled', budget_tokens: budget };
}

interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: JsonObject[];
}

/** Messages as the Messages API has them. Neighbours of one role share one: the results of one turn's calls have to come back together. */
export function mergedTurns(names: ToolNames): MessageEncoder {
  const pairs = new ToolCallPairs();
  let last: Turn | null = null;
  return {
    push: (messages) => {
      const closed: string[] = [];
      for (const message of pairs.pair(messages)) {
        const role = message.tag === 'assistant' ? 'assistant' : 'user';
        const content = blocksOf(message, names);
        if (last?.role === role) last.content.push(...content);
        else if (content.length > 0) {
          if (last !== null) closed.push(JSON.stringify(last));
          last = { role, content: [...content] };
        }
      }
      return closed;
    },
    open: () => (last === null ? null : JSON.stringify(last)),
  };
}

function blocksOf(message: Message, names: ToolNames): readonly JsonObject[] {
  if (message.tag !== 'tool') {
    return message.val.map((block) => blockForProvider(block, names)).filter((block) => block !== null);
  }
  const { toolCallId, isError, content } = message.val;
  return [
    {
      type: 'tool_result',
      tool_use_id: toolCallId,
      content: textOf(content),
      ...(isError ? { is_error: true } : {}),
    },
  ];
}

function blockForProvider(block: ContentBlock, names: ToolNames): JsonObject | null {
  if (block.tag === 'thinking') return thinkingForProvider(block.val);
  if (block.tag === 'tool-call') {
    const { id, name, input } = block.val;
    return { type: 'tool_use', id, name: names.toProvider(name), input: argumentsObject(input) };
  }
  // A text of nothing but white space is refused.
  return block.val.trim() === '' ? null : { type: 'text', text: block.val };
}
