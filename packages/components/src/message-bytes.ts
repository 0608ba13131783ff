/** Writes and reads the messages between the session and a process of its components: a length, then one value. */

import { DefaultDeserializer, DefaultSerializer } from 'node:v8';

/** The one descriptor that messages pass on, seen from inside. */
export const messageDescriptor = 3;
/** What a process is given beside it lies behind it, in order. */
export const firstGivenDescriptor = 4;

/** In front of each message, little-endian, without themselves. */
export const lengthBytes = 4;
const lengthSpace = Buffer.alloc(lengthBytes);

/** What V8's serialization begins with; JSON never does. */
const serializedMark = 0xff;
/** Values in a message, and characters in their texts and names, up to which JSON is tried. */
const maxShortValues = 64;
const maxShortCharacters = 4_096;
/** More than any of those takes with every character escaped. */
const maxJsonBytes = 64 * 1024;

/**
 * What may be in a message: plain objects, arrays, strings, numbers, big integers, bytes, `undefined`. Short ones that JSON carries unchanged are
 * JSON, which takes a fifth of the time; all others are V8's serialization.
 */
export function encodeMessage(message: unknown): Buffer {
  return isShortJson(message, { values: maxShortValues, characters: maxShortCharacters })
    ? jsonBytes(JSON.stringify(message))
    : serializedBytes(message);
}

interface Room {
  values: number;
  characters: number;
}

/** Whether JSON gives back the same: an undefined property is an absent one, as options of components have it. */
function isShortJson(value: unknown, room: Room): boolean {
  room.values -= 1;
  if (room.values < 0) return false;
  switch (typeof value) {
    case 'string':
      room.characters -= value.length;
      return room.characters >= 0;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0);
    case 'boolean':
      return true;
    case 'object':
      return value === null || (Array.isArray(value) ? isShortArray(value, room) : isShortObject(value, room));
    default:
      return false;
  }
}

function isShortArray(values: readonly unknown[], room: Room): boolean {
  for (const value of values) if (!isShortJson(value, room)) return false;
  return true;
}

function isShortObject(value: object, room: Room): boolean {
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  for (const name in value) {
    const member = (value as Readonly<Record<string, unknown>>)[name];
    room.characters -= name.length;
    if (member !== undefined && !isShortJson(member, room)) return false;
  }
  return true;
}

function jsonBytes(json: string): Buffer {
  const body = Buffer.byteLength(json);
  const bytes = Buffer.allocUnsafe(lengthBytes + body);
  bytes.writeUInt32LE(body);
  bytes.write(json, lengthBytes);
  return bytes;
}

function serializedBytes(message: unknown): Buffer {
  const serializer = new DefaultSerializer();
  serializer.writeRawBytes(lengthSpace);
  serializer.writeHeader();
  serializer.writeValue(message);
  const bytes = serializer.releaseBuffer();
  bytes.writeUInt32LE(bytes.length - lengthBytes);
  return bytes;
}

/** The value of a message without its length. Bytes in it are views of `body`. Throws when `body` is no such value. */
export function decodeBody(body: Buffer): unknown {
  if (body[0] !== serializedMark) return JSON.parse(body.toString('utf8', 0, maxJsonBytes));
  const deserializer = new DefaultDeserializer(body);
  deserializer.readHeader();
  return deserializer.readValue();
}

/** The bytes are longer than any message that is expected, or are not a message. */
export class BadMessage extends Error {}

/** Puts together messages that come in pieces, wherever they are cut. Holds at most one message and the piece it ends in. */
export class MessageAssembler {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #held = 0;
  #wanted = lengthBytes;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Calls `onMessage` for each message that this piece completes. Throws `BadMessage`. */
  push(piece: Buffer, onMessage: (message: unknown) => void): void {
    this.#pieces.push(piece);
    this.#held += piece.length;
    while (this.#held >= this.#wanted) {
      const bytes = this.#joined();
      const body = bytes.readUInt32LE();
      if (body > this.#maxBytes) throw new BadMessage(`a message of ${body} bytes is longer than any may be`);
      const end = lengthBytes + body;
      this.#wanted = end;
      if (bytes.length < end) break;
      this.#pieces = bytes.length === end ? [] : [bytes.subarray(end)];
      this.#held = bytes.length - end;
      this.#wanted = lengthBytes;
      onMessage(decoded(bytes.subarray(lengthBytes, end)));
    }
  }

  #joined(): Buffer {
    const [first] = this.#pieces;
    const bytes = this.#pieces.length === 1 && first !== undefined ? first : Buffer.concat(this.#pieces);
    this.#pieces = [bytes];
    return bytes;
  }
}

function decoded(body: Buffer): unknown {
  try {
    return decodeBody(body);
  } catch (error) {
    throw new BadMessage(`a message cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
