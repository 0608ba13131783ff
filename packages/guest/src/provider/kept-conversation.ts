/** Keeps the conversation that a driver was asked about last, so that a turn costs only what it adds. */

import type { DriverRequest, Message } from '../driver.ts';

/** Makes JSON texts of a provider's own out of messages, as they come. */
export interface MessageEncoder {
  /** The texts that these messages complete, in order. */
  push(messages: readonly Message[]): readonly string[];
  /** What later messages may still add to, as it stands; null when there is nothing. */
  open(): string | null;
}

export interface EncoderChoice {
  /** Everything but the messages that their texts depend on. */
  readonly shape: string;
  readonly make: () => MessageEncoder;
  /** Unix milliseconds. */
  readonly now: number;
}

/** A conversation as it goes into the body of a request. */
export interface EncodedConversation {
  /** Elements of a JSON list, with the commas between them. */
  readonly list: readonly (string | Uint8Array)[];
  /** For the response: with this continuation id a request brings only what is new. */
  readonly continuationId: string;
}

/** What the host is answered that asks to continue a conversation which is kept no more; it then sends the whole (packages/guest/wit/deps/svc-driver). */
export const forgotten = 'kept: forgotten';

/** The conversation that was asked about last, as text that is ready to be sent: a turn costs what it adds, however long it has become. */
export class ConversationKeeper {
  #kept: KeptConversation | null = null;
  #serial = 0;

  /** Adds the messages of a request. Throws the error `forgotten` when it continues what is not kept. */
  take(request: DriverRequest, { shape, make, now }: EncoderChoice): EncodedConversation {
    const wanted = request.continuationId;
    let kept = this.#kept;
    // Whatever goes wrong from here on, half a conversation is not kept.
    this.#kept = null;
    if (wanted?.startsWith('kept:') === true) {
      if (kept === null || kept.id !== wanted || kept.shape !== shape) throw new Error(forgotten);
    } else {
      this.#serial += 1;
      kept = new KeptConversation(`${now}-${this.#serial}`, shape, make());
    }
    kept.add(request.messages);
    this.#kept = kept;
    return { list: kept.list(), continuationId: kept.id };
  }
}

class KeptConversation {
  readonly shape: string;
  readonly #name: string;
  readonly #encoder: MessageEncoder;
  #count = 0;
  #bytes = new Uint8Array(0);
  #length = 0;

  constructor(name: string, shape: string, encoder: MessageEncoder) {
    this.#name = name;
    this.shape = shape;
    this.#encoder = encoder;
  }

  /** Ends in the number of messages that are kept. */
  get id(): string {
    return `kept:${this.#name}:${this.#count}`;
  }

  add(messages: readonly Message[]): void {
    this.#count += messages.length;
    const texts = this.#encoder.push(messages);
    if (texts.length === 0) return;
    this.#append(new TextEncoder().encode(`${this.#length === 0 ? '' : ','}${texts.join(',')}`));
  }

  list(): readonly (string | Uint8Array)[] {
    const open = this.#encoder.open();
    const closed = this.#length === 0 ? [] : [this.#bytes.subarray(0, this.#length)];
    return open === null ? closed : [...closed, `${closed.length === 0 ? '' : ','}${open}`];
  }

  /** The room is doubled, so that a byte is moved twice at most on average. */
  #append(added: Uint8Array): void {
    const length = this.#length + added.length;
    if (length > this.#bytes.length) {
      const roomier = new Uint8Array(length * 2);
      roomier.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = roomier;
    }
    this.#bytes.set(added, this.#length);
    this.#length = length;
  }
}

/** The body of a request: an object whose `messages` are `before` and the conversation, and whose other keys are those of `rest`. */
export function bodyWith(
  conversation: EncodedConversation,
  { before, rest }: { readonly before: readonly object[]; readonly rest: object },
): readonly (string | Uint8Array)[] {
  const opening = before.map((message) => JSON.stringify(message)).join(',');
  const comma = opening !== '' && conversation.list.length > 0 ? ',' : '';
  const others = JSON.stringify(rest).slice(1);
  return [`{"messages":[${opening}${comma}`, ...conversation.list, `]${others === '}' ? '' : ','}${others}`];
}
