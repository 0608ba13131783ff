import * as z from 'zod/mini';

import { holdsFewItems } from '@svc/protocol/bounded-lists.ts';
import type { InferenceRequest, InferenceResponse } from './driver.ts';
import { contentBlock, decodeBlock, encodeMessage, toCount } from './wit-messages.ts';

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
const mostTokens = 2 ** 31 - 1;

/** A request as the record that `svc:driver/inference` takes. */
export function encodeWitRequest(request: InferenceRequest, surroundings: DriverSurroundings): object {
  return {
    model: request.model,
    endpoint: surroundings.endpoint,
    apiKey: surroundings.apiKeyPlaceholder,
    config: JSON.stringify(surroundings.config),
    system: request.system,
    messages: request.messages.map(encodeMessage),
    tools: request.tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema: JSON.stringify(inputSchema),
    })),
    maxTokens: Math.min(request.maxTokens, mostTokens),
    continuationId: request.continuationId,
  };
}

const stopReason = z.lazy(() =>
  z.discriminatedUnion('tag', [
    z.object({ tag: z.literal('end-turn') }),
    z.object({ tag: z.literal('max-tokens') }),
    z.object({ tag: z.literal('tool-call') }),
    z.object({ tag: z.literal('error'), val: z.string() }),
    z.object({ tag: z.literal('other'), val: z.string() }),
  ]),
);

const tokens = z.lazy(() => z.bigint().check(z.gte(0n)));

const response = z.lazy(() =>
  z.object({
    content: z.array(contentBlock),
    stopReason,
    usage: z.nullish(z.object({ inputTokens: tokens, outputTokens: tokens })),
    continuationId: z.nullish(z.string()),
  }),
);

/** A `response` record; null when the value is none. */
export function decodeWitResponse(value: unknown): InferenceResponse | null {
  if (!holdsFewItems(value)) return null;
  const parsed = response.safeParse(value);
  if (!parsed.success) return null;
  const { content, usage, continuationId } = parsed.data;
  return {
    content: content.map(decodeBlock),
    ...decodeStopReason(parsed.data.stopReason),
    ...(usage ? { usage: { inputTokens: toCount(usage.inputTokens), outputTokens: toCount(usage.outputTokens) } } : {}),
    ...(typeof continuationId === 'string' ? { continuationId } : {}),
  };
}

function decodeStopReason(reason: z.infer<typeof stopReason>): Pick<InferenceResponse, 'stopReason' | 'error'> {
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
