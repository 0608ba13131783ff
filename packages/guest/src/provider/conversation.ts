/** Brings a recorded conversation into the form that providers take back. */

import type { ContentBlock, Message, ToolCallBlock, ToolDefinition } from '../driver.ts';
import { isObject, parseJson, type JsonObject } from '../json.ts';

const acceptedId = /^[A-Za-z0-9_-]{1,64}$/;

/** The text blocks joined by newlines; other blocks count for nothing. */
export function textOf(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.tag === 'text' ? [block.val] : [])).join('\n');
}

export function toolCallsIn(content: readonly ContentBlock[]): readonly ToolCallBlock[] {
  return content.flatMap((block) => (block.tag === 'tool-call' ? [block.val] : []));
}

/**
 * The arguments of a recorded call as JSON text of an object, which is all that providers take back: as the model wrote them, for a parser would
 * round large numbers. What it wrote instead of an object is kept under `invalid_arguments`, so that it can see its mistake.
 */
export function argumentsText(input: string): string {
  const text = input.trim() === '' ? '{}' : input;
  const value = parseJson(text);
  if (isObject(value)) return text;
  return `{"invalid_arguments":${value === undefined ? JSON.stringify(input) : text}}`;
}

/** The schema of a tool's arguments; a tool without one takes none. */
export function parametersOf(tool: ToolDefinition): JsonObject {
  const schema = parseJson(tool.inputSchema);
  return { type: 'object', properties: {}, ...(isObject(schema) ? schema : {}) };
}

/**
 * Puts an id on every tool call and the same id on its result. Some servers give no ids, or ones that another provider refuses; such
 * calls are numbered through the conversation, and results are matched to them in order.
 */
export class ToolCallPairs {
  #given = 0;
  readonly #open: { readonly original: string; readonly id: string }[] = [];

  /** The next messages of the conversation. */
  pair(messages: readonly Message[]): readonly Message[] {
    return messages.map((message): Message => {
      if (message.tag === 'tool') {
        return { tag: 'tool', val: { ...message.val, toolCallId: this.#idOfResult(message.val.toolCallId) } };
      }
      return {
        tag: message.tag,
        val: message.val.map((block) =>
          block.tag === 'tool-call' ? { tag: block.tag, val: this.#nameCall(block.val) } : block,
        ),
      };
    });
  }

  #nameCall(call: ToolCallBlock): ToolCallBlock {
    this.#given += 1;
    const id = acceptedId.test(call.id) ? call.id : `call_${this.#given}`;
    this.#open.push({ original: call.id, id });
    return { ...call, id };
  }

  #idOfResult(original: string): string {
    const index = this.#open.findIndex((call) => call.original === original);
    return index === -1 ? original : (this.#open.splice(index, 1)[0]?.id ?? original);
  }
}
