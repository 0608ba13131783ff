/** Makes a driver of the model provider of a program. */

import * as z from 'zod';

import { issueClause } from '@svc/artifacts/manifest/schema-issues.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import { maxList } from '@svc/protocol/json-object.ts';
import {
  type Driver,
  type DriverOutcome,
  type InferenceCall,
  type InferenceRequest,
  redactedOutcome,
} from '@svc/session/model/driver.ts';
import { describeFirst, maxLineBytes } from '@svc/session/model/driver-lines.ts';
import type { InferenceResponse, ModelProvider } from './requests.ts';

/** As of a driver that is a program. */
const maxValues = 262_144;

const contentBlock = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('thinking'), text: z.string(), signature: z.string().optional() }),
  z.object({ type: z.literal('tool_call'), id: z.string(), name: z.string(), input: z.unknown().default({}) }),
]);

const tokenCount = z.int().min(0);

/** Keys that it does not know are passed over. */
const response = z.object({
  content: z.array(contentBlock).max(maxList),
  stopReason: z.enum(['end_turn', 'max_tokens', 'tool_call', 'error']),
  error: z.string().optional(),
  usage: z
    .object({
      inputTokens: tokenCount,
      outputTokens: tokenCount,
      cacheReadTokens: tokenCount.optional(),
      cacheWriteTokens: tokenCount.optional(),
    })
    .optional(),
});

const answered = z.object({ response });

const canceled: DriverOutcome = { kind: 'failed', error: 'the inference call was canceled' };

/**
 * The driver behind a provider: whatever that does, a call comes to an outcome, and soon after its signal was aborted. The answer is copied as JSON,
 * so that it does not change later. As with a driver of the manifest, what the provider shows once its call is over is passed over.
 */
export function providedDriver(provider: ModelProvider, redact: (text: string) => string): Driver {
  const ask = async (request: InferenceRequest, call: InferenceCall): Promise<DriverOutcome> =>
    redactedOutcome(await outcomeOf(provider, request, call), redact);
  return {
    label: provider.name ?? 'provider',
    openTask: () => ({ infer: ask, close: async () => {} }),
    close: async () => {},
  };
}

async function outcomeOf(
  provider: ModelProvider,
  request: InferenceRequest,
  call: InferenceCall,
): Promise<DriverOutcome> {
  const { signal } = call;
  if (signal.aborted) return canceled;
  let isOpen = true;
  let onAbort = (): void => {};
  const whenAborted = new Promise<DriverOutcome>((resolve) => (onAbort = () => resolve(canceled)));
  signal.addEventListener('abort', onAbort, { once: true });
  const show = (tell: (text: string) => void, text: unknown): void => {
    if (isOpen && typeof text === 'string') tell(text);
  };
  const { model, system, messages, tools, maxTokens } = request;
  const asked = async (): Promise<DriverOutcome> => {
    const answer: unknown = await provider.infer({
      ...structuredClone({ model, system, messages, tools, maxTokens }),
      signal,
      onText: (text) => show(call.onText, text),
      onThinking: (text) => show(call.onThinking, text),
    });
    return answerOutcome(answer);
  };
  try {
    return await Promise.race([asked().catch(failureOf), whenAborted]);
  } finally {
    isOpen = false;
    signal.removeEventListener('abort', onAbort);
  }
}

/** Whatever the provider threw. */
function failureOf(error: unknown): DriverOutcome {
  return { kind: 'failed', error: `the model provider failed: ${wordsOf(error)}` };
}

function wordsOf(error: unknown): string {
  if (error instanceof Error && error.message !== '') return error.message;
  try {
    return String(error);
  } catch {
    // An object that cannot be converted to text.
    return 'it threw no error';
  }
}

function answerOutcome(answer: unknown): DriverOutcome {
  const reading = asJson(answer);
  if (typeof reading === 'string') return malformed(reading);
  const parsed = answered.safeParse({ response: reading.value }, { error: issueClause });
  if (!parsed.success) return malformed(describeFirst(parsed.error));
  // What comes of JSON has no key without a value.
  return { kind: 'response', response: parsed.data.response as InferenceResponse };
}

function malformed(problem: string): DriverOutcome {
  return { kind: 'failed', error: `the model provider gave an answer of another shape: ${problem}` };
}

/** What of an answer JSON can carry; a text says why nothing can. */
function asJson(answer: unknown): { readonly value: unknown } | string {
  const text = jsonTextOf(answer);
  if (text === null) return 'response must be JSON';
  if (text.length > maxLineBytes) return `response has more than ${maxLineBytes} characters`;
  const json = parseJsonText(text, maxValues);
  if (json.kind === 'json') return { value: json.value };
  if (json.kind === 'too-many') return `response has more than ${maxValues} values`;
  return 'response is nested too deeply';
}

/** Returns null for what cannot be written as JSON: nothing at all, a circle, a number beyond all sizes. */
function jsonTextOf(answer: unknown): string | null {
  try {
    return JSON.stringify(answer) ?? null;
  } catch {
    // A circle, a BigInt, or an accessor or `toJSON` of the answer that throws.
    return null;
  }
}
