/** What a sender notes on a message in its headers, besides where it comes from. */

import { decodeTraceparent } from './traceparent.ts';

/** Notes that no task depends on: they identify senders and records of a task. */
export interface MessageTags {
  /** A message with the key of an earlier one is the same message, sent again (docs/protocol.md "Sending again"). */
  readonly idempotencyKey?: string | undefined;
  /** The span that the task belongs to (W3C Trace Context, version 00). */
  readonly traceparent?: string | undefined;
}

export type DecodedMessageTags =
  | { readonly kind: 'tags'; readonly tags: MessageTags }
  /** `problem` repeats nothing of what was sent. */
  | { readonly kind: 'invalid'; readonly problem: string };

const keyHeader = 'idempotency-key';
const traceparentHeader = 'traceparent';

const visibleAscii = /^[\x21-\x7e]{1,255}$/;

/** The headers of a message with these tags. */
export function encodeMessageTags({ idempotencyKey, traceparent }: MessageTags): Readonly<Record<string, string>> {
  return {
    ...(idempotencyKey === undefined ? {} : { [keyHeader]: idempotencyKey }),
    ...(traceparent === undefined ? {} : { [traceparentHeader]: traceparent }),
  };
}

/**
 * `header` gives the value of a header that stands once. A `traceparent` of another form counts as absent, as its standard asks; a key that is
 * none is refused, since the sender counts on it.
 */
export function decodeMessageTags(header: (name: string) => string | undefined): DecodedMessageTags {
  const [idempotencyKey, span] = [header(keyHeader), header(traceparentHeader)];
  if (idempotencyKey !== undefined && !visibleAscii.test(idempotencyKey)) {
    return { kind: 'invalid', problem: 'Idempotency-Key must have 1 to 255 visible ASCII characters' };
  }
  const traceparent = span !== undefined && decodeTraceparent(span) !== null ? span : undefined;
  return { kind: 'tags', tags: { idempotencyKey, traceparent } };
}
