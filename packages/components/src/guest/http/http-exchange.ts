/** Carries one HTTP request of a component to the session and its response back. */

import type { HttpErrorCode, HeadAnswer, OpenAnswer, RemoteWait, WriteAnswer } from '../../outbound/remote-messages.ts';
import { alwaysReady, IoError, type Readiness } from '../io.ts';
import type { Mailbox } from '../mailbox.ts';
import { Retained } from '../retained.ts';
import { type ByteSource, closed, raise } from '../streams.ts';

/** One request and its response, the guest's end. The last holder closes it. */
export class HttpExchange {
  readonly #mailbox: Mailbox;
  readonly #number: number;
  /** Why nothing is exchanged: everything asked of it fails so. */
  readonly #refusal: HttpErrorCode | null;
  #open = true;

  constructor(mailbox: Mailbox, opened: OpenAnswer) {
    this.#mailbox = mailbox;
    this.#number = opened.kind === 'opened' ? opened.exchange : 0;
    this.#refusal = opened.kind === 'opened' ? null : opened.error;
  }

  head(): HeadAnswer {
    if (this.#refusal !== null) return { kind: 'failed', error: this.#refusal };
    return this.#mailbox.askRemote({ operation: 'head', exchange: this.#number });
  }

  write(bytes: Uint8Array): WriteAnswer {
    if (this.#refusal !== null) return { kind: 'failed', error: this.#refusal };
    return this.#mailbox.askRemote({ operation: 'write', exchange: this.#number, bytes });
  }

  finish(): WriteAnswer {
    if (this.#refusal !== null) return { kind: 'failed', error: this.#refusal };
    return this.#mailbox.askRemote({ operation: 'finish', exchange: this.#number });
  }

  waitFor(event: RemoteWait['event'], isReady: () => boolean = () => false): Readiness {
    return this.#refusal === null ? { isReady, remote: { exchange: this.#number, event } } : alwaysReady;
  }

  /** The body of the response. Closing it leaves the exchange open. */
  body(): ByteSource {
    let rest = new Uint8Array(0);
    const retained = new Retained();
    return {
      read: (maxBytes, wait) => {
        if (rest.length === 0) rest = this.#read(wait);
        const bytes = rest.subarray(0, maxBytes);
        rest = rest.subarray(bytes.length);
        retained.set(rest.length === 0 ? 0 : rest.buffer.byteLength);
        return bytes;
      },
      readiness: this.waitFor('body', () => rest.length > 0),
      close: () => retained.set(0),
    };
  }

  #read(wait: boolean): Uint8Array<ArrayBuffer> {
    if (this.#refusal !== null) return failStream(this.#refusal);
    const answer = this.#mailbox.askRemote({ operation: 'read', exchange: this.#number, wait });
    switch (answer.kind) {
      case 'bytes':
        return Uint8Array.from(answer.bytes);
      case 'pending':
        return new Uint8Array(0);
      case 'ended':
        return raise(closed);
      case 'failed':
        return failStream(answer.error);
    }
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    if (this.#refusal !== null) return;
    this.#mailbox.askRemote({ operation: 'close', exchange: this.#number });
  }
}

/** Ends a stream operation; `http-error-code` takes the code out of the error. */
export function failStream(error: HttpErrorCode): never {
  return raise({ tag: 'last-operation-failed', val: new IoError(`the HTTP exchange failed: ${error.tag}`, error) });
}
