/** Makes the body of a request to the Messages API, and reads the settings of its driver. */

import {
  anyBodyExcept,
  extraHeaders,
  flag,
  numberBetween,
  readDriverConfig,
  texts,
  wholeNumberBetween,
  withExtraBody,
  withExtraHeaders,
} from '../driver-config.ts';
import type { ConfigOf } from '../driver-config.ts';
import type { DriverRequest } from '../../driver.ts';
import type { PostRequest } from '../driver-ports.ts';
import { bodyWith, type EncodedConversation } from '../kept-conversation.ts';
import { messages, providerUrl } from '../provider-url.ts';
import type { ToolNames } from '../tool-names.ts';
import type { JsonObject } from '../../json.ts';
import { cacheMark } from './messages-conversation.ts';

const minThinkingBudget = 1024;

const configKeys = {
  temperature: numberBetween(0, 1),
  top_p: numberBetween(0, 1),
  top_k: wholeNumberBetween(0, Number.MAX_SAFE_INTEGER),
  stop: texts,
  /** Tokens the model may think with; they count against `inference.max_tokens`. */
  thinking_budget: wholeNumberBetween(minThinkingBudget, Number.MAX_SAFE_INTEGER),
  /** Whether the provider is asked to keep tools, system prompt and conversation in its cache. */
  prompt_caching: flag,
  max_retries: wholeNumberBetween(0, 10),
  headers: extraHeaders,
  extra_body: anyBodyExcept(['messages', 'model', 'stream', 'tools']),
};

export type MessagesConfig = ConfigOf<typeof configKeys>;

/** `inference.driver.config` of this driver; throws an `Error` naming a key that is unknown or wrong. */
export function readMessagesConfig(text: string): MessagesConfig {
  return readDriverConfig(text, configKeys);
}

/** The places of a request that may end in a mark of the cache; the provider refuses a fifth mark. */
export interface CacheMarks {
  readonly tools: boolean;
  readonly system: boolean;
  /** How many of the latest turns of the user end in a mark. */
  readonly turns: number;
}

const maxMarks = 4;

/** The marks of a request: all that `extra_body` leaves room for, which may bring marks of its own. */
export function cacheMarks({ prompt_caching: isOn = true, extra_body: extra = {} }: MessagesConfig): CacheMarks {
  const given = JSON.stringify(extra).split('"cache_control":').length - 1;
  const left = isOn ? Math.max(0, maxMarks - given) : 0;
  // One at the top of the body stands for one at the latest turn.
  const turns = Object.hasOwn(extra, 'cache_control') ? 0 : Math.min(left, left > 2 ? 2 : 1);
  return { turns, system: left > turns, tools: left > turns + 1 };
}

export interface MessagesTurn {
  readonly conversation: EncodedConversation;
  readonly config: MessagesConfig;
  readonly names: ToolNames;
  readonly marks: CacheMarks;
}

/** The streaming Messages request for one turn. */
export function messagesRequest(request: DriverRequest, turn: MessagesTurn): PostRequest {
  const { conversation, config, marks } = turn;
  const rest = {
    model: request.model,
    max_tokens: request.maxTokens,
    system: systemOf(request.system, marks.system),
    stream: true,
    temperature: config.temperature,
    top_p: config.top_p,
    top_k: config.top_k,
    stop_sequences: typeof config.stop === 'string' ? [config.stop] : config.stop,
    thinking: thinkingOf(config.thinking_budget, request.maxTokens),
    tools: toolsOf(request, turn),
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

function systemOf(system: string, isMarked: boolean): string | readonly JsonObject[] | undefined {
  if (system === '') return undefined;
  // The server refuses a text that has only white space as a block.
  return isMarked && system.trim() !== '' ? [{ type: 'text', text: system, ...cacheMark }] : system;
}

function toolsOf({ tools }: DriverRequest, { names, marks }: MessagesTurn): readonly JsonObject[] | undefined {
  if (tools.length === 0) return undefined;
  return tools.map((tool, index) => ({
    name: names.toProvider(tool.name),
    description: tool.description,
    input_schema: names.schema(tool.name)?.parameters,
    ...(marks.tools && index === tools.length - 1 ? cacheMark : {}),
  }));
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
