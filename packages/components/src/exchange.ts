/** Says which messages pass between the session and the process that a component runs in. */

import type { SeenTranspiled } from './compiler/read-transpiled.ts';
import type { TranspiledComponent } from './compiler/transpiled-component.ts';
import type { ImportMode } from './import-log.ts';
import type { RemoteRequest } from './outbound/remote-messages.ts';

/** What passes between the session and the process a component runs in, and nothing else does. */

/** More than this in one call, answer or message of a component ends it: the session holds the values. */
export const valueLimitBytes = 64 * 1024 * 1024;

/** The most bytes of one message: a value, and what it is wrapped in. */
export const messageLimitBytes: number = valueLimitBytes + 4 * 1024 * 1024;

/** Receives the bytes that a component writes to stdout and stderr, where its grants say so. */
export const outputFunction = 'wasi:cli/output#write';

/** Receives the path and the error code of a file operation that is not permitted. */
export const refusedFileFunction = 'wasi:filesystem/types#refused';

/** Answers whether a component may change what it is about to change. */
export const changeFunction = 'wasi:filesystem/types#change';

/** A directory as the process gets it. */
export interface GivenDirectory {
  readonly guestPath: string;
  readonly writable: boolean;
  /** A descriptor that the process was started with; a real path on hosts where paths are checked instead. */
  readonly place: number | string;
  /** As of `Preopen`. */
  readonly masked?: readonly string[];
  readonly maskedNames?: readonly string[];
  readonly fixed?: readonly string[];
}

/** The file of a compiled component, which the process reads before anything of the component runs, or the component itself. */
export type GivenCompiled =
  | { readonly kind: 'file'; readonly seen: Pick<SeenTranspiled, 'path' | 'digest'> }
  | { readonly kind: 'whole'; readonly component: Pick<TranspiledComponent, 'glue' | 'imports' | 'modules'> };

/** What the process needs to make the instance. */
export interface LoadMessage {
  readonly kind: 'load';
  readonly compiled: GivenCompiled;
  /** Where code of an earlier run of the same glue in the same engine may lie. The process sends what it makes where none does. */
  readonly codePath: string;
  readonly directories: readonly GivenDirectory[];
  readonly env: Readonly<Record<string, string>>;
  readonly maxMemoryBytes: number;
  readonly tellsOutput: boolean;
  /** Whether the session is asked about each change of a file. */
  readonly asksChanges?: boolean;
  /** Random numbers for hash tables of the guest. */
  readonly seed: readonly [bigint, bigint];
  /** Where imports get their answers. */
  readonly mode: ImportMode;
}

export type HostMessage =
  | LoadMessage
  /** Where imports are played, answers `compiled`, with the log of the start and the first call. */
  | { readonly kind: 'link'; readonly log: string | undefined }
  | {
      readonly kind: 'call';
      readonly interface: string;
      readonly function: string;
      readonly args: readonly unknown[];
      /** The log of this call, if imports are played and it is not the first call. */
      readonly log?: string;
    }
  | { readonly kind: 'answer'; readonly value: unknown };

export type GuestMessage =
  /** Nothing of the guest has run before. It is linked at once, or after a `link` where imports are played. */
  | { readonly kind: 'compiled' }
  /** The file of the component is gone, another or damaged: another `load` comes. */
  | { readonly kind: 'unread' }
  | { readonly kind: 'ready' }
  /** The instance could not be made; nothing the component exports has run. */
  | { readonly kind: 'unusable'; readonly reason: string }
  /** `log` where imports are recorded: a list of `ImportLogEntry` as JSON, null for one that was too long. */
  | { readonly kind: 'returned'; readonly value: unknown; readonly log?: string | null }
  | {
      readonly kind: 'trapped';
      readonly fault: 'trap' | 'memory' | 'unavailable';
      readonly message: string;
      readonly log?: string | null;
    }
  /** Where imports are played: the component left its log. `at` is the index of the entry, `args` are JSON. */
  | { readonly kind: 'parted'; readonly at: number; readonly asked: string | null; readonly args: string }
  | { readonly kind: 'posted'; readonly name: string; readonly args: readonly unknown[] }
  | { readonly kind: 'asked'; readonly name: string; readonly args: readonly unknown[] }
  | { readonly kind: 'remote'; readonly request: RemoteRequest }
  | { readonly kind: 'code-cache'; readonly data: Uint8Array };
