/** Reads heads and bodies from a socket, a piece at a time. */

import type { Socket } from 'node:net';

import { maxHeadBytes, refuse, type ProxyRefusal } from './message-heads.ts';

type HeadBytes =
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  /** The client had nothing more to ask. */
  | { readonly kind: 'ended' }
  | ProxyRefusal;

/** The type of the first record (RFC 8446 section 5.1). */
const handshake = 0x16;
const cr = 0x0d;
const lf = 0x0a;
const headEnd = Buffer.from('\r\n\r\n');

/** Reads a socket piece by piece and no faster than it is asked to; what waits meanwhile is bounded by the socket's own buffer. */
export class SocketReader {
  readonly #socket: Socket;
  #rest: Buffer | null = null;
  #wake: (() => void) | null = null;
  #over = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('readable', this.#changed);
    socket.on('end', this.#finish);
    socket.on('close', this.#finish);
  }

  /** Some bytes; null once there will be none. Asked by one reader at a time. */
  async read(): Promise<Buffer | null> {
    const rest = this.#rest;
    this.#rest = null;
    if (rest !== null) return rest;
    for (;;) {
      const bytes = this.#socket.read() as Buffer | null;
      if (bytes !== null) return bytes;
      if (this.#over) return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Whether the first bytes are those of a handshake of TLS. They stay unread. */
  async beginsTls(): Promise<boolean> {
    const bytes = await this.read();
    if (bytes !== null) this.unread(bytes);
    return bytes?.[0] === handshake;
  }

  /** Gives back what was read too much. */
  unread(bytes: Buffer): void {
    if (bytes.length > 0) this.#rest = this.#rest === null ? bytes : Buffer.concat([bytes, this.#rest]);
  }

  /** Reads through the empty line that ends a head; what follows it stays unread. `onBegin` is called at its first byte. */
  async readHead(onBegin: () => void): Promise<HeadBytes> {
    let head: Buffer = Buffer.alloc(0);
    for (;;) {
      const bytes = await this.read();
      if (bytes === null) return head.length === 0 ? { kind: 'ended' } : refuse(400, 'The request ended early.');
      if (head.length === 0) onBegin();
      const seen = head.length;
      head = head.length === 0 ? bytes : Buffer.concat([head, bytes]);
      const end = head.indexOf(headEnd, Math.max(0, seen - 3));
      const limit = end === -1 ? head.length : end + headEnd.length;
      if (hasBareLineFeed(head, seen, limit)) return refuse(400, 'A line does not end with CR LF.');
      if (limit > maxHeadBytes) return refuse(431, `The head of the request is longer than ${maxHeadBytes} bytes.`);
      if (end === -1) continue;
      this.unread(head.subarray(limit));
      return { kind: 'bytes', bytes: head.subarray(0, limit) };
    }
  }

  /** Stops reading, so that others can, and gives back what was read too much: a socket that has ended does not take it back. */
  release(): Buffer {
    const rest = this.#rest ?? Buffer.alloc(0);
    this.#socket.off('readable', this.#changed);
    this.#socket.off('end', this.#finish);
    this.#socket.off('close', this.#finish);
    this.#rest = null;
    this.#finish();
    return rest;
  }

  readonly #changed = (): void => {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  };

  readonly #finish = (): void => {
    this.#over = true;
    this.#changed();
  };
}

/** A head whose lines end in another way would never be found to end. */
function hasBareLineFeed(bytes: Buffer, from: number, to: number): boolean {
  for (let at = bytes.indexOf(lf, from); at !== -1 && at < to; at = bytes.indexOf(lf, at + 1)) {
    if (bytes[at - 1] !== cr) return true;
  }
  return false;
}
