/** Writes answers to connections, and closes those of clients that take nothing. */

import type { FileHandle } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline, Transform } from 'node:stream';
import { isCoded } from '../diagnostics/system-reason.ts';
import { briefAnswer } from './byte-budget.ts';
import { emptyComment, probeHalfClosed } from './half-closed.ts';
import { type Reply, type ReplyHeaders, type StreamReply, sendFile } from './reply.ts';

type Sendable = Exclude<Reply, StreamReply>;

export interface SendOptions {
  /** The connection closes after the reply. */
  readonly last: boolean;
  /** A client that takes nothing of a long reply for this long loses its connection. */
  readonly stalledMs: number;
  /** Receives an error of a source that is neither the system's nor the client's doing. */
  readonly onBug: (error: unknown) => void;
}

export function sendReply(response: ServerResponse, reply: Reply, options: SendOptions): void {
  switch (reply.kind) {
    case 'stream': {
      const { start, abandon, outlivesHalf = false } = reply;
      if (!outlivesHalf) endWithClient(response.req.socket);
      unlessGone(response, () => start(response), abandon);
      return;
    }
    case 'readable': {
      const { source, onDone } = reply;
      if (onDone !== undefined) whenOver(response, onDone);
      unlessGone(
        response,
        () => pipeFrom(response, reply, options),
        () => source.destroy(),
      );
      return;
    }
    case 'file': {
      const { file } = reply;
      unlessGone(
        response,
        () => sendPart(response, reply, options),
        () => closeQuietly(file),
      );
      return;
    }
    case 'empty':
      response.writeHead(reply.status, headOf(reply, options.last));
      response.end();
      return;
    case 'json':
      response.writeHead(reply.status, headOf(reply, options.last));
      if (isLong(reply)) dropStalled(response, options);
      response.end(reply.text);
      return;
    case 'bytes':
      if (reply.onDone !== undefined) whenOver(response, reply.onDone);
      response.writeHead(reply.status, headOf(reply, options.last));
      if (isLong(reply)) dropStalled(response, options);
      response.end(reply.bytes);
  }
}

/**
 * The bytes that a reply holds in memory until its client has taken it; 0 for a short reply, for files, for streams and with `onDone`, whose
 * makers count what they hold.
 */
export function heldBytes(reply: Reply): number {
  let bytes = 0;
  if (reply.kind === 'json') bytes = reply.text.length;
  else if (reply.kind === 'bytes' && reply.isShared !== true && reply.onDone === undefined) bytes = reply.bytes.length;
  return bytes > briefAnswer ? bytes : 0;
}

/** Whether a client that does not read the reply holds more than the buffers of its connection. */
function isLong(reply: Sendable): boolean {
  return heldBytes(reply) > 0 || (reply.kind === 'bytes' && reply.bytes.length > briefAnswer);
}

/** Nothing is begun for a client that has gone while its answer was made. */
function unlessGone(response: ServerResponse, start: () => void, abandon: (() => void) | undefined): void {
  if (response.req.socket.destroyed) abandon?.();
  else start();
}

/** A client that ends its half leaves. */
function endWithClient(socket: Socket): void {
  if (socket.readableEnded) socket.destroy();
  else socket.on('end', endOwnHalf);
}

/** One for all connections: each idle stream would keep its own. */
function endOwnHalf(this: Socket): void {
  this.end();
}

/** What was still to be written when a connection was cut counts as written, so the connection is asked as well. */
function whenOver(response: ServerResponse, tell: (isTaken: boolean) => void): void {
  const connection = response.req.socket;
  if (connection.destroyed) tell(false);
  else response.once('close', () => tell(response.writableFinished && !connection.destroyed));
}

function pipeFrom(response: ServerResponse, reply: ReadableReply, options: SendOptions): void {
  const { last, onBug } = options;
  response.writeHead(reply.status, headOf(reply, last));
  if (response.req.method === 'HEAD') {
    reply.source.destroy();
    response.end();
    return;
  }
  const empty = reply.contentType.startsWith('text/event-stream') ? emptyComment : reply.empty;
  dropStalled(response, options, empty);
  // The first of a stream of events may be long in coming.
  if (reply.length === null) response.flushHeaders();
  if (empty !== undefined) {
    probeHalfClosed(response, () => {
      if (response.writableLength === 0) response.write(empty);
    });
  }
  // The connection is cut, so that the client does not take the part for the whole.
  const done = (error: Error | null | undefined): void => {
    if (error instanceof Error && !isCoded(error)) onBug(error);
  };
  if (reply.length === null) pipeline(reply.source, response, done);
  else pipeline(reply.source, exactly(reply.length), response, done);
}

