import * as z from 'zod/mini';

import { parseJsonText } from '@svc/protocol/json-text.ts';
import type { ContentBlock, Message } from './driver.ts';

/** Conversations as the types of `svc:driver/types` spell them, for drivers and hooks alike (packages/guest/wit/deps/svc-driver). */

export type Variant = { readonly tag: string; readonly val?: unknown };

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
      return { tag: 'thinking', val: { text: block.text, signature: block.signature } };
    case 'tool_call':
      return { tag: 'tool-call', val: { id: block.id, name: block.name, input: inputText(block.input) } };
  }
}

/** Text stands for arguments that were no JSON object, and goes back as it came. */
function inputText(input: unknown): string {
  return typeof input === 'string' ? input : JSON.stringify(input ?? {});
}

export const contentBlock = z.lazy(() =>
  z.discriminatedUnion('tag', [
    z.object({ tag: z.literal('text'), val: z.string() }),
    z.object({ tag: z.literal('thinking'), val: z.object({ text: z.string(), signature: z.nullish(z.string()) }) }),
    z.object({ tag: z.literal('tool-call'), val: z.object({ id: z.string(), name: z.string(), input: z.string() }) }),
  ]),
);

const toolResult = z.lazy(() =>
  z.object({ toolCallId: z.string(), isError: z.boolean(), content: z.array(contentBlock) }),
);

export const message = z.lazy(() =>
  z.discriminatedUnion('tag', [
    z.object({ tag: z.literal('user'), val: z.array(contentBlock) }),
    z.object({ tag: z.literal('assistant'), val: z.array(contentBlock) }),
    z.object({ tag: z.literal('tool'), val: toolResult }),
  ]),
);

export function decodeMessage(value: z.infer<typeof message>): Message {
  if (value.tag !== 'tool') return { role: value.tag, content: value.val.map(decodeBlock) };
  const { toolCallId, isError, content } = value.val;
  return { role: 'tool', toolCallId, isError, content: content.map(decodeBlock) };
}

export function decodeBlock(block: z.infer<typeof contentBlock>): ContentBlock {
  switch (block.tag) {
    case 'text':
      return { type: 'text', text: block.val };
    case 'thinking': {
      const { text, signature } = block.val;
      return { type: 'thinking', text, ...(typeof signature === 'string' ? { signature } : {}) };
    }
    case 'tool-call':
      return { type: 'tool_call', id: block.val.id, name: block.val.name, input: parseInput(block.val.input) };
  }
}

/** Of one call. Of more, as of what is no JSON, the text itself is the input, which no tool takes. */
const mostInputValues = 262_144;

function parseInput(text: string): unknown {
  const json = parseJsonText(text, mostInputValues);
  return json.kind === 'json' && typeof json.value !== 'string' ? json.value : text;
}

/** A `u64` as a number; one that is too large for it is the largest. */
export function toCount(value: bigint): number {
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
}
