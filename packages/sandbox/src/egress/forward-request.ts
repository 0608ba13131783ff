/** Passes one request on to a server, and its answer back. */

import { request as nodeRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { networkFault, networkReason } from '@svc/kit/net/network-reason.ts';
import type { Proxy } from '@svc/kit/net/proxy.ts';
import type { ProxyTarget } from './proxy-target.ts';
import {
  type RequestHead,
  type BodyFraming,
  wantsKeepAlive,
  upstreamHeaders,
  encodeInterim,
  encodeResponseHead,
  planResponse,
  refuse,
  type ProxyRefusal,
  parseHeaderLine,
} from './message-heads.ts';
import type { SocketReader } from './socket-reader.ts';

/**
 * How the client's connection goes on: with the next request, not at all, or broken off because a response that had begun
 * cannot be ended well. A refusal is still to be sent.
 */
type ForwardEnd = { readonly kind: 'next' } | { readonly kind: 'close' } | { readonly kind: 'broken' } | ProxyRefusal;

interface Forwarding {
  readonly head: RequestHead;
  readonly target: Extract<ProxyTarget, { readonly kind: 'request' }>;
  readonly reader: SocketReader;
  readonly client: Socket;
  /** Used for this one request and closed with it. */
  readonly upstream: Socket;
  /** The proxy at the other end; null where that is the server itself. */
  readonly through: Proxy | null;
}

const maxResponseHeadBytes = 64 * 1024;
const maxInterims = 32;

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
    const { head, target, upstream, through } = forwarding;
    const authorization = through?.authorization ?? null;
    const ofProxy = authorization === null ? [] : [['Proxy-Authorization', authorization]];
    this.#forwarding = forwarding;
    this.#request = nodeRequest({
      method: head.method,
      path: through === null ? target.path : `http://${target.host}${target.path === '*' ? '' : target.path}`,
      headers: [...upstreamHeaders(head, target.host), ...ofProxy].flat(),
      createConnection: () => upstream,
      maxHeaderSize: maxResponseHeadBytes,
      insecureHTTPParser: false,
    });
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
    this.#request.destroy();
    this.#forwarding.upstream.destroy();
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
        const bytes = encodeInterim(interim);
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
    const { client, head } = this.#forwarding;
    const plan = planResponse(response, head);
    if (plan.kind === 'refused') return plan;
    const keep = wantsKeepAlive(head) && this.#sentWhole && plan.framing !== 'close';
    if (!(await writePiece(client, encodeResponseHead(plan, keep)))) return { kind: 'broken' };
    try {
      for await (const piece of response as AsyncIterable<Buffer>) {
        if (!(await writePiece(client, plan.framing === 'chunked' ? chunk(piece) : piece))) return { kind: 'broken' };
      }
    } catch {
      // The server broke off, or broke its own framing: the client must not take what came for the whole.
      return { kind: 'broken' };
    }
    if (plan.framing === 'chunked' && !(await writePiece(client, Buffer.from('0\r\n\r\n')))) return { kind: 'broken' };
    return keep ? { kind: 'next' } : { kind: 'close' };
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
class MalformedBody extends Error {}

const maxLineBytes = 8 * 1024;
const maxTrailerBytes = 32 * 1024;
const sizeShape = /^[0-9A-Fa-f]{1,12}$/;

/**
 * The pieces of a body without its framing, read as they are asked for; what follows the body stays unread. Throws
 * `MalformedBody`. Chunks are taken strictly: a size and nothing else, each line ending with CR LF. Trailers are dropped.
 */
function readBody(reader: SocketReader, framing: BodyFraming): AsyncGenerator<Buffer, void, undefined> {
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
