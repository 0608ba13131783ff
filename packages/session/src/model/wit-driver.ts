/** Turns requests and responses of drivers into the records of their WIT interface and back. */

import {
  type Guarded,
  isAnything,
  isFlag,
  isListOf,
  isObjectOf,
  isText,
  isVariantOf,
  orNothing,
} from '@svc/kit/guards.ts';
import { exactJson, withDigits } from '@svc/kit/exact-json.ts';
import { holdsFewItems } from '@svc/protocol/json-object.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import type { InferenceRequest, InferenceResponse, ContentBlock, Message, ToolCallBlock } from './driver.ts';

/** What the runtime adds to a request for a component (wit/driver.wit, record `request`). */
export interface DriverSurroundings {
  /** `inference.endpoint` without a trailing slash; empty when the manifest names none. */
  readonly endpoint: string;
  /** Stands for the provider key; absent when the manifest declares none. */
  readonly apiKeyPlaceholder: string | undefined;
  /** `inference.driver.config`. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** The parameter is a u32, but guests exist that read its upper half as negative. */
const maxTokens = 2 ** 31 - 1;

/** A request as the record that `svc:driver/inference` takes. */
export function encodeWitRequest(request: InferenceRequest, surroundings: DriverSurroundings): object {
  return {
    model: request.model,
    endpoint: surroundings.endpoint,
    apiKey: surroundings.apiKeyPlaceholder ?? null,
    config: JSON.stringify(surroundings.config),
    system: request.system,
    messages: request.messages.map(encodeMessage),
    tools: request.tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema: JSON.stringify(inputSchema),
    })),
    maxTokens: Math.min(request.maxTokens, maxTokens),
    continuationId: request.continuationId ?? null,
  };
}

const isContentBlock = isVariantOf({
  text: isText,
  thinking: isObjectOf({ text: isText, signature: orNothing(isText) }),
  'tool-call': isObjectOf({ id: isText, name: isText, input: isText }),
});

const isContent = isListOf(isContentBlock);

const isStopReason = isVariantOf({
  'end-turn': isAnything,
  'max-tokens': isAnything,
  'tool-call': isAnything,
  error: isText,
  other: isText,
});

const isTokens = (value: unknown): value is bigint => typeof value === 'bigint' && value >= 0n;

const isResponse = isObjectOf({
  content: isContent,
  stopReason: isStopReason,
  usage: orNothing(isObjectOf({ inputTokens: isTokens, outputTokens: isTokens })),
  continuationId: orNothing(isText),
});

/** Reads a `response` record; null for a value that is not one. */
export function decodeWitResponse(value: unknown): InferenceResponse | null {
  if (!holdsFewItems(value) || !isResponse(value)) return null;
  const { content, usage, continuationId } = value;
  return {
    content: content.map(decodeBlock),
    ...decodeStopReason(value.stopReason),
    ...(usage ? { usage: { inputTokens: toCount(usage.inputTokens), outputTokens: toCount(usage.outputTokens) } } : {}),
    ...(typeof continuationId === 'string' ? { continuationId } : {}),
  };
}

function decodeStopReason(reason: Guarded<typeof isStopReason>): Pick<InferenceResponse, 'stopReason' | 'error'> {
  switch (reason.tag) {
    case 'end-turn':
      return { stopReason: 'end_turn' };
    case 'max-tokens':
      return { stopReason: 'max_tokens' };
    case 'tool-call':
      return { stopReason: 'tool_call' };
    case 'error':
      return { stopReason: 'error', error: reason.val };
    case 'other':
      // The name of a reason this world does not know must not pass for one that it knows.
      return { stopReason: `other: ${reason.val}` };
  }
}

/** Conversations as the types of `svc:driver/types` spell them, for drivers and hooks alike (packages/guest/wit/deps/svc-driver). */
type Variant = { readonly tag: string; readonly val?: unknown };

export function encodeMessage(message: Message): Variant {
  const content = message.content.map(encodeBlock);
  if (message.role !== 'tool') return { tag: message.role, val: content };
  return { tag: 'tool', val: { toolCallId: message.toolCallId, isError: message.isError, content } };
}

export function encodeBlock(block: ContentBlock): Variant {
  switch (block.type) {
    case 'text':
      return { tag: 'text', val: block.text };
    case 'thinking':
      return { tag: 'thinking', val: { text: block.text, signature: block.signature ?? null } };
    case 'tool_call':
      return { tag: 'tool-call', val: { id: block.id, name: block.name, input: inputText(block) } };
  }
}

/** Text stands for arguments that were no JSON object, and goes back as it came. */
function inputText({ input, digits }: ToolCallBlock): string {
  if (typeof input === 'string') return input;
  return digits === undefined ? JSON.stringify(input ?? {}) : withDigits(input, digits);
}

/** A message of a conversation as `svc:driver/types` spells it. */
export const isWitMessage = isVariantOf({
  user: isContent,
  assistant: isContent,
  tool: isObjectOf({ toolCallId: isText, isError: isFlag, content: isContent }),
});

export function decodeMessage(value: Guarded<typeof isWitMessage>): Message {
  if (value.tag !== 'tool') return { role: value.tag, content: value.val.map(decodeBlock) };
  const { toolCallId, isError, content } = value.val;
  return { role: 'tool', toolCallId, isError, content: content.map(decodeBlock) };
}

function decodeBlock(block: Guarded<typeof isContentBlock>): ContentBlock {
  switch (block.tag) {
    case 'text':
      return { type: 'text', text: block.val };
    case 'thinking': {
      const { text, signature } = block.val;
      return { type: 'thinking', text, ...(typeof signature === 'string' ? { signature } : {}) };
    }
    case 'tool-call':
      return { type: 'tool_call', id: block.val.id, name: block.val.name, ...parseInput(block.val.input) };
  }
}

/** How many values the input of one call may hold. With more, as with text that is not JSON, the text itself is the input, which no tool takes. */
const maxInputValues = 262_144;

function parseInput(text: string): Pick<ToolCallBlock, 'input' | 'digits'> {
  const json = parseJsonText(text, maxInputValues);
  if (json.kind !== 'json' || typeof json.value === 'string') return { input: text };
  const exact = exactJson(text);
  return exact === null ? { input: json.value } : { input: exact.value, digits: exact.digits };
}

/** A `u64` as a number; one that is too large for it is the largest. */
function toCount(value: bigint): number {
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
}
