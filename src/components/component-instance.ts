import { join } from 'node:path';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';

import { ComponentFault, type HostFunctions } from './component.ts';
import {
  type GuestMessage,
  type HostMessage,
  type LoadMessage,
  slotCount,
  slots,
  type ThreadData,
} from './exchange.ts';
import type { ConnectionRules } from './outbound/connections.ts';
import { OutboundHttp } from './outbound/outbound-http.ts';

/** Of the thread beside the component's own memory: the values it lifts out and lowers in. */
const heapLimitMb = 512;
const stackMb = 4;

export interface InstanceOptions {
  readonly packageRoot: string;
  readonly outbound: ConnectionRules;
  /** Given what the engine made of the glue, once, when the load message brought none. */
  readonly onCodeCache: (glueSha256: string, data: Uint8Array) => void;
}

export interface InstanceCall {
  readonly interface: string;
  readonly function: string;
  readonly args: readonly unknown[];
  readonly host: HostFunctions;
  /** Called when the guest begins and ends to wait for an answer of the runtime. */
  readonly onRuntimeWait: (waits: boolean) => void;
}

interface Pending {
  readonly call: InstanceCall | null;
  readonly resolve: (value: unknown) => void;
  readonly reject: (fault: ComponentFault) => void;
}

/**
 * One instance in a thread of its own. `load` comes first, then calls, one at a time. The first fault ends it: whatever is
 * under way rejects with that fault, and so does everything after.
 */
export class ComponentInstance {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #shared: Int32Array<SharedArrayBuffer>;
  readonly #options: InstanceOptions;
  readonly #http: OutboundHttp;
  #glueSha256 = '';
  #pending: Pending | null = null;
  #fault: ComponentFault | null = null;
  #ended: Promise<void> | null = null;

  /** Starts the thread; it waits for what to load. */
  constructor(options: InstanceOptions) {
    this.#options = options;
    this.#http = new OutboundHttp(options.outbound);
    const { port1, port2 } = new MessageChannel();
    this.#shared = new Int32Array(new SharedArrayBuffer(slotCount * Int32Array.BYTES_PER_ELEMENT));
    const data: ThreadData = { port: port2, shared: this.#shared.buffer };
    this.#worker = new Worker(join(options.packageRoot, 'dist', 'component-thread.cjs'), {
      workerData: data,
      transferList: [port2],
      env: {},
      argv: [],
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: heapLimitMb, stackSizeMb: stackMb },
    });
    this.#port = port1;
    this.#port.on('message', (message: GuestMessage) => this.#receive(message));
    this.#worker.on('error', (error) => this.end(threadFault(error)));
    this.#worker.on('exit', () => this.end(new ComponentFault('trap', 'the thread of the component ended')));
    this.#idle();
  }

  get fault(): ComponentFault | null {
    return this.#fault;
  }

  /** Whether it is loading or in a call. */
  get busy(): boolean {
    return this.#pending !== null;
  }

  /** Makes the instance. Rejects with `unavailable` when it cannot be linked or its start code fails. */
  async load(message: LoadMessage): Promise<void> {
    this.#glueSha256 = message.glueSha256;
    await this.#exchange(message, null);
  }

  async call(call: InstanceCall): Promise<unknown> {
    const { interface: name, function: member, args } = call;
    return this.#exchange({ kind: 'call', interface: name, function: member, args }, call);
  }

  async #exchange(message: HostMessage, call: InstanceCall | null): Promise<unknown> {
    if (this.#fault !== null) throw this.#fault;
    this.#worker.ref();
    this.#port.ref();
    try {
      return await new Promise((resolve, reject) => {
        this.#pending = { call, resolve, reject };
        this.#send(message);
      });
    } finally {
      this.#pending = null;
      // A thread that is being ended keeps the process alive until it has: whoever closes it waits for that.
      if (this.#fault === null) this.#idle();
    }
  }

  /** An instance that waits for its next call does not keep the process alive. */
  #idle(): void {
    this.#worker.unref();
    this.#port.unref();
  }

  #send(message: HostMessage): void {
    this.#port.postMessage(message);
    Atomics.add(this.#shared, slots.sent, 1);
    Atomics.notify(this.#shared, slots.sent);
  }

  #receive(message: GuestMessage): void {
    if (this.#fault !== null) return;
    switch (message.kind) {
      case 'ready':
        return this.#pending?.resolve(undefined);
      case 'unusable':
        return this.end(new ComponentFault('unavailable', `the component cannot start: ${message.reason}`));
      case 'returned':
        return this.#pending?.resolve(message.value);
      case 'trapped':
        return this.end(new ComponentFault(message.fault, message.message));
      case 'posted':
        return this.#deliver(message);
      case 'asked':
        return void this.#answerRuntime(message);
      case 'remote':
        return void this.#answerRemote(message);
      case 'code-cache':
        return this.#options.onCodeCache(this.#glueSha256, message.data);
    }
  }

  #deliver({ name, args, bytes }: Extract<GuestMessage, { readonly kind: 'posted' }>): void {
    Atomics.sub(this.#shared, slots.backlogBytes, bytes);
    Atomics.notify(this.#shared, slots.backlogBytes);
    hostFunction(this.#pending?.call?.host, name)?.(...args);
  }

  async #answerRuntime({ name, args }: Extract<GuestMessage, { readonly kind: 'asked' }>): Promise<void> {
    const call = this.#pending?.call;
    call?.onRuntimeWait(true);
    const value = await runtimeAnswer(hostFunction(call?.host, name), name, args);
    if (this.#fault !== null) return;
    call?.onRuntimeWait(false);
    this.#send({ kind: 'answer', value });
  }

  async #answerRemote({ request }: Extract<GuestMessage, { readonly kind: 'remote' }>): Promise<void> {
    const value = await this.#http.answer(request);
    if (this.#fault === null) this.#send({ kind: 'answer', value });
  }

  /** Ends the thread, busy or not, and with it what the component held open. Harmless when it has ended. */
  end(fault: ComponentFault): void {
    if (this.#fault !== null) return;
    this.#fault = fault;
    this.#http.close();
    this.#port.close();
    this.#ended = this.#worker.terminate().then(() => undefined);
    this.#pending?.reject(fault);
  }

  /** Settles once the thread is gone. */
  async ended(): Promise<void> {
    await this.#ended;
  }
}

type AnyFunction = (...args: readonly unknown[]) => unknown;

function hostFunction(host: HostFunctions | undefined, name: string): AnyFunction | undefined {
  return host !== undefined && Object.hasOwn(host, name) ? (host[name] as AnyFunction) : undefined;
}

/** A rejection becomes the error of the import, which is always a text. */
async function runtimeAnswer(
  callee: AnyFunction | undefined,
  name: string,
  args: readonly unknown[],
): Promise<{ readonly tag: 'ok' | 'err'; readonly val: unknown }> {
  if (callee === undefined) return { tag: 'err', val: `${name} is not available here` };
  try {
    return { tag: 'ok', val: await callee(...args) };
  } catch (error) {
    return { tag: 'err', val: error instanceof Error ? error.message : String(error) };
  }
}

function threadFault(error: Error): ComponentFault {
  const outOfMemory = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
  if (outOfMemory) return new ComponentFault('memory', 'the component made the host hold more values than it may');
  return new ComponentFault('trap', `the thread of the component failed: ${error.message}`);
}
