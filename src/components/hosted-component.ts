import { CallDeadline } from './call-deadline.ts';
import { type Component, type ComponentCall, ComponentFault } from './component.ts';
import { ComponentInstance, type InstanceOptions } from './component-instance.ts';
import type { LoadMessage } from './exchange.ts';

export interface HostedOptions {
  readonly instance: InstanceOptions;
  /** Gives what an instance is made of, the compiler's work included. Rejects with a `ComponentFault`. */
  readonly prepare: () => Promise<LoadMessage>;
  readonly onClose: () => void;
}

interface Live {
  readonly instance: ComponentInstance;
  /** The part that is no one's fault in the guest: reading and compiling. */
  readonly prepared: Promise<unknown>;
  readonly loaded: Promise<void>;
}

interface Waiting {
  readonly call: ComponentCall;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly onAbort: () => void;
}

/** A component whose instance lives from the first call, or from `warm`, to its first fault. */
export class HostedComponent implements Component {
  readonly #options: HostedOptions;
  readonly #queue: Waiting[] = [];
  #running: Waiting | null = null;
  #live: Live | null = null;
  #closed = false;

  constructor(options: HostedOptions) {
    this.#options = options;
  }

  warm(): void {
    if (!this.#closed) this.#live ??= this.#start();
  }

  async call(call: ComponentCall): Promise<unknown> {
    if (this.#closed || call.signal.aborted) throw canceled();
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { call, resolve, reject, onAbort: () => this.#cancel(waiting) };
      call.signal.addEventListener('abort', waiting.onAbort);
      this.#queue.push(waiting);
      void this.#runQueue();
    });
  }

  #cancel(waiting: Waiting): void {
    waiting.reject(canceled());
    const place = this.#queue.indexOf(waiting);
    if (place !== -1) this.#queue.splice(place, 1);
    else if (this.#running === waiting) this.#endCall();
  }

  /** Ends the instance when the running call is in it; what is only being compiled goes on. */
  #endCall(): void {
    if (this.#live?.instance.busy === true) this.#live.instance.end(canceled());
  }

  async #runQueue(): Promise<void> {
    if (this.#running !== null) return;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      this.#running = next;
      try {
        next.resolve(await this.#run(next));
      } catch (error) {
        next.reject(error);
      } finally {
        next.call.signal.removeEventListener('abort', next.onAbort);
      }
    }
    this.#running = null;
  }

  async #run({ call }: Waiting): Promise<unknown> {
    const live = (this.#live ??= this.#start());
    try {
      await live.prepared;
      if (call.signal.aborted || this.#closed) throw canceled();
      return await callWithin(call, live);
    } finally {
      if (live.instance.fault !== null && this.#live === live) this.#live = null;
    }
  }

  #start(): Live {
    const instance = new ComponentInstance(this.#options.instance);
    const prepared = this.#options.prepare();
    const loaded = prepared.then(
      (message) => instance.load(message),
      (fault: unknown) => {
        instance.end(
          fault instanceof ComponentFault ? fault : new ComponentFault('unavailable', 'it was not prepared'),
        );
        throw fault;
      },
    );
    // Whoever calls next awaits it and is told; until then nobody listens.
    loaded.catch(() => {});
    return { instance, prepared, loaded };
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of [this.#running, ...this.#queue.splice(0)]) waiting?.reject(canceled());
    const instance = this.#live?.instance;
    instance?.end(canceled());
    await instance?.ended();
    this.#options.onClose();
  }
}

/** The deadline runs from the moment the instance is made, and stands still while the runtime owes the guest an answer. */
async function callWithin(call: ComponentCall, { instance, loaded }: Live): Promise<unknown> {
  const deadline = new CallDeadline(call.deadlineMs, () => {
    instance.end(new ComponentFault('deadline', `the component did not return within ${call.deadlineMs} ms`));
  });
  deadline.run();
  try {
    await loaded;
    const [name, member] = splitExport(call.export);
    return await instance.call({
      interface: name,
      function: member,
      args: call.args,
      host: call.host,
      onRuntimeWait: (waits) => (waits ? deadline.pause() : deadline.run()),
    });
  } finally {
    deadline.stop();
  }
}

function splitExport(name: string): [string, string] {
  const at = name.indexOf('#');
  return [name.slice(0, at), name.slice(at + 1)];
}

function canceled(): ComponentFault {
  return new ComponentFault('canceled', 'the call was canceled');
}
