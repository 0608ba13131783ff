/** Reads a script: the responses that a model is to give, one after the other. */

import { parseDocument, type Document } from 'yaml';

import type { ContentBlock, StopReason, Usage } from '../../driver.ts';
import { isObject, type JsonObject } from '../../json.ts';
import { readContent } from './script-content.ts';
import { Entry } from './script-entry.ts';

const maxDelayMs = 600_000;
const responseKeys = [
  'content',
  'stop_reason',
  'error',
  'usage',
  'continuation_id',
  'chunks',
  'thinking',
  'delay_ms',
  'when',
];

/** One response of a script, with what is streamed and waited for before it is given. */
export interface ScriptedResponse {
  readonly content: readonly ContentBlock[];
  readonly stopReason: StopReason;
  readonly usage: Usage | null;
  readonly continuationId: string | null;
  readonly thinking: readonly string[];
  readonly chunks: readonly string[];
  readonly delayMs: number;
  /** Played only to a task whose text has this in it; to every task when null. */
  readonly when: string | null;
}

/**
 * The responses of a script file, in the JSON spelling of the driver world (docs/drivers.md "Requests and responses"). Throws an `Error` that names the
 * first entry and key at fault; entries count from 1, as turns do.
 */
export function readScript(text: string, name: string): readonly ScriptedResponse[] {
  const document = parseDocument(text, { prettyErrors: true });
  const [fault] = document.errors;
  if (fault !== undefined) throw new Error(`script ${name}: ${fault.message.split('\n')[0] ?? 'not YAML'}`);
  const entries = plainValue(document, name);
  if (!Array.isArray(entries)) throw new Error(`script ${name}: must be a list of responses`);
  return entries.map((value: unknown, index) => readResponse(value, new Entry(name, index + 1)));
}

function plainValue(document: Document, name: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    // An alias without an anchor, or a file that grows without bound when its aliases are followed.
    if (error instanceof ReferenceError) throw new Error(`script ${name}: ${error.message}`, { cause: error });
    throw error;
  }
}

function readResponse(value: unknown, entry: Entry): ScriptedResponse {
  if (!isObject(value)) throw entry.fault('', 'must be a mapping');
  entry.allowOnly('', value, responseKeys);
  return {
    content: readContent(value['content'], entry),
    stopReason: readStopReason(value, entry),
    usage: readUsage(value, entry),
    continuationId: entry.optionalText(value, 'continuation_id'),
    thinking: readTexts(value, 'thinking', entry),
    chunks: readTexts(value, 'chunks', entry),
    delayMs: entry.optionalCount(value, 'delay_ms', maxDelayMs) ?? 0,
    when: entry.optionalText(value, 'when'),
  };
}

function readStopReason(value: JsonObject, entry: Entry): StopReason {
  const reason = entry.text(value, 'stop_reason', 'stop_reason');
  const error = entry.optionalText(value, 'error');
  if (error !== null && reason !== 'error') throw entry.fault('error', 'belongs to stop_reason error alone');
  switch (reason) {
    case 'end_turn':
      return { tag: 'end-turn' };
    case 'max_tokens':
      return { tag: 'max-tokens' };
    case 'tool_call':
      return { tag: 'tool-call' };
    case 'error':
      return { tag: 'error', val: error ?? 'the script says so' };
    default:
      // What a runtime does with a reason it does not know is itself worth a script.
      return { tag: 'other', val: reason };
  }
}

function readUsage(value: JsonObject, entry: Entry): Usage | null {
  const usage = value['usage'];
  if (usage === undefined) return null;
  if (!isObject(usage)) throw entry.fault('usage', 'must be a mapping');
  entry.allowOnly('usage', usage, ['input_tokens', 'output_tokens']);
  return {
    inputTokens: entry.count(usage, 'input_tokens', 'usage.input_tokens'),
    outputTokens: entry.count(usage, 'output_tokens', 'usage.output_tokens'),
  };
}

function readTexts(value: JsonObject, key: string, entry: Entry): readonly string[] {
  const texts = value[key] ?? [];
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === 'string')) {
    throw entry.fault(key, 'must be a list of texts');
  }
  return texts;
}
