/** Carries one HTTP request of a component to the session and its response back. */

import {
  type Arrival,
  type HttpErrorCode,
  type HeadAnswer,
  headerSectionBytes,
  type OpenAnswer,
  type ReadAnswer,
  type RemoteWait,
  type WriteAnswer,
} from '../../outbound/remote-messages.ts';
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
  /** What has come and the guest has not asked for yet. */
  #head: HeadAnswer | null = null;
  #knowsHead = false;
  #next: ReadAnswer | null = null;
  readonly #kept = new Retained();

  constructor(mailbox: Mailbox, opened: OpenAnswer) {
    this.#mailbox = mailbox;
    this.#number = opened.kind === 'opened' ? opened.exchange : 0;
    this.#refusal = opened.kind === 'opened' ? null : opened.error;
  }

  head(): HeadAnswer {
    if (this.#refusal !== null) return { kind: 'failed', error: this.#refusal };
    const head = this.#head ?? this.#mailbox.askRemote({ operation: 'head', exchange: this.#number });
    this.#knowsHead = head.kind !== 'pending';
    this.#head = null;
    this.#count();
    return head;
  }

  write(bytes: Uint8Array): WriteAnswer {
    if (this.#refusal !== null) return { kind: 'failed', error: this.#refusal };
    return this.#mailbox.askRemote({ operation: 'write', exchange: this.#number, bytes });
  }

  finish(): WriteAnswer {
    if (this.#refusal !== null) return { kind: 'failed', error: this.#refusal };
    return this.#mailbox.askRemote({ operation: 'finish', exchange: this.#number });
  }

  waitForHead(): Readiness {
    return this.#waitFor('head', () => this.#knowsHead);
  }

  #waitFor(event: RemoteWait['event'], isReady: () => boolean): Readiness {
    if (this.#refusal !== null) return alwaysReady;
    return { isReady, remote: { exchange: this.#number, event, keep: (arrival) => this.#keep(arrival) } };
  }

  /** What has come with the end of a wait stays here until the guest asks for it. */
  #keep({ head, read }: Arrival): void {
    if (head !== undefined) {
      this.#knowsHead = true;
      this.#head = head.kind === 'arrived' ? { ...head, headers: head.headers.map(copiedField) } : head;
    }
    if (read !== undefined) this.#next = copied(read);
    this.#count();
  }

  #count(): void {
    const headBytes = this.#head?.kind === 'arrived' ? headerSectionBytes(this.#head.headers) : 0;
    this.#kept.set(headBytes + (this.#next?.kind === 'bytes' ? this.#next.bytes.length : 0));
  }

  /** The body of the response. Closing it leaves the exchange open. */
  body(): ByteSource {
    let rest: Uint8Array = new Uint8Array(0);
    const retained = new Retained();
    return {
      read: (maxBytes, wait) => {
        if (rest.length === 0) rest = this.#read(wait);
        const bytes = rest.subarray(0, maxBytes);
        rest = rest.subarray(bytes.length);
        retained.set(rest.length === 0 ? 0 : rest.buffer.byteLength);
        return bytes;
      },
      readiness: this.#waitFor('body', () => rest.length > 0 || this.#next !== null),
      close: () => retained.set(0),
    };
  }

  #read(wait: boolean): Uint8Array {
    if (this.#refusal !== null) return failStream(this.#refusal);
    const answer =
      this.#taken() ?? copied(this.#mailbox.askRemote({ operation: 'read', exchange: this.#number, wait }));
    switch (answer.kind) {
      case 'bytes':
        return answer.bytes;
      case 'pending':
        return new Uint8Array(0);
      case 'ended':
        return raise(closed);
      case 'failed':
        return failStream(answer.error);
    }
  }

  #taken(): ReadAnswer | null {
    const next = this.#next;
    this.#next = null;
    this.#count();
    return next;
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    [this.#head, this.#next] = [null, null];
    this.#count();
    if (this.#refusal === null) this.#mailbox.closeRemote(this.#number);
  }
}

function copiedField([name, value]: readonly [string, Uint8Array]): readonly [string, Uint8Array] {
  return [name, Uint8Array.from(value)];
}

/** Bytes in a message are a part of it, which would stay with them. */
function copied(answer: ReadAnswer): ReadAnswer {
  return answer.kind === 'bytes' ? { kind: 'bytes', bytes: Uint8Array.from(answer.bytes) } : answer;
}

/** Ends a stream operation; `http-error-code` takes the code out of the error. */
export function failStream(error: HttpErrorCode): never {
  return raise({ tag: 'last-operation-failed', val: new IoError(`the HTTP exchange failed: ${error.tag}`, error) });
}
