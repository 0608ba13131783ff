/** Gives components streams of bytes to read from and to write to (`wasi:io/streams`), and keeps the last of what they write to their output. */

import { alwaysReady, type IoError, Pollable, type Readiness, type WaitingRoom } from './io.ts';
import { HostObject } from './retained.ts';

/** As WIT spells it; thrown, it becomes the error of the function's result. */
type StreamError = { readonly tag: 'closed' } | { readonly tag: 'last-operation-failed'; readonly val: IoError };

export const closed: StreamError = { tag: 'closed' };

/** One transfer moves at most this much. */
export const transferBytes = 1024 * 1024;

/** Where an input stream reads from. Failures are thrown `StreamError`s. */
export interface ByteSource {
  /** At most `maxBytes` bytes; none when nothing is there yet and `wait` is false. */
  read(maxBytes: number, wait: boolean): Uint8Array;
  readonly readiness: Readiness;
  close(): void;
}

/** Where an output stream writes to. Failures are thrown `StreamError`s. */
export interface ByteSink {
  /** How many bytes `write` takes now. */
  room(): number;
  write(bytes: Uint8Array): void;
  /** Sleeps until `room` is more than nothing. */
  waitForRoom(): void;
  flush(): void;
  readonly readiness: Readiness;
  close(): void;
}

/** A sink that is always ready: it hands each write on as it comes and keeps nothing back. */
export function readySink(write: (bytes: Uint8Array) => void, close: () => void = () => {}): ByteSink {
  return {
    room: () => transferBytes,
    write,
    waitForRoom: () => {},
    flush: () => {},
    readiness: alwaysReady,
    close,
  };
}

export const endedSource: ByteSource = {
  read: () => raise(closed),
  readiness: alwaysReady,
  close: () => {},
};

export class InputStream extends HostObject {
  readonly #source: ByteSource;
  readonly #room: WaitingRoom;

  constructor(source: ByteSource, room: WaitingRoom) {
    super();
    this.#source = source;
    this.#room = room;
  }

  read(length: bigint): Uint8Array {
    return this.#source.read(transferSize(length), false);
  }

  blockingRead(length: bigint): Uint8Array {
    return this.#source.read(transferSize(length), length > 0n);
  }

  skip(length: bigint): bigint {
    return BigInt(this.read(length).length);
  }

  blockingSkip(length: bigint): bigint {
    return BigInt(this.blockingRead(length).length);
  }

  subscribe(): Pollable {
    return new Pollable(this.#source.readiness, this.#room);
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.#source.close();
  }
}

export class OutputStream extends HostObject {
  readonly #sink: ByteSink;
  readonly #room: WaitingRoom;

  constructor(sink: ByteSink, room: WaitingRoom) {
    super();
    this.#sink = sink;
    this.#room = room;
  }

  checkWrite(): bigint {
    return BigInt(this.#sink.room());
  }

  write(contents: Uint8Array): void {
    if (contents.length > this.#sink.room()) throw new Error('write was called with more than check-write allowed');
    this.#sink.write(contents);
  }

  blockingWriteAndFlush(contents: Uint8Array): void {
    for (let at = 0; at < contents.length;) {
      this.#sink.waitForRoom();
      const end = at + Math.min(contents.length - at, this.#sink.room());
      this.#sink.write(contents.subarray(at, end));
      at = end;
    }
    this.#sink.flush();
  }

  flush(): void {
    this.#sink.flush();
  }

  blockingFlush(): void {
    this.#sink.flush();
  }

  writeZeroes(length: bigint): void {
    if (length > BigInt(this.#sink.room()))
      throw new Error('write-zeroes was called with more than check-write allowed');
    this.#sink.write(new Uint8Array(Number(length)));
  }

  blockingWriteZeroesAndFlush(length: bigint): void {
    if (length > BigInt(transferBytes)) throw new Error('more zeroes than one call may write');
    this.blockingWriteAndFlush(new Uint8Array(Number(length)));
  }

  splice(source: InputStream, length: bigint): bigint {
    const room = this.checkWrite();
    const bytes = source.read(length < room ? length : room);
    this.#sink.write(bytes);
    return BigInt(bytes.length);
  }

  blockingSplice(source: InputStream, length: bigint): bigint {
    this.#sink.waitForRoom();
    const room = this.checkWrite();
    const bytes = source.blockingRead(length < room ? length : room);
    this.#sink.write(bytes);
    return BigInt(bytes.length);
  }

  subscribe(): Pollable {
    return new Pollable(this.#sink.readiness, this.#room);
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.#sink.close();
  }
}

export function raise(error: unknown): never {
  throw error;
}

function transferSize(length: bigint): number {
  return length > BigInt(transferBytes) ? transferBytes : Number(length);
}

const keptBytes = 8 * 1024;

/** The end of what a component wrote to stdout and stderr. Earlier bytes are forgotten, and nothing is printed. */
export class OutputTail {
  readonly #tell: (bytes: Uint8Array) => void;
  #kept: Buffer = Buffer.alloc(0);
  #isCut = false;

  /** `tell` receives everything as it is written, in a copy. */
  constructor(tell: (bytes: Uint8Array) => void = () => {}) {
    this.#tell = tell;
  }

  sink(): ByteSink {
    return readySink((bytes) => {
      const joined = Buffer.concat([this.#kept, bytes.subarray(-keptBytes)]);
      this.#isCut ||= this.#kept.length + bytes.length > keptBytes;
      this.#kept = joined.subarray(-keptBytes);
      this.#tell(new Uint8Array(bytes));
    });
  }

  /** The last lines, without control characters, at most `maxLines`; `…` in front of a line that is not whole. */
  lastLines(maxLines: number): string {
    const kept = `${this.#isCut ? '…' : ''}${this.#kept.toString('utf8')}`;
    const text = kept.replaceAll(/[^\P{Cc}\n]/gu, '');
    return text.trim().split('\n').slice(-maxLines).join('\n');
  }

  clear(): void {
    this.#kept = Buffer.alloc(0);
    this.#isCut = false;
  }
}
