/** Reads the outputs of a started process, and stops it: SIGTERM, then SIGKILL after a grace period. */

import type { Readable } from 'node:stream';
import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { GatheredBytes } from '@svc/kit/gathered-bytes.ts';
import type { LaunchedProcess } from './launcher.ts';

/** The bytes of a process output until it is closed; one that the launcher closed by force just ends. */
export async function* readOutput(output: Readable): AsyncGenerator<Buffer, void, undefined> {
  try {
    for await (const chunk of output) yield chunk as Buffer;
  } catch (error) {
    if (errorCode(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

export type OutputLine =
  | { readonly kind: 'line'; readonly bytes: Buffer }
  /** What stood after the last line end when the output was closed; not empty. */
  | { readonly kind: 'rest'; readonly bytes: Buffer }
  /** A line passed the limit; reading stops with it and closes the output. */
  | { readonly kind: 'too-long' };

const lineFeed = 0x0a;

/** The lines of an output, without their line feeds. Holds at most `maxBytes` and one chunk, however small the pieces are that it comes in. */
export async function* readLines(output: Readable, maxBytes: number): AsyncGenerator<OutputLine, void, undefined> {
  const held = new GatheredBytes();
  for await (const chunk of readOutput(output)) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      if (held.length + end - start > maxBytes) return yield { kind: 'too-long' };
      yield { kind: 'line', bytes: held.takeWith(chunk.subarray(start, end)) };
      start = end + 1;
    }
    held.append(chunk.subarray(start));
    if (held.length > maxBytes) return yield { kind: 'too-long' };
  }
  if (held.length > 0) yield { kind: 'rest', bytes: held.take() };
}

/** The last bytes of an output that is otherwise thrown away, for saying why a process failed; the first ones too where they are asked for. */
export class OutputTail {
  readonly #maxBytes: number;
  readonly #maxHeadBytes: number;
  #head: Buffer = Buffer.alloc(0);
  #kept: Buffer = Buffer.alloc(0);
  #dropped = false;

  constructor(maxBytes: number, maxHeadBytes = 0) {
    this.#maxBytes = maxBytes;
    this.#maxHeadBytes = maxHeadBytes;
  }

  /** Reads to the end. */
  async read(output: Readable): Promise<void> {
    for await (const chunk of readOutput(output)) {
      this.#take(chunk);
    }
  }

  #take(chunk: Buffer): void {
    const room = this.#maxHeadBytes - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    const all = Buffer.concat([this.#kept, chunk.subarray(Math.max(room, 0))]);
    this.#dropped ||= all.length > this.#maxBytes;
    this.#kept = Buffer.from(all.subarray(-this.#maxBytes));
  }

  /** What was kept so far, without blanks around it; for what was dropped stands a line `…`, or one `…` in front where no head is kept. */
  text(): string {
    const between = !this.#dropped ? '' : this.#head.length > 0 ? '\n…\n' : '…';
    return `${this.#head.toString('utf8')}${between}${this.#kept.toString('utf8')}`.trim();
  }
}

/** Asks the whole group to end, and ends it after `graceMs`. Settles when it is over. */
export async function endProcess(launched: LaunchedProcess, graceMs: number): Promise<void> {
  launched.kill('SIGTERM');
  const force = setTimeout(() => {
    launched.kill('SIGKILL');
  }, graceMs);
  await launched.ended;
  clearTimeout(force);
}

/** Ends the process as soon as the signal is aborted, now if it is already. The returned function stops listening. */
export function endOnAbort(launched: LaunchedProcess, signal: AbortSignal, graceMs: number): () => void {
  const end = (): void => {
    void endProcess(launched, graceMs);
  };
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  return () => {
    signal.removeEventListener('abort', end);
  };
}