function sendPart(response: ServerResponse, reply: FileReply, options: SendOptions): void {
  const { last, onBug } = options;
  response.writeHead(reply.status, headOf(reply, last));
  if (response.req.method === 'HEAD') {
    closeQuietly(reply.file);
    response.end();
    return;
  }
  dropStalled(response, options);
  sendFile(response, reply).catch((error: unknown) => {
    if (!isCoded(error)) onBug(error);
  });
}

type FileReply = Extract<Reply, { kind: 'file' }>;

/** Nothing was written to it: there is nothing that could be lost, and nobody who could act on a failure. */
function closeQuietly(file: FileHandle): void {
  file.close().catch(() => {});
}

type ReadableReply = Extract<Reply, { kind: 'readable' }>;

/** More or fewer bytes than the head announced: cut, the client sees it; ended, it would not. */
class LengthMismatch extends Error {
  readonly code = 'ERR_LENGTH_MISMATCH';
}

/** A stream, since a pipeline waits for a generator even after everything around it has gone. */
function exactly(length: number): Transform {
  const mismatch = (): Error => new LengthMismatch(`the source has not the ${length} bytes announced`);
  let sent = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sent += chunk.length;
      if (sent > length) done(mismatch());
      else done(null, chunk);
    },
    flush(done) {
      done(sent === length ? null : mismatch());
    },
  });
}

/**
 * Writes a reply to a request whose body has not been read. The body is thrown away, within limits, and the connection closes after
 * it: closing over unread bytes would reset the connection, and the client might then never see the answer.
 */
export function sendOverBody(response: ServerResponse, reply: Reply, options: SendOptions): void {
  const request = response.req;
  if (reply.kind === 'stream' || reply.kind === 'readable' || reply.kind === 'file') {
    request.resume();
    sendReply(response, reply, options);
    return;
  }
  if (reply.kind === 'bytes' && reply.onDone !== undefined) whenOver(response, reply.onDone);
  // Complete for the client by its length; the response stays open so that the connection does.
  response.writeHead(reply.status, headOf(reply, true));
  if (isLong(reply)) dropStalled(response, options);
  if (reply.kind === 'json') response.write(reply.text);
  else if (reply.kind === 'bytes') response.write(reply.bytes);
  else response.flushHeaders();
  discard(request, () => response.end());
}

const discardLimits = { bytes: 32 * 1024 * 1024, ms: 1_000 };

function discard(request: IncomingMessage, done: () => void): void {
  let bytes = 0;
  const timer = setTimeout(finish, discardLimits.ms);
  function finish(): void {
    clearTimeout(timer);
    request.off('data', count);
    request.off('close', finish);
    done();
  }
  function count(chunk: Buffer): void {
    bytes += chunk.length;
    if (bytes > discardLimits.bytes) finish();
  }
  request.on('data', count);
  request.once('close', finish);
}

function headOf(reply: Sendable, last: boolean): string[] {
  const head: string[] = [];
  if (reply.kind === 'json') head.push('content-type', reply.contentType ?? 'application/json');
  else if (reply.kind !== 'empty') head.push('content-type', reply.contentType);
  const length = lengthOf(reply);
  if (length !== null) head.push('content-length', String(length));
  if (reply.headers !== undefined) pushHeaders(head, reply.headers);
  if (last && reply.headers?.['connection'] === undefined) head.push('connection', 'close');
  return head;
}

function lengthOf(reply: Sendable): number | null {
  if (reply.kind === 'empty') return reply.status === 204 || reply.status === 304 ? null : 0;
  if (reply.kind === 'json') return Buffer.byteLength(reply.text);
  return reply.kind === 'bytes' ? reply.bytes.byteLength : reply.length;
}

function pushHeaders(head: string[], headers: ReplyHeaders): void {
  for (const name of Object.keys(headers)) head.push(name, headers[name] ?? '');
}

/** With nothing left to be taken it is the source that is long in coming; a client that has gone breaks of the `empty` that it is sent then. */
function dropStalled(response: ServerResponse, { stalledMs }: SendOptions, empty?: string): void {
  response.setTimeout(stalledMs, () => {
    if (empty !== undefined && response.writableLength === 0) response.write(empty);
    else response.destroy();
  });
}
