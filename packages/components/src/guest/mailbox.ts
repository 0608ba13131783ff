/** Talks with the session on behalf of the component in this process. */

import { receive, send, sendLast } from '../channel.ts';
import type { GuestMessage, HostMessage } from '../exchange.ts';
import type { RemoteAnswers, RemoteRequest } from '../outbound/remote-messages.ts';

const nobody = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** The component's side of the exchange with the session, in the terms of both. */
export class Mailbox {
  /** Waits for what the session sends. */
  next(): HostMessage {
    return receive() as HostMessage;
  }

  send(message: GuestMessage): void {
    send(message);
  }

  /** Sends the last message there is, and ends the process. */
  end(message: GuestMessage): never {
    return sendLast(message);
  }

  /** Sends something nobody answers. */
  post(name: string, args: readonly unknown[]): void {
    this.send({ kind: 'posted', name, args });
  }

  /** Asks a function of the runtime and waits for its answer. */
  askRuntime(name: string, args: readonly unknown[]): RuntimeAnswer {
    this.send({ kind: 'asked', name, args });
    return this.#answer() as RuntimeAnswer;
  }

  /** Asks for something of the outbound exchanges and waits for it. */
  askRemote<Request extends RemoteRequest>(request: Request): RemoteAnswers[Request['operation']] {
    this.send({ kind: 'remote', request });
    return this.#answer() as RemoteAnswers[Request['operation']];
  }

  /** Lets go of an exchange. Its number is never given again, and nothing is answered. */
  closeRemote(exchange: number): void {
    this.send({ kind: 'remote', request: { operation: 'close', exchange } });
  }

  #answer(): unknown {
    const message = this.next();
    if (message.kind !== 'answer') throw new Error(`expected an answer and received ${message.kind}`);
    return message.value;
  }

  /** Sleeps for a time, never longer than asked. */
  sleep(ms: number): void {
    Atomics.wait(nobody, 0, 0, ms);
  }
}

type RuntimeAnswer = { readonly tag: 'ok'; readonly val: unknown } | { readonly tag: 'err'; readonly val: string };
