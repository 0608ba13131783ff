/** Checks every message that the process of a component sends, before the session believes it. */

import type { GuestMessage } from './exchange.ts';
import { BadMessage } from './message-bytes.ts';

/**
 * Reads what a component's process has sent. That process runs a stranger's code: a component that broke out of its engine can write any bytes.
 * Throws `BadMessage` for what is no message, which ends the process and not the session.
 */
export function readGuestMessage(value: unknown): GuestMessage {
  if (!isRecord(value) || !isMessage(value)) throw new BadMessage('unknown message from the component');
  return value as unknown as GuestMessage;
}

type Fields = Readonly<Record<string, unknown>>;

function isMessage(message: Fields): boolean {
  switch (message['kind']) {
    case 'compiled':
    case 'unread':
    case 'ready':
      return true;
    case 'returned':
      return isLog(message['log']);
    case 'unusable':
      return isString(message['reason']);
    case 'trapped':
      return (
        isOneOf(message['fault'], ['trap', 'memory', 'unavailable']) &&
        isString(message['message']) &&
        isLog(message['log'])
      );
    case 'parted':
      return (
        isNumber(message['at']) &&
        isString(message['args']) &&
        (message['asked'] === null || isString(message['asked']))
      );
    case 'posted':
      return isString(message['name']) && isListOf(message['args'], (arg) => isString(arg) || isBytes(arg));
    case 'asked':
      return isString(message['name']) && Array.isArray(message['args']);
    case 'remote':
      return isRecord(message['request']) && isRemoteRequest(message['request']);
    case 'code-cache':
      return isBytes(message['data']);
    default:
      return false;
  }
}

function isRemoteRequest(request: Fields): boolean {
  switch (request['operation']) {
    case 'open':
      return isHead(request['head']) && isBodyStart(request['body']);
    case 'write':
      return isNumber(request['exchange']) && isBytes(request['bytes']);
    case 'finish':
    case 'head':
    case 'close':
      return isNumber(request['exchange']);
    case 'read':
      return isNumber(request['exchange']) && typeof request['wait'] === 'boolean';
    case 'wait':
      return (
        isListOf(request['waits'], isWait) && isLimit(request['timeoutMs']) && typeof request['takes'] === 'boolean'
      );
    default:
      return false;
  }
}

function isHead(head: unknown): boolean {
  return (
    isRecord(head) &&
    [head['method'], head['scheme'], head['authority'], head['pathWithQuery']].every(isString) &&
    isListOf(head['headers'], isField) &&
    [head['connectTimeoutMs'], head['firstByteTimeoutMs'], head['betweenBytesTimeoutMs']].every(isLimit)
  );
}

function isField(field: unknown): boolean {
  return Array.isArray(field) && isString(field[0]) && isBytes(field[1]);
}

function isBodyStart(body: unknown): boolean {
  return isRecord(body) && isBytes(body['bytes']) && typeof body['finished'] === 'boolean';
}

function isWait(wait: unknown): boolean {
  return isRecord(wait) && isNumber(wait['exchange']) && isOneOf(wait['event'], ['head', 'body']);
}

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every((item) => isItem(item));
}

function isOneOf(value: unknown, words: readonly string[]): boolean {
  return isString(value) && words.includes(value);
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number';
}

function isLog(value: unknown): boolean {
  return value === undefined || value === null || isString(value);
}

function isLimit(value: unknown): boolean {
  return value === null || isNumber(value);
}

function isBytes(value: unknown): boolean {
  return value instanceof Uint8Array;
}
