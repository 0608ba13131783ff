/** The message that a client sends to a capsule. */

import { isJsonObject, type JsonObject } from './json-object.ts';

/** A message that starts a task or answers one that waits. */
export interface InboundMessage {
  readonly messageId: string;
  readonly role: string;
  /** The text of all parts, joined by newlines (docs/protocol.md "Messages"); half a character, which no file and no provider takes, is U+FFFD. */
  readonly text: string;
  readonly contextId?: string;
}

export type ParsedMessage =
  | { readonly kind: 'message'; readonly message: InboundMessage }
  /** `problem` names the field and repeats nothing of what was sent: it is written into a frame unescaped (D1 "Frame types", `error`). */
  | { readonly kind: 'invalid'; readonly problem: string };

/** The params of `message/send` and `message/stream`; `text` is one part. */
export function encodeMessage({ messageId, role, text, contextId }: InboundMessage): JsonObject {
  const message = { messageId, role, parts: [{ text }] };
  return { message: contextId === undefined ? message : { ...message, contextId } };
}

/** A context id is kept with every task and conversation, so a sender does not choose its size freely (docs/protocol.md "Messages"). */
const maxContextIdBytes = 1024;

/**
 * The message of `message/send` and `message/stream`, under `params.message` or as `params` itself (D1 "`message/stream` and
 * `stream/watch`"). Unknown keys are ignored. It stops at the first problem, so that a body of a million bad parts costs one.
 */
export function parseMessage(params: unknown): ParsedMessage {
  if (!isJsonObject(params)) return invalid('params must be an object');
  const nested = params['message'];
  if (nested === undefined) return parseAt(params, '');
  return isJsonObject(nested) ? parseAt(nested, 'message.') : invalid('message must be an object');
}

function parseAt({ messageId, role, parts, contextId }: JsonObject, prefix: '' | 'message.'): ParsedMessage {
  if (typeof messageId !== 'string') return invalid(`${prefix}messageId must be a string`);
  if (typeof role !== 'string') return invalid(`${prefix}role must be a string`);
  if (!Array.isArray(parts)) return invalid(`${prefix}parts must be an array`);
  if (parts.length === 0) return invalid(`${prefix}parts must hold at least one part`);
  const texts: string[] = [];
  for (const [index, part] of (parts as unknown[]).entries()) {
    if (!isJsonObject(part)) return invalid(`${prefix}parts[${index}] must be an object`);
    if (typeof part['text'] !== 'string') return invalid(`${prefix}parts[${index}].text must be a string`);
    texts.push(part['text']);
  }
  const problem = contextIdProblem(contextId);
  if (problem !== undefined) return invalid(`${prefix}contextId ${problem}`);
  const message = { messageId, role, text: texts.join('\n').toWellFormed() };
  return { kind: 'message', message: typeof contextId === 'string' ? { ...message, contextId } : message };
}

/** Says what is wrong with the id of a context, as a clause; undefined where nothing is. */
export function contextIdProblem(contextId: unknown): string | undefined {
  if (contextId === undefined) return undefined;
  if (typeof contextId !== 'string') return 'must be a string';
  if (contextId === '') return 'must not be empty';
  // No character takes less than a byte, so a long one is not measured.
  const isLong = contextId.length > maxContextIdBytes || new TextEncoder().encode(contextId).length > maxContextIdBytes;
  return isLong ? `must have at most ${maxContextIdBytes} bytes` : undefined;
}

function invalid(problem: string): ParsedMessage {
  return { kind: 'invalid', problem };
}
