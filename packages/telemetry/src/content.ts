/** Makes attributes of prompts, answers, arguments and results, for operators who ask for them (docs/telemetry.md "Content"). */

import { toUSVString } from 'node:util';

import type { ContentBlock, InferenceRequest, InferenceResponse, Message } from '@svc/session/model/driver.ts';
import { attributes as names } from './genai-names.ts';
import { type Attribute, AttributeList } from './otlp-records.ts';

/** One attribute, in characters. */
export const maxContent: number = 64 * 1024;
/** Longer than any secret: what is cut off before it is searched for them may begin with the rest of one. */
const maxSecret = 512 * 1024;
/** In the tail of a conversation. */
const maxMessages = 1000;

type Redact = (text: string) => string;

/** For one inference; `response` is null if it had none. */
export function inferenceContent(
  request: Pick<InferenceRequest, 'system' | 'messages'>,
  response: Pick<InferenceResponse, 'content' | 'stopReason'> | null,
  redact: Redact,
): readonly Attribute[] {
  const system = [{ type: 'text', content: cut(request.system, redact) }];
  const answer = response === null ? null : answerOf(response, redact);
  return new AttributeList()
    .add(names.systemInstructions, request.system === '' ? null : JSON.stringify(system))
    .add(names.inputMessages, fitting(request.messages, redact))
    .add(names.outputMessages, answer === null ? null : JSON.stringify([answer])).list;
}

/** For one call. `result` is what the tool said; null where only its arguments are known. */
export function callContent(args: unknown, result: string | null, redact: Redact): readonly Attribute[] {
  const given = JSON.stringify(args) ?? 'null';
  return new AttributeList()
    .add(names.toolArguments, cut(given, redact))
    .add(names.toolResult, result === null ? null : cut(result, redact)).list;
}

/** The last messages of a conversation, as many as fit: whole, except the last of them. */
function fitting(messages: readonly Message[], redact: Redact): string {
  const kept: string[] = [];
  let length = 2;
  for (const message of messages.slice(-maxMessages).toReversed()) {
    const json = JSON.stringify(messageOf(message, redact));
    if (kept.length > 0 && length + json.length >= maxContent) break;
    kept.push(json);
    length += json.length + 1;
  }
  return `[${kept.toReversed().join(',')}]`;
}

function messageOf(message: Message, redact: Redact): object {
  const { role, content } = message;
  if (role !== 'tool') return { role, parts: partsOf(content, redact) };
  const response = content.map((block) => (block.type === 'tool_call' ? '' : block.text)).join('');
  return {
    role,
    parts: [{ type: 'tool_call_response', id: message.toolCallId, response: cut(response, redact) }],
  };
}

function answerOf({ content, stopReason }: Pick<InferenceResponse, 'content' | 'stopReason'>, redact: Redact): object {
  return { role: 'assistant', parts: partsOf(content, redact), finish_reason: redact(stopReason).slice(0, 256) };
}

function partsOf(content: readonly ContentBlock[], redact: Redact): readonly object[] {
  return content.slice(0, maxMessages).map((block) => {
    switch (block.type) {
      case 'text':
        return { type: 'text', content: cut(block.text, redact) };
      case 'thinking':
        return { type: 'reasoning', content: cut(block.text, redact) };
      case 'tool_call': {
        const given = cut(JSON.stringify(block.input) ?? 'null', redact);
        return { type: 'tool_call', id: redact(block.id), name: redact(block.name), arguments: parsed(given) };
      }
    }
  });
}

/** What was cut, or redacted, into something else than JSON stays the text that it is. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

function cut(text: string, redact: Redact): string {
  return toUSVString(redact(text.slice(0, maxContent + maxSecret)).slice(0, maxContent));
}
