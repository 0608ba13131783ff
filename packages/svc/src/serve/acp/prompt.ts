/** Reads a prompt of an editor. */

import { asJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { invalidParams } from './fault.ts';
import type { ContentBlock } from './updates.ts';

/** The text that a task begins with, and the parts of the prompt as they came. */
export interface Prompt {
  readonly text: string;
  readonly blocks: readonly ContentBlock[];
}

const maxBlocks = 1024;

/** Texts, links and embedded texts, one below the other. Throws `-32602` for anything else. */
export function parsePrompt(given: unknown): Prompt {
  if (!Array.isArray(given)) throw invalidParams('prompt must be a list of content blocks');
  if (given.length === 0 || given.length > maxBlocks) {
    throw invalidParams(`prompt must have 1 to ${maxBlocks} content blocks`);
  }
  const blocks: ContentBlock[] = [];
  const texts: string[] = [];
  for (const [index, each] of given.entries()) {
    const at = `prompt[${index}]`;
    const block = asJsonObject(each);
    if (block === null || typeof block['type'] !== 'string') throw invalidParams(`${at} must be a content block`);
    texts.push(textOf(block, at));
    blocks.push(block as ContentBlock);
  }
  return { text: texts.join('\n'), blocks };
}

function textOf(block: JsonObject, at: string): string {
  switch (block['type']) {
    case 'text':
      return aText(block['text'], `${at}.text`);
    case 'resource_link':
      return `[${aText(block['name'], `${at}.name`)}](${aText(block['uri'], `${at}.uri`)})`;
    case 'resource': {
      const resource = asJsonObject(block['resource']);
      if (resource === null) throw invalidParams(`${at}.resource must be an object`);
      if (resource['text'] === undefined) throw invalidParams(`${at}: of embedded resources only texts are taken`);
      return `${aText(resource['uri'], `${at}.resource.uri`)}\n${aText(resource['text'], `${at}.resource.text`)}`;
    }
    default:
      throw invalidParams(`${at}: content of this type is not taken`);
  }
}

function aText(value: unknown, at: string): string {
  if (typeof value === 'string') return value;
  throw invalidParams(`${at} must be a string`);
}
