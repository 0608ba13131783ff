/** Writes answers whose end is not known when they begin, as fast as their reader takes them. */

import type { ServerResponse } from 'node:http';

import type { ReplyHeaders, StreamReply } from './reply.ts';

/** A client that takes nothing for this long loses its connection. */
const stalledMs = 60_000;

/** The body of such an answer. Nothing is kept for a slow reader but what its connection holds. */
export class OpenBody {
  readonly #response: ServerResponse;
  readonly #gone = new AbortController();

  /** The head is written. */
  constructor(response: ServerResponse) {
    this.#response = response;
    response.once('close', () => this.#gone.abort());
  }

  /** Aborted once the reader has gone, or has all of it. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Resolves once there is room for more: wait for it before the next. False when the reader has gone. One that takes nothing for a minute is cut. */
  async put(bytes: Uint8Array | string): Promise<boolean> {
    const response = this.#response;
    if (this.gone.aborted) return false;
    if (response.write(bytes)) return true;
    return await new Promise<boolean>((resolve) => {
      const cut = setTimeout(() => response.destroy(), stalledMs);
      const settle = (): void => {
        clearTimeout(cut);
        response.off('drain', settle);
        response.off('close', settle);
        resolve(!this.gone.aborted);
      };
      response.on('drain', settle);
      response.on('close', settle);
    });
  }
}

export interface OpenAnswer {
  readonly contentType: string;
  readonly headers: ReplyHeaders;
  /** Puts the body. Once it has resolved the body is whole; where it rejects, the connection is cut, so that no reader takes a part for the whole. */
  readonly make: (body: OpenBody) => Promise<void>;
  /** Receives what `make` threw. */
  readonly onBug: (error: unknown) => void;
  /** Called instead of `make` when the reader has gone before there was an answer, or wants its head alone. */
  readonly abandon?: () => void;
}

/** A reply on a connection of its own, which ends with it. */
export function openReply({ contentType, headers, make, onBug, abandon = () => {} }: OpenAnswer): StreamReply {
  return {
    kind: 'stream',
    abandon,
    start: (response) => {
      response.writeHead(200, { ...headers, 'content-type': contentType, connection: 'close' });
      if (response.req.method === 'HEAD') {
        response.end();
        abandon();
        return;
      }
      response.flushHeaders();
      make(new OpenBody(response)).then(
        () => response.end(),
        (error: unknown) => {
          response.destroy();
          onBug(error);
        },
      );
    },
  };
}
