/**
 * Types the interfaces of `wit/` that a component imports, as componentize-qjs spells them; those that nothing has needed so far are left out.
 * A `result` returns its value or throws an `Error` whose `payload` is the WIT error. An absent option is `null`; a 64-bit
 * number is a `number`. A resource is owned by whoever got it and disposed children first.
 */

declare module 'svc:text/chunks@0.1.0' {
  export function emitChunk(text: string): void;
  export function emitThinkingChunk(text: string): void;
}

declare module 'svc:task/task@0.1.0' {
  export function requestInput(prompt: string): string;
}

declare module 'svc:runtime/inference@0.1.0' {
  export interface CompletionRequest {
    readonly system: string | null;
    readonly prompt: string;
    readonly maxTokens: number | null;
  }

  export function complete(request: CompletionRequest): string;
}

declare module 'wasi:cli/stderr@0.2.12' {
  import type { OutputStream } from 'wasi:io/streams@0.2.12';

  export function getStderr(): OutputStream;
}

declare module 'wasi:clocks/monotonic-clock@0.2.12' {
  import type { Pollable } from 'wasi:io/poll@0.2.12';

  export function subscribeDuration(nanoseconds: number): Pollable;
}

declare module 'wasi:io/error@0.2.12' {
  export class Error implements Disposable {
    private constructor();
    toDebugString(): string;
    [Symbol.dispose](): void;
  }
}

declare module 'wasi:io/poll@0.2.12' {
  export class Pollable implements Disposable {
    private constructor();
    block(): void;
    [Symbol.dispose](): void;
  }
  /** The indexes of those that are ready, at least one. */
  export function poll(pollables: readonly Pollable[]): Uint32Array;
}

declare module 'wasi:io/streams@0.2.12' {
  import type { Error as IoError } from 'wasi:io/error@0.2.12';
  import type { Pollable } from 'wasi:io/poll@0.2.12';

  export type StreamError = { tag: 'last-operation-failed'; val: IoError } | { tag: 'closed' };

  export class InputStream implements Disposable {
    private constructor();
    blockingRead(length: number): Uint8Array;
    subscribe(): Pollable;
    [Symbol.dispose](): void;
  }

  export class OutputStream implements Disposable {
    private constructor();
    checkWrite(): number;
    write(contents: Uint8Array): void;
    blockingFlush(): void;
    subscribe(): Pollable;
    [Symbol.dispose](): void;
  }
}

declare module 'wasi:http/types@0.2.12' {
  import type { Pollable } from 'wasi:io/poll@0.2.12';
  import type { InputStream, OutputStream } from 'wasi:io/streams@0.2.12';

  export interface ErrorCode {
    readonly tag: string;
    readonly val?: unknown;
  }

  export type Result<Value> = { tag: 'ok'; val: Value } | { tag: 'err'; val: ErrorCode };

  export class Fields implements Disposable {
    static fromList(entries: [name: string, value: Uint8Array][]): Fields;
    get(name: string): Uint8Array[];
    [Symbol.dispose](): void;
  }

  export class OutgoingRequest implements Disposable {
    constructor(headers: Fields);
    setMethod(method: { tag: 'get' | 'head' | 'post' | 'put' | 'delete' | 'options' | 'patch' }): void;
    setScheme(scheme: { tag: 'HTTP' } | { tag: 'HTTPS' }): void;
    setAuthority(authority: string): void;
    setPathWithQuery(path: string): void;
    body(): OutgoingBody;
    [Symbol.dispose](): void;
  }

  export class OutgoingBody implements Disposable {
    private constructor();
    static finish(body: OutgoingBody, trailers: null): void;
    write(): OutputStream;
    [Symbol.dispose](): void;
  }

  export class FutureIncomingResponse implements Disposable {
    private constructor();
    subscribe(): Pollable;
    get(): { tag: 'ok'; val: Result<IncomingResponse> } | { tag: 'err' } | null;
    [Symbol.dispose](): void;
  }

  export class IncomingResponse implements Disposable {
    private constructor();
    status(): number;
    headers(): Fields;
    consume(): IncomingBody;
    [Symbol.dispose](): void;
  }

  export class IncomingBody implements Disposable {
    private constructor();
    stream(): InputStream;
    [Symbol.dispose](): void;
  }
}

declare module 'wasi:http/outgoing-handler@0.2.12' {
  import type { FutureIncomingResponse, OutgoingRequest } from 'wasi:http/types@0.2.12';

  export function handle(request: OutgoingRequest, options: null): FutureIncomingResponse;
}

declare module 'wasi:filesystem/types@0.2.12' {
  export type DescriptorType =
    | 'unknown'
    | 'block-device'
    | 'character-device'
    | 'directory'
    | 'fifo'
    | 'symbolic-link'
    | 'regular-file'
    | 'socket';

  export interface DescriptorStat {
    readonly type: DescriptorType;
    readonly size: number;
  }

  export interface DirectoryEntry {
    readonly type: DescriptorType;
    readonly name: string;
  }

  export class DirectoryEntryStream implements Disposable {
    private constructor();
    readDirectoryEntry(): DirectoryEntry | null;
    [Symbol.dispose](): void;
  }

  export class Descriptor implements Disposable {
    private constructor();
    read(length: number, offset: number): [bytes: Uint8Array, end: boolean];
    write(bytes: Uint8Array, offset: number): number;
    sync(): void;
    readDirectory(): DirectoryEntryStream;
    createDirectoryAt(path: string): void;
    statAt(pathFlags: { symlinkFollow: boolean }, path: string): DescriptorStat;
    openAt(
      pathFlags: { symlinkFollow: boolean },
      path: string,
      openFlags: { create?: boolean; directory?: boolean; exclusive?: boolean; truncate?: boolean },
      flags: { read?: boolean; write?: boolean; mutateDirectory?: boolean },
    ): Descriptor;
    renameAt(oldPath: string, newDescriptor: Descriptor, newPath: string): void;
    unlinkFileAt(path: string): void;
    [Symbol.dispose](): void;
  }
}

declare module 'wasi:filesystem/preopens@0.2.12' {
  import type { Descriptor } from 'wasi:filesystem/types@0.2.12';

  export function getDirectories(): [descriptor: Descriptor, path: string][];
}
