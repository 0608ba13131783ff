/** Reads what the OpenAI API is called with. */

import { isJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import { OpenAiFault, unserved, wrongField } from './errors.ts';

/** Something that was said in a conversation, by whom. */
export interface Turn {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly text: string;
  /** The id of an item of an earlier response that says it, in place of the text. */
  readonly item?: string;
}

/** What is said now, and what was said before it as far as the request has it. */
export interface Asked {
  readonly before: readonly Turn[];
  readonly text: string;
  readonly stream: boolean;
}

export interface AskedChat extends Asked {
  /** Whether a stream ends with what was used. */
  readonly includeUsage: boolean;
}

export interface AskedResponse extends Asked {
  readonly previous: string | null;
  /** Whether the answer comes at once, before there is one. */
  readonly background: boolean;
}

/** The body of `POST /v1/chat/completions` to the capsule of this name. Throws the fault that names what is wrong. */
export function parseChat(given: unknown, capsule: string): AskedChat {
  const body = bodyOf(given, capsule);
  refuse(body, 'functions', isFilled, 'are not taken: the tools of a capsule are those of its manifest');
  refuse(body, 'n', (n) => n !== 1, 'must be 1');
  refuse(body, 'audio', () => true, 'is not taken: the answer is text');
  refuse(body, 'modalities', (list) => !isTextAlone(list), 'must be ["text"]');
  refuse(body, 'response_format', (format) => !isText(format), 'must be {"type":"text"}: the answer is text');
  const turns = turnsOf(listOf(body['messages'], 'messages'), 'messages');
  const options = optionalObject(body['stream_options'], 'stream_options');
  return {
    ...saidNow(turns, 'messages'),
    stream: flag(body['stream'], 'stream'),
    includeUsage: flag(options['include_usage'], 'stream_options.include_usage'),
  };
}

/** The body of `POST /v1/responses` to the capsule of this name. Throws the fault that names what is wrong. */
export function parseResponse(given: unknown, capsule: string): AskedResponse {
  const body = bodyOf(given, capsule);
  refuse(body, 'conversation', () => true, 'is not taken: name the response before in previous_response_id');
  refuse(body, 'prompt', () => true, 'is not taken: say what you want in input');
  const format = optionalObject(body['text'], 'text');
  refuse(format, 'format', (kind) => !isText(kind), 'must be {"type":"text"}: the answer is text', 'text.');
  const { input } = body;
  const said =
    typeof input === 'string'
      ? saidNow([{ role: 'user', text: wholeText(input, 'input') }], 'input')
      : saidNow(turnsOf(listOf(input, 'input'), 'input'), 'input');
  return {
    ...said,
    stream: flag(body['stream'], 'stream'),
    background: flag(body['background'], 'background'),
    previous: optionalText(body['previous_response_id'], 'previous_response_id'),
  };
}

function bodyOf(given: unknown, capsule: string): JsonObject {
  if (!isJsonObject(given)) throw new OpenAiFault(400, 'the body must be a JSON object');
  const model = optionalText(given['model'], 'model');
  if (model !== null && model !== capsule) {
    const message = `the model ${JSON.stringify(shortened(model, 64))} does not exist here; this capsule is ${capsule}`;
    throw new OpenAiFault(404, message, { param: 'model', code: 'model_not_found' });
  }
  refuse(given, 'tools', isFilled, 'are not taken: the tools of a capsule are those of its manifest');
  return given;
}

/** A null counts as absent, as it does in the API. */
function refuse(
  body: JsonObject,
  name: string,
  isRefused: (value: unknown) => boolean,
  clause: string,
  within = '',
): void {
  const value: unknown = body[name];
  if (value !== undefined && value !== null && isRefused(value)) throw unserved(`${within}${name}`, clause);
}

function isFilled(value: unknown): boolean {
  return !Array.isArray(value) || value.length > 0;
}

function isTextAlone(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => each === 'text');
}

function isText(format: unknown): boolean {
  return isJsonObject(format) && format['type'] === 'text';
}

/** The last turn is said now. */
function saidNow(turns: readonly Turn[], field: string): { readonly before: readonly Turn[]; readonly text: string } {
  const last = turns.at(-1);
  if (last?.role !== 'user') throw wrongField(field, 'must end with a message of the user');
  if (last.text === '') throw wrongField(field, 'must end with a message that says something');
  return { before: turns.slice(0, -1), text: last.text };
}

const roles = { user: 'user', assistant: 'assistant', tool: 'tool', function: 'tool' } as const;
/** A capsule has instructions of its own, which are not for its clients to write. */
const instructing: ReadonlySet<unknown> = new Set(['system', 'developer']);

function turnsOf(list: readonly unknown[], field: string): readonly Turn[] {
  return list.flatMap((given, at) => {
    const name = `${field}[${at}]`;
    if (!isJsonObject(given)) throw wrongField(name, 'must be an object');
    const type: unknown = given['type'];
    // What a model thought is for that model; clients send it back with the rest.
    if (type === 'reasoning') return [];
    // The SDK of Vercel names the answers of a response in this way.
    if (type === 'item_reference') return [{ role: 'assistant', text: '', item: wholeText(given['id'], `${name}.id`) }];
    if (type !== undefined && type !== 'message') throw unserved(`${name}.type`, 'must be message');
    if (instructing.has(given['role'])) return [];
    const role = Object.entries(roles).find(([key]) => key === given['role'])?.[1];
    if (role === undefined) throw wrongField(`${name}.role`, 'must be user, assistant, system, developer or tool');
    return [{ role, text: contentText(given['content'], `${name}.content`, role) }];
  });
}

const textTypes: ReadonlySet<unknown> = new Set(['text', 'input_text', 'output_text']);

function contentText(content: unknown, field: string, role: Turn['role']): string {
  if (typeof content === 'string') return wholeText(content, field);
  // A turn that called tools of another model may have said nothing.
  if ((content === undefined || content === null) && role === 'assistant') return '';
  return listOf(content, field)
    .map((part, at) => {
      const name = `${field}[${at}]`;
      if (!isJsonObject(part)) throw wrongField(name, 'must be an object');
      if (part['type'] === 'refusal' && role === 'assistant') return wholeText(part['refusal'], `${name}.refusal`);
      if (!textTypes.has(part['type'])) throw unserved(`${name}.type`, 'must be text: a capsule takes nothing else');
      return wholeText(part['text'], `${name}.text`);
    })
    .join('\n');
}

function listOf(value: unknown, field: string): readonly unknown[] {
  if (value === undefined || value === null) throw wrongField(field, 'is required');
  if (!Array.isArray(value)) throw wrongField(field, 'must be text or a list');
  if (value.length === 0) throw wrongField(field, 'must not be empty');
  return value as readonly unknown[];
}

function wholeText(value: unknown, field: string): string {
  if (typeof value !== 'string') throw wrongField(field, 'must be a string');
  if (!value.isWellFormed()) throw wrongField(field, 'must hold whole characters');
  return value;
}

const maxName = 256;

function optionalText(value: unknown, field: string): string | null {
  if (value === undefined || value === null) return null;
  const text = wholeText(value, field);
  if (text.length > maxName) throw wrongField(field, `must have at most ${maxName} characters`);
  return text;
}

function optionalObject(value: unknown, field: string): JsonObject {
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw wrongField(field, 'must be an object');
  return value;
}

function flag(value: unknown, field: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw wrongField(field, 'must be true or false');
  return value;
}
