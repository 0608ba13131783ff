import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads';

import { backlogLimitBytes, slots, type GuestMessage, type HostMessage } from '../exchange.ts';
import type { RemoteAnswers, RemoteRequest } from '../outbound/remote-messages.ts';

/**
 * The component's side of the exchange with the main thread. The thread never returns to its event loop: it sleeps on a
 * shared counter that the main thread raises with each message, which wakes it sooner than a loop would.
 */
export class Mailbox {
  readonly #port: MessagePort;
  readonly #shared: Int32Array<SharedArrayBuffer>;

  constructor(port: MessagePort, shared: Int32Array<SharedArrayBuffer>) {
    this.#port = port;
    this.#shared = shared;
  }

  /** Sleeps until the main thread has sent something. */
  next(): HostMessage {
    for (;;) {
      const seen = Atomics.load(this.#shared, slots.sent);
      const received = receiveMessageOnPort(this.#port);
      if (received !== undefined) return received.message;
      Atomics.wait(this.#shared, slots.sent, seen);
    }
  }

  send(message: GuestMessage): void {
    this.#port.postMessage(message);
  }

  /** Sends something nobody answers. Sleeps only while the main thread is far behind with what was sent before. */
  post(name: string, args: readonly unknown[], bytes: number): void {
    for (;;) {
      const backlog = Atomics.load(this.#shared, slots.backlogBytes);
      if (backlog < backlogLimitBytes) break;
      Atomics.wait(this.#shared, slots.backlogBytes, backlog);
    }
    Atomics.add(this.#shared, slots.backlogBytes, bytes);
    this.send({ kind: 'posted', name, args, bytes });
  }

  /** Asks a function of the runtime and sleeps until it has answered. */
  askRuntime(name: string, args: readonly unknown[]): RuntimeAnswer {
    this.send({ kind: 'asked', name, args });
    return this.#answer() as RuntimeAnswer;
  }

  /** Asks for something of the outbound exchanges and sleeps until it is there. */
  askRemote<Request extends RemoteRequest>(request: Request): RemoteAnswers[Request['operation']] {
    this.send({ kind: 'remote', request });
    return this.#answer() as RemoteAnswers[Request['operation']];
  }

  #answer(): unknown {
    const message = this.next();
    if (message.kind !== 'answer') throw new Error(`expected an answer and received ${message.kind}`);
    return message.value;
  }

  /** Sleeps for a time, never longer than asked. */
  sleep(ms: number): void {
    Atomics.wait(this.#shared, slots.never, 0, ms);
  }
}

export type RuntimeAnswer =
  | { readonly tag: 'ok'; readonly val: unknown }
  | { readonly tag: 'err'; readonly val: string };
