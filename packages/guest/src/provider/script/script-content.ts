/** Reads the content of a scripted response. */

import type { ContentBlock } from '../../driver.ts';
import { isObject, type JsonObject } from '../../json.ts';
import type { Entry } from './script-entry.ts';

/** The `content` of a response: a list of blocks, empty allowed. */
export function readContent(value: unknown, entry: Entry): readonly ContentBlock[] {
  if (value === undefined) throw entry.fault('content', 'is missing');
  if (!Array.isArray(value)) throw entry.fault('content', 'must be a list of blocks');
  return value.map((block: unknown, index) => readBlock(block, `content[${index}]`, entry));
}

function readBlock(value: unknown, path: string, entry: Entry): ContentBlock {
  if (!isObject(value)) throw entry.fault(path, 'must be a mapping');
  switch (entry.text(value, 'type', `${path}.type`)) {
    case 'text':
      entry.allowOnly(path, value, ['type', 'text']);
      return { tag: 'text', val: entry.text(value, 'text', `${path}.text`) };
    case 'thinking':
      return readThinking(value, path, entry);
    case 'tool_call':
      return readToolCall(value, path, entry);
    default:
      throw entry.fault(`${path}.type`, 'must be text, thinking or tool_call');
  }
}

function readThinking(value: JsonObject, path: string, entry: Entry): ContentBlock {
  entry.allowOnly(path, value, ['type', 'text', 'signature']);
  const text = entry.text(value, 'text', `${path}.text`);
  const signature = value['signature'] === undefined ? null : entry.text(value, 'signature', `${path}.signature`);
  return { tag: 'thinking', val: { text, signature } };
}

function readToolCall(value: JsonObject, path: string, entry: Entry): ContentBlock {
  entry.allowOnly(path, value, ['type', 'id', 'name', 'input']);
  const id = entry.text(value, 'id', `${path}.id`);
  const name = entry.text(value, 'name', `${path}.name`);
  if (value['input'] === undefined) throw entry.fault(`${path}.input`, 'is missing');
  return { tag: 'tool-call', val: { id, name, input: JSON.stringify(value['input']) } };
}
