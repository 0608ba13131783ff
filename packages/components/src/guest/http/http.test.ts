import { describe, expect, it } from 'vitest';

import type { RemoteAnswers, RemoteRequest } from '../../outbound/remote-messages.ts';
import type { WaitingRoom } from '../io.ts';
import { Mailbox } from '../mailbox.ts';
import { Fields } from './fields.ts';
import { http } from './http.ts';
import type { FutureIncomingResponse } from './incoming-response.ts';
import type { OutgoingRequest } from './outgoing-request.ts';

/** Writes down what the session would be asked, and refuses it. */
class Asked extends Mailbox {
  readonly requests: RemoteRequest[] = [];

  override askRemote<Request extends RemoteRequest>(request: Request): RemoteAnswers[Request['operation']] {
    this.requests.push(request);
    return { kind: 'refused', error: { tag: 'HTTP-request-denied' } } as RemoteAnswers[Request['operation']];
  }
}

const room: WaitingRoom = { now: () => 0n, sleep: () => {}, awaitRemote: () => [] };

function answerTo(value: Uint8Array): { readonly answer: unknown; readonly asked: number } {
  const mailbox = new Asked();
  const interfaces = http(mailbox, room);
  const Request = interfaces['wasi:http/types']?.['OutgoingRequest'] as new (fields: Fields) => OutgoingRequest;
  const handle = interfaces['wasi:http/outgoing-handler']?.['handle'] as (
    request: OutgoingRequest,
    options: undefined,
  ) => FutureIncomingResponse;
  const response = handle(new Request(Fields.fromList([['x', value]])), undefined);
  return { answer: response.get(), asked: mailbox.requests.length };
}

function failed(error: unknown): unknown {
  return { tag: 'ok', val: { tag: 'err', val: error } };
}

describe('a request of a component', () => {
  it('fails when its headers are larger than any may be, before the session gets a byte of it', () => {
    const size = 256 * 1024;
    const fits = new Uint8Array(size - 5).fill(0x61);
    expect(answerTo(fits)).toEqual({ answer: failed({ tag: 'HTTP-request-denied' }), asked: 1 });
    expect(answerTo(new Uint8Array(30_000_000).fill(0x61))).toEqual({
      answer: failed({ tag: 'HTTP-request-header-section-size', val: 30_000_005 }),
      asked: 0,
    });
  });
});
