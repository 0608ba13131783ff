import type { MessagePort } from 'node:worker_threads';

import type { Preopen } from './component.ts';
import type { CoreModule } from './compiler/transpiled-component.ts';
import type { RemoteRequest } from './outbound/remote-messages.ts';

/** What passes between the main thread and the thread a component runs in, and nothing else does. */

/** Cells of the shared memory. */
export const slots = {
  /** Raised by the main thread with every message it sends. */
  sent: 0,
  /** Bytes of posted messages that the main thread has not handled yet. */
  backlogBytes: 1,
  /** Nobody writes it: a place to sleep. */
  never: 2,
} as const;

export const slotCount = 3;

/** Past this a guest that posts faster than it is read sleeps: its messages wait in the main thread's memory. */
export const backlogLimitBytes = 4 * 1024 * 1024;

/** More than this in one call, answer or message of a component ends it: the values are copied into the main thread. */
export const valueLimitBytes = 64 * 1024 * 1024;

/** Told the bytes that a component writes to stdout and stderr, where its grants say so. */
export const outputFunction = 'wasi:cli/output#write';

export interface ThreadData {
  readonly port: MessagePort;
  readonly shared: SharedArrayBuffer;
}

/** What the thread needs to make the instance. */
export interface LoadMessage {
  readonly kind: 'load';
  readonly glue: string;
  readonly glueSha256: string;
  /** Interfaces the component imports, without versions. */
  readonly imports: readonly string[];
  /** From an earlier run of the same glue in the same engine; null makes the thread send a fresh one. */
  readonly codeCache: Uint8Array | null;
  readonly modules: readonly LinkedModule[];
  readonly preopens: readonly Preopen[];
  readonly env: Readonly<Record<string, string>>;
  readonly maxMemoryBytes: number;
  readonly tellsOutput: boolean;
  /** Random numbers for hash tables of the guest. */
  readonly seed: readonly [bigint, bigint];
}

export interface LinkedModule extends Pick<CoreModule, 'name'> {
  readonly module: WebAssembly.Module;
  /** How many memories it defines. A module that defines any is made into an instance once only. */
  readonly memories: number;
}

export type HostMessage =
  | LoadMessage
  | { readonly kind: 'call'; readonly interface: string; readonly function: string; readonly args: readonly unknown[] }
  | { readonly kind: 'answer'; readonly value: unknown };

export type GuestMessage =
  | { readonly kind: 'ready' }
  /** The instance could not be made; nothing the component exports has run. */
  | { readonly kind: 'unusable'; readonly reason: string }
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'trapped'; readonly fault: 'trap' | 'memory' | 'unavailable'; readonly message: string }
  | { readonly kind: 'posted'; readonly name: string; readonly args: readonly unknown[]; readonly bytes: number }
  | { readonly kind: 'asked'; readonly name: string; readonly args: readonly unknown[] }
  | { readonly kind: 'remote'; readonly request: RemoteRequest }
  | { readonly kind: 'code-cache'; readonly data: Uint8Array };
