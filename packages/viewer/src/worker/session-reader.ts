/** Reads the rows of one session in a worker, and passes on what the page asks about it. */

import type { LiveNow } from '@svc/protocol/viewed-session.ts';
import type { Block } from '@svc/protocol/viewed-rows.ts';
import type { FromWorker, Place } from '../messages.ts';
import {
  BrokenStream,
  eachLine,
  heldBytes,
  json,
  livesAgain,
  pause,
  type Served,
  servedRows,
  SourceFault,
} from './byte-sources.ts';
import { followNow } from './follow-now.ts';
import { heldAnswers } from './held-answers.ts';

const maxRetries = 1000;

export class SessionReader {
  readonly #post: (message: FromWorker) => void;
  #place: Served | null = null;
  #answer: (path: string) => Promise<unknown> = () => Promise.resolve();
  #trace: Promise<void> = Promise.resolve();
  #count = 0;

  constructor(post: (message: FromWorker) => void) {
    this.#post = post;
  }

  async open(place: Place): Promise<void> {
    if (place.kind === 'held') {
      this.#answer = heldAnswers(place);
      await this.#telling(async () => await this.#read(heldBytes(place.rows)));
      return;
    }
    this.#place = place;
    this.#answer = async (path) => await json(place, path);
    this.#trace = this.#telling(async () => await this.#readRows(place));
    await this.#trace;
  }

  /** What the server answers at a path of the session. */
  async ask(path: string): Promise<unknown> {
    return await this.#answer(path);
  }

  /** Follows a session that runs, and what its capsule does; a session that is resumed goes on in the same files. */
  async live(): Promise<void> {
    const place = this.#place;
    if (place === null) return;
    const followRows = async (): Promise<void> => {
      await this.#trace;
      while (await livesAgain(place)) await this.#readRows(place);
    };
    const tell = (now: LiveNow | null): void => this.#post({ kind: 'live', now });
    await Promise.all([this.#telling(async () => await followNow(place, tell)), this.#telling(followRows)]);
  }

  /** A connection that breaks off is opened again where it was; one that ends is over. */
  async #readRows(place: Served): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      const stream = await servedRows(place, this.#count);
      try {
        await this.#read(stream);
        return;
      } catch (error) {
        if (!(error instanceof BrokenStream) || tries >= maxRetries) throw error;
        await pause(Math.min(5000, 100 * 2 ** Math.min(tries, 6)));
      }
    }
  }

  async #telling(read: () => Promise<void>): Promise<void> {
    try {
      await read();
    } catch (error) {
      if (!(error instanceof SourceFault || error instanceof BrokenStream)) throw error;
      const why = error instanceof SourceFault ? error.message : 'What comes after this cannot be read: it is damaged.';
      this.#post({ kind: 'lost', why });
    }
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    await eachLine(stream, (line) => {
      const block = JSON.parse(line) as Block;
      this.#count = block.rows.first + block.rows.kind.length;
      this.#post({ kind: 'rows', block });
    });
    this.#post({ kind: 'whole' });
  }
}
