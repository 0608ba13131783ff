/** Says what the bundled drivers need of the world around them. */

import type { DriverRequest, DriverResponse } from '../driver.ts';
import type { DriverNote } from './driver-notes.ts';
import type { Steps } from './steps.ts';

/** Where the pieces of a reply go while it is being made. */
export interface ReplySink {
  emitText(text: string): void;
  emitThinking(text: string): void;
}

export interface PostRequest {
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Parts that follow each other; text goes out as UTF-8. */
  readonly body: string | readonly (string | Uint8Array)[];
}

/** The head of what a provider answers, and the way to its body. */
export interface ProviderAnswer {
  readonly status: number;
  /** The first value of a header; `name` is lower case. Null when the response has none of that name. */
  header(name: string): string | null;
  /**
   * The next piece of the body as UTF-8; null at the end, and when none has come within `patienceMs`, which is null for as long as it takes.
   * Throws `RequestFailure` when the connection breaks.
   */
  read(patienceMs: number | null): string | null | Promise<string | null>;
  /** Closes the connection; harmless when it is closed. */
  close(): void;
}

/** In a component all of it blocks: that has one thread and no event loop. Elsewhere what waits gives a promise. */
export interface DriverPorts extends ReplySink {
  /** Throws `RequestFailure` when no response can be had. */
  post(request: PostRequest): ProviderAnswer | Promise<ProviderAnswer>;
  sleep(milliseconds: number): void | Promise<void>;
  /** Tells the host what the response has no place for. */
  note(note: DriverNote): void;
  /** Unix milliseconds. */
  now(): number;
}

/** A bundled driver, wherever it runs. */
export type DriverCode = (request: DriverRequest, ports: DriverPorts) => Steps<DriverResponse>;
