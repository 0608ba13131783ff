/** Passes one request on to a server, and its answer back. */

import { type ClientRequest, type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { AnswerGuard } from '@svc/kit/keys/bound-host.ts';
import { networkFault, networkReason } from '@svc/kit/net/network-reason.ts';
import {
  type RequestHead,
  type BodyFraming,
  wantsKeepAlive,
  encodeInterim,
  encodeResponseHead,
  planResponse,
  type ResponsePlan,
  refuse,
  type ProxyRefusal,
  parseHeaderLine,
} from './message-heads.ts';
import type { SocketReader } from './socket-reader.ts';

/**
 * How the client's connection goes on: with the next request, not at all, or broken off because a response that had begun
 * cannot be ended well. A refusal is still to be sent.
 */
export type ForwardEnd =
  | { readonly kind: 'next' }
  | { readonly kind: 'close' }
  | { readonly kind: 'broken' }
  | ProxyRefusal;

interface Forwarding {
  readonly head: RequestHead;
  readonly reader: SocketReader;
  readonly client: Socket;
  /** The request as the server gets it. Nothing of it was sent. */
  readonly request: ClientRequest;
  /** Whether its connection serves other requests after this one. */
  readonly isKept?: true;
  /** Looks for a key in the answer; null where that holds none. */
  readonly guard?: AnswerGuard | null;
  /** Hears the status of the answer, and why it was cut. */
  readonly onAnswer?: (answer: { readonly status?: number; readonly cut?: string }) => void;
}

const maxInterims = 32;
const noBytes: Buffer = Buffer.alloc(0);

/** Sends one request on and its response back, each no faster than its reader takes it. Never rejects. */
export function forwardRequest(forwarding: Forwarding): Promise<ForwardEnd> {
  return new RequestForward(forwarding).run();
}

class RequestForward {
  readonly #forwarding: Forwarding;
  readonly #request: ClientRequest;
  #sentWhole = false;
  #bodyFault: ProxyRefusal | null = null;
  #failure: ProxyRefusal | null = null;
  #interims = 0;

  constructor(forwarding: Forwarding) {
    this.#forwarding = forwarding;
    this.#request = forwarding.request;
    // Beyond a limit Node would leave header lines out without a word.
    this.#request.maxHeadersCount = 0;
  }

  async run(): Promise<ForwardEnd> {
    const arriving = this.#response();
    const sending = this.#send();
    const response = await arriving;
    const end =
      response === null
        ? (this.#bodyFault ?? this.#failure ?? refuse(502, 'The server ended the connection without an answer.'))
        : await this.#relay(response);
    if (this.#forwarding.isKept !== true || response?.complete !== true || !this.#sentWhole) this.#request.destroy();
    // A body that is still being read ends with the client's connection.
    if (this.#sentWhole) await sending;
    return end;
  }

  /** The final response; null when there will be none. */
  #response(): Promise<IncomingMessage | null> {
    const { client, head } = this.#forwarding;
    const request = this.#request;
    return new Promise((resolve) => {
      request.on('response', resolve);
      request.on('information', (interim) => {
        // A switch of protocols is final, and nothing that was asked for.
        if (interim.statusCode === 101 || head.version === '1.0') return;
        this.#interims += 1;
        const bytes = encodeInterim(
          this.#forwarding.guard == null ? interim : { ...interim, rawHeaders: [], statusMessage: '' },
        );
        // Few enough to wait for nobody.
        if (bytes !== null && this.#interims <= maxInterims && !client.destroyed) client.write(bytes);
      });
      request.on('upgrade', (_response, socket) => {
        this.#failure = refuse(502, 'The server switched to another protocol without being asked.');
        socket.destroy();
        resolve(null);
      });
      request.on('error', (error: NodeJS.ErrnoException) => {
        this.#failure ??= faultOf(error);
        resolve(null);
      });
      request.on('close', () => resolve(null));
    });
  }

  async #send(): Promise<void> {
    const { reader, head } = this.#forwarding;
    const request = this.#request;
    if (head.framing.kind !== 'none') request.flushHeaders();
    try {
      for await (const piece of readBody(reader, head.framing)) {
        if (!(await writePiece(request, piece))) return;
      }
      this.#sentWhole = true;
      request.end();
    } catch (error) {
      if (!(error instanceof MalformedBody)) throw error;
      this.#bodyFault = refuse(400, error.message);
      request.destroy();
    }
  }

  async #relay(response: IncomingMessage): Promise<ForwardEnd> {
    const { client, head, guard = null, onAnswer } = this.#forwarding;
    const planned = planResponse(response, head);
    if (planned.kind === 'refused') return planned;
    const plan = guard === null ? planned : this.#guardedHead(planned, response, guard);
    if (plan.kind === 'refused') return plan;
    onAnswer?.({ status: response.statusCode ?? 0 });
    const keep = wantsKeepAlive(head) && this.#sentWhole && plan.framing !== 'close';
    // An answer of a known length can still become a refusal that says why, until its first bytes are known to be fine.
    let isBegun = guard === null || plan.framing !== 'length';
    const begin = (): Buffer => {
      if (isBegun) return noBytes;
      isBegun = true;
      return encodeResponseHead(plan, keep);
    };
    const cut = (): ForwardEnd => (isBegun || guard === null ? { kind: 'broken' } : refuse(502, `${guard.cutWords}.`));
    if (isBegun && !(await writePiece(client, encodeResponseHead(plan, keep)))) return { kind: 'broken' };
    try {
      for await (const piece of response as AsyncIterable<Buffer>) {
        const given = guard === null ? piece : this.#passed(guard, () => guard.next(piece));
        if (given === null) return cut();
        if (given.length > 0 && !(await this.#give(plan, given, begin()))) return { kind: 'broken' };
      }
      const rest = guard === null ? null : this.#passed(guard, () => guard.rest());
      if (guard !== null && rest === null) return cut();
      if (!(await this.#give(plan, rest ?? noBytes, begin()))) return { kind: 'broken' };
    } catch {
      // The server broke off, or broke its own framing: the client must not take what came for the whole.
      return { kind: 'broken' };
    }
    if (plan.framing === 'chunked' && !(await writePiece(client, Buffer.from('0\r\n\r\n')))) return { kind: 'broken' };
    return keep ? { kind: 'next' } : { kind: 'close' };
  }

  /** `head` goes out in one write with the piece. */
  async #give({ framing }: ResponsePlan, piece: Buffer, head: Buffer): Promise<boolean> {
    if (piece.length === 0 && head.length === 0) return true;
    const framed = framing === 'chunked' && piece.length > 0 ? chunk(piece) : piece;
    return await writePiece(this.#forwarding.client, head.length === 0 ? framed : Buffer.concat([head, framed]));
  }

  /** The reason that the server gives is not passed on. */
  #guardedHead(plan: ResponsePlan, response: IncomingMessage, guard: AnswerGuard): ResponsePlan | ProxyRefusal {
    const { 'content-encoding': coding = 'identity' } = response.headers;
    if (coding.toLowerCase() !== 'identity') {
      this.#forwarding.onAnswer?.({ cut: guard.unsearchedWords });
      return refuse(502, `${guard.unsearchedWords}: it came compressed.`);
    }
    const lines = plan.headers.map(([name, value]) => [name, Buffer.from(value, 'latin1')] as const);
    const given = this.#passed(guard, () => guard.headers(lines));
    if (given === null) return refuse(502, `${guard.cutWords}.`);
    const status = response.statusCode ?? 0;
    const headers = given.map(([name, value]) => [name, value.toString('latin1')] as const);
    return { ...plan, statusLine: `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, headers };
  }

  /** What the guard gives out; null when the answer is cut here. */
  #passed<T>(guard: AnswerGuard, pass: () => T | null): T | null {
    let given: T | null = null;
    let words = guard.cutWords;
    try {
      given = pass();
    } catch {
      // Whatever went wrong with the search, the key may be in what was to be searched.
      words = guard.unsearchedWords;
    }
    if (given === null) this.#forwarding.onAnswer?.({ cut: words });
    return given;
  }
}

function chunk(piece: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]);
}

function faultOf({ code = 'unknown' }: NodeJS.ErrnoException): ProxyRefusal {
  if (networkFault(code) === 'silent') return refuse(504, 'The server did not answer in time.');
  return refuse(502, `The server gave no answer: ${networkReason({ code })}.`);
}

/** Writes and settles once there is room for more; false when nothing more can be written. Never rejects. */
async function writePiece(stream: Writable, piece: Buffer): Promise<boolean> {
  if (stream.destroyed || stream.writableEnded) return false;
  if (stream.write(piece)) return true;
  await new Promise<void>((resolve) => {
    const settle = (): void => {
      stream.off('drain', settle);
      stream.off('close', settle);
      resolve();
    };
    stream.once('drain', settle);
    stream.once('close', settle);
    if (stream.destroyed) settle();
  });
  return !stream.destroyed;
}

/** The client broke the framing of its body, or left before its end. */
export class MalformedBody extends Error {}

const maxLineBytes = 8 * 1024;
const maxTrailerBytes = 32 * 1024;
const sizeShape = /^[0-9A-Fa-f]{1,12}$/;

/**
 * The pieces of a body without its framing, read as they are asked for; what follows the body stays unread. Throws
 * `MalformedBody`. Chunks are taken strictly: a size and nothing else, each line ending with CR LF. Trailers are dropped.
 */
export function readBody(reader: SocketReader, framing: BodyFraming): AsyncGenerator<Buffer, void, undefined> {
  switch (framing.kind) {
    case 'none':
      return readExactly(reader, 0);
    case 'length':
      return readExactly(reader, framing.bytes);
    case 'chunked':
      return readChunks(reader);
  }
}

async function* readExactly(reader: SocketReader, bytes: number): AsyncGenerator<Buffer, void, undefined> {
  let left = bytes;
  while (left > 0) {
    const piece = await reader.read();
    if (piece === null) throw new MalformedBody('The body ended early.');
    const taken = piece.subarray(0, left);
    reader.unread(piece.subarray(taken.length));
    left -= taken.length;
    yield taken;
  }
}

async function* readChunks(reader: SocketReader): AsyncGenerator<Buffer, void, undefined> {
  for (;;) {
    const size = await readLine(reader);
    if (!sizeShape.test(size)) throw new MalformedBody('The size of a chunk is malformed.');
    const bytes = Number.parseInt(size, 16);
    if (bytes === 0) break;
    yield* readExactly(reader, bytes);
    if ((await readLine(reader)) !== '') throw new MalformedBody('A chunk is longer than its size.');
  }
  await skipTrailers(reader);
}

async function skipTrailers(reader: SocketReader): Promise<void> {
  for (let left = maxTrailerBytes; left > 0;) {
    const line = await readLine(reader);
    if (line === '') return;
    if (parseHeaderLine(line) === undefined) throw new MalformedBody('A trailer is malformed.');
    left -= line.length;
  }
  throw new MalformedBody('The trailers are too long.');
}

/** A line without its CR LF. */
async function readLine(reader: SocketReader): Promise<string> {
  let line = '';
  while (line.length <= maxLineBytes) {
    const piece = await reader.read();
    if (piece === null) throw new MalformedBody('The body ended early.');
    const end = piece.indexOf('\n');
    const taken = end === -1 ? piece : piece.subarray(0, end + 1);
    reader.unread(piece.subarray(taken.length));
    line += taken.toString('latin1');
    if (end === -1) continue;
    if (!line.endsWith('\r\n')) throw new MalformedBody('A line does not end with CR LF.');
    return line.slice(0, -2);
  }
  throw new MalformedBody('A line is too long.');
}
