import * as z from 'zod/mini';

import { issueClause } from '@svc/artifacts/manifest/schema-issues.ts';
import type { ContentBlock, InferenceRequest, InferenceResponse, Message } from './driver.ts';
import { asJsonObject, longestList } from '@svc/protocol/json-object.ts';
import { describeFirst } from './driver-lines.ts';

/** The JSON spelling of a request (docs/drivers.md "Requests and responses"), ready to be written. */
export function encodeDriverRequest(request: InferenceRequest): Readonly<Record<string, unknown>> {
  return {
    model: request.model,
    system: request.system,
    messages: request.messages.map(encodeMessage),
    tools: request.tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      input_schema: inputSchema,
    })),
    max_tokens: request.maxTokens,
    ...(request.continuationId === undefined ? {} : { continuation_id: request.continuationId }),
  };
}

/** Blocks are spelled the same inside and outside. */
function encodeMessage(message: Message): Readonly<Record<string, unknown>> {
  const { role, content } = message;
  if (role !== 'tool') return { role, content };
  return { role, tool_call_id: message.toolCallId, is_error: message.isError, content };
}

/** Keys that may be absent may also be null: many languages write them so. */
const optionalText = z.pipe(
  z.nullish(z.string()),
  z.transform((text) => text ?? undefined),
);

const contentBlock = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('thinking'), text: z.string(), signature: optionalText }),
  z.object({
    type: z.literal('tool_call'),
    id: optionalText,
    name: z.string(),
    input: z.unknown(),
  }),
]);

const tokenCount = z.int().check(z.minimum(0));

const driverResponse = z.object({
  content: z.array(contentBlock),
  stop_reason: z.string(),
  error: optionalText,
  usage: z.nullish(z.object({ input_tokens: tokenCount, output_tokens: tokenCount })),
  continuation_id: optionalText,
});

const driverLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('chunk'), text: z.string() }),
  z.object({ type: z.literal('thinking'), text: z.string() }),
  z.object({ type: z.literal('response'), response: driverResponse }),
]);

/** What a process driver writes in one line, in its default dialect. */
export type DriverLine =
  | { readonly kind: 'chunk'; readonly text: string }
  | { readonly kind: 'thinking'; readonly text: string }
  | { readonly kind: 'response'; readonly response: InferenceResponse }
  /** JSON, but not of the dialect. `problem` names the key: `response.stop_reason: …`. */
  | { readonly kind: 'wrong'; readonly problem: string };

/** Reads the parsed JSON of one line (docs/drivers.md "Requests and responses"). Unknown keys are passed over. */
export function decodeDriverLine(value: unknown): DriverLine {
  if (hasTooManyBlocks(value))
    return { kind: 'wrong', problem: `response.content has more than ${longestList} blocks` };
  const parsed = driverLine.safeParse(value, { error: issueClause });
  if (!parsed.success) return { kind: 'wrong', problem: describeFirst(parsed.error) };
  const line = parsed.data;
  if (line.type !== 'response') return { kind: line.type, text: line.text };
  return { kind: 'response', response: lowerResponse(line.response) };
}

/** The input of a call may hold any number of anything. */
function hasTooManyBlocks(line: unknown): boolean {
  const content = asJsonObject(asJsonObject(line)?.['response'])?.['content'];
  return Array.isArray(content) && content.length > longestList;
}

function lowerResponse(wire: z.infer<typeof driverResponse>): InferenceResponse {
  const { usage, error, continuation_id: continuationId } = wire;
  return {
    content: wire.content.map(lowerBlock),
    stopReason: wire.stop_reason,
    ...(error === undefined ? {} : { error }),
    ...(usage ? { usage: { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens } } : {}),
    ...(continuationId === undefined ? {} : { continuationId }),
  };
}

function lowerBlock(block: z.infer<typeof contentBlock>): ContentBlock {
  switch (block.type) {
    case 'text':
      return block;
    case 'thinking':
      return { type: 'thinking', text: block.text, ...(block.signature ? { signature: block.signature } : {}) };
    case 'tool_call':
      return { type: 'tool_call', id: block.id ?? '', name: block.name, input: block.input };
  }
}
