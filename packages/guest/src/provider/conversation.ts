/** Brings a recorded conversation into the form that providers take back. */

import type { ContentBlock, Message, ToolCallBlock } from '../driver.ts';
import { isObject, parseJson } from '../json.ts';

const plainId = /^[A-Za-z0-9_-]{1,64}$/;

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

/** Whether every provider takes the id of a call. */
export function isPlainId(id: string): boolean {
  return plainId.test(id);
}

/**
 * Puts an id on every tool call and the same id on its result, and no id on two calls. What a provider gave goes back to it as it came; calls without
 * an id, with one that another has, and with one of another provider that this one may refuse, are numbered. Results are matched in order.
 */
export class ToolCallPairs {
  readonly #isOwn: (content: readonly ContentBlock[]) => boolean;
  #given = 0;
  readonly #taken = new Set<string>();
  readonly #open: { readonly original: string; readonly id: string }[] = [];

  /** `isOwn` says whether the provider itself made a message. */
  constructor(isOwn: (content: readonly ContentBlock[]) => boolean) {
    this.#isOwn = isOwn;
  }

  /** The next messages of the conversation. */
  pair(messages: readonly Message[]): readonly Message[] {
    return messages.map((message): Message => {
      if (message.tag === 'tool') {
        return { tag: 'tool', val: { ...message.val, toolCallId: this.#idOfResult(message.val.toolCallId) } };
      }
      const isOwn = this.#isOwn(message.val);
      return {
        tag: message.tag,
        val: message.val.map((block) =>
          block.tag === 'tool-call' ? { tag: block.tag, val: this.#nameCall(block.val, isOwn) } : block,
        ),
      };
    });
  }

  #nameCall(call: ToolCallBlock, isOwn: boolean): ToolCallBlock {
    this.#given += 1;
    const fits = (isOwn && call.id !== '') || isPlainId(call.id);
    const id = fits && !this.#taken.has(call.id) ? call.id : this.#unused();
    this.#taken.add(id);
    this.#open.push({ original: call.id, id });
    return { ...call, id };
  }

  #unused(): string {
    const name = `call_${this.#given}`;
    let id = name;
    for (let number = 2; this.#taken.has(id); number += 1) id = `${name}_${number}`;
    return id;
  }

  #idOfResult(original: string): string {
    const index = this.#open.findIndex((call) => call.original === original);
    return index === -1 ? original : (this.#open.splice(index, 1)[0]?.id ?? original);
  }
}
