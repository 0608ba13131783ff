import { describe, expect, it } from 'vitest';

import type { Arrival, RemoteAnswers, RemoteRequest } from '../../outbound/remote-messages.ts';
import type { WaitingRoom } from '../io.ts';
import { Mailbox } from '../mailbox.ts';
import { Fields } from './fields.ts';
import { http } from './http.ts';
import { bytesInUse } from '../retained.ts';
import { closed } from '../streams.ts';
import type { FutureIncomingResponse, IncomingResponse } from './incoming-response.ts';
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

function handleBy(mailbox: Mailbox, headers: [string, Uint8Array][], inRoom = room): FutureIncomingResponse {
  const interfaces = http(mailbox, inRoom);
  const Request = interfaces['wasi:http/types']?.['OutgoingRequest'] as new (fields: Fields) => OutgoingRequest;
  const handle = interfaces['wasi:http/outgoing-handler']?.['handle'] as (
    request: OutgoingRequest,
    options: undefined,
  ) => FutureIncomingResponse;
  return handle(new Request(Fields.fromList(headers)), undefined);
}

function answerTo(value: Uint8Array): { readonly answer: unknown; readonly asked: number } {
  const mailbox = new Asked();
  const response = handleBy(mailbox, [['x', value]]);
  return { answer: response.get(), asked: mailbox.requests.length };
}

/** Opens one exchange and answers what is asked of it in turn. */
class Answering extends Mailbox {
  readonly asked: string[] = [];
  readonly #answers: unknown[];

  constructor(...answers: readonly unknown[]) {
    super();
    this.#answers = [{ kind: 'opened', exchange: 7 }, ...answers];
  }

  override askRemote<Request extends RemoteRequest>(request: Request): RemoteAnswers[Request['operation']] {
    this.asked.push(request.operation);
    return this.#answers.shift() as RemoteAnswers[Request['operation']];
  }

  override closeRemote(): void {
    this.asked.push('close');
  }

  /** Where every wait is over at once, with this. */
  room(...arrivals: readonly Partial<Arrival>[]): WaitingRoom {
    const left = [...arrivals];
    return {
      ...room,
      awaitRemote: ([wait]) => {
        this.asked.push('wait');
        wait?.keep({ exchange: 7, ...left.shift() });
        return [0];
      },
    };
  }
}

const head = { kind: 'arrived', status: 200, headers: [['x', Buffer.from('y')]] } as const;

function bytes(text: string): { readonly kind: 'bytes'; readonly bytes: Uint8Array } {
  return { kind: 'bytes', bytes: Buffer.from(text) };
}

function thrownBy(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return error;
  }
}

/** What `get` gave. */
function responseIn(future: FutureIncomingResponse): IncomingResponse {
  const given = future.get() as { readonly val: { readonly val: IncomingResponse } };
  return given.val.val;
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

describe('what comes with the end of a wait', () => {
  it('reaches the guest in its order, before anything more is asked of the session', () => {
    const mailbox = new Answering(bytes('two'), { kind: 'ended' });
    const future = handleBy(mailbox, [], mailbox.room({ head, read: bytes('one') }));
    future.subscribe().block();
    expect(future.subscribe().ready()).toBe(true);
    const response = responseIn(future);
    expect(response.status()).toBe(200);
    const stream = response.consume().stream();
    expect(stream.subscribe().ready()).toBe(true);
    const pieces = [2n, 2n, 9n].map((size) => Buffer.from(stream.blockingRead(size)).toString());
    expect(pieces).toEqual(['on', 'e', 'two']);
    expect(thrownBy(() => stream.blockingRead(9n))).toBe(closed);
    expect(mailbox.asked).toEqual(['open', 'wait', 'read', 'read']);
  });

  it('reaches the guest too where the head was there without a wait', () => {
    const mailbox = new Answering(head);
    const future = handleBy(mailbox, [], mailbox.room({ read: bytes('one') }, { read: { kind: 'ended' } }));
    const stream = responseIn(future).consume().stream();
    stream.subscribe().block();
    expect(future.subscribe().ready()).toBe(true);
    expect(Buffer.from(stream.read(9n)).toString()).toBe('one');
    stream.subscribe().block();
    expect(thrownBy(() => stream.read(9n))).toBe(closed);
    expect(mailbox.asked).toEqual(['open', 'head', 'wait', 'wait']);
  });

  it('counts as memory of the component until it is given or let go', () => {
    const before = bytesInUse();
    const mailbox = new Answering();
    const arrival = { head, read: bytes('z'.repeat(100_000)) };
    const future = handleBy(mailbox, [], mailbox.room(arrival));
    const pollable = future.subscribe();
    pollable.block();
    expect(bytesInUse() - before).toBeGreaterThan(100_000);
    pollable[Symbol.dispose]();
    future[Symbol.dispose]();
    expect(bytesInUse()).toBe(before);
    expect(mailbox.asked).toEqual(['open', 'wait', 'close']);
  });
});
