/** Calls a component again and again: starts its instance when it is needed, and another after a fault. */

import { CallDeadline } from './call-deadline.ts';
import { canceledCall, type Component, type ComponentCall, ComponentFault } from './component.ts';
import type { ImportLog, ImportMode } from './import-log.ts';
import type { Instance, InstanceCall } from './instance.ts';
import { ComponentParted } from './parted.ts';

interface HostedOptions {
  /** Where imports get their answers. */
  readonly mode: ImportMode;
  /** Makes an instance, with the log of its start and first call where that is played. */
  readonly open: (log: string | null) => Instance;
  readonly onClose: () => void;
}

interface Live {
  /** The number of this instance among those of its component, from 1. */
  readonly number: number;
  readonly instance: Instance;
  /** The part in which nothing of the guest runs: reading, compiling, the start of the process. */
  readonly prepared: Promise<void>;
  readonly loaded: Promise<void>;
  /** Whether `loaded` has resolved. */
  isLoaded: boolean;
  /** Whether its start was given a log, which goes on in its first call. */
  isPlaying: boolean;
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
  #instances = 0;

  constructor(options: HostedOptions) {
    this.#options = options;
  }

  warm(): void {
    // Only its first call knows the log that an instance starts with.
    if (!this.#closed && !this.#isPlayed) this.#live ??= this.#start();
  }

  get #isPlayed(): boolean {
    return this.#options.mode.kind === 'played';
  }

  async call(call: ComponentCall): Promise<unknown> {
    if (this.#closed || call.signal.aborted) throw canceledCall();
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { call, resolve, reject, onAbort: () => this.#cancel(waiting) };
      call.signal.addEventListener('abort', waiting.onAbort);
      this.#queue.push(waiting);
      void this.#runQueue();
    });
  }

  #cancel(waiting: Waiting): void {
    waiting.reject(canceledCall());
    const place = this.#queue.indexOf(waiting);
    if (place !== -1) this.#queue.splice(place, 1);
    else if (this.#running === waiting) this.#endCall();
  }

  /** Ends the instance when the running call is in it; what is only being compiled goes on. */
  #endCall(): void {
    if (this.#live?.instance.busy === true) this.#live.instance.end(canceledCall());
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
    // Replace an instance that crashed while idle; this call did not cause it.
    if (this.#live?.isLoaded === true && this.#live.instance.fault !== null) this.#live = null;
    const played = this.#isPlayed ? this.#playedLog(call) : null;
    const live = (this.#live ??= this.#start(played));
    let kept: string | null = null;
    try {
      await live.prepared;
      if (call.signal.aborted || this.#closed) throw canceledCall();
      return await callWithin(call, live, {
        log: played === null || live.isPlaying ? undefined : (played.log ?? undefined),
        onLog: (log) => (kept = log),
      });
    } finally {
      live.isPlaying = false;
      const { imports } = call;
      if (imports?.kind === 'recorded' && this.#options.mode.kind === 'recorded')
        imports.keep({ instance: live.number, log: kept });
      if (live.instance.fault !== null && this.#live === live) this.#live = null;
    }
  }

  /** The log of a call; the instance that it was recorded in is the only one that may be there. */
  #playedLog({ imports }: ComponentCall): ImportLog {
    const log = imports?.kind === 'played' ? imports.next() : null;
    if (log === null || log.log === null) throw new ComponentParted(null, 'is called once more than in the recording');
    if (this.#live !== null && this.#live.number !== log.instance) {
      this.#live.instance.end(canceledCall());
      this.#live = null;
    }
    return log;
  }

  #start(played: ImportLog | null = null): Live {
    const instance = this.#options.open(played?.log ?? null);
    const prepared = instance.prepare();
    this.#instances += 1;
    const live: Live = {
      number: played?.instance ?? this.#instances,
      instance,
      prepared,
      loaded: prepared.then(() => instance.link(played?.log ?? undefined)),
      isLoaded: false,
      isPlaying: played !== null,
    };
    live.loaded.then(
      () => {
        live.isLoaded = true;
      },
      // The next call awaits it and gets its failure; until then nobody listens.
      () => {},
    );
    return live;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of [this.#running, ...this.#queue.splice(0)]) waiting?.reject(canceledCall());
    const instance = this.#live?.instance;
    instance?.end(canceledCall());
    await instance?.ended();
    this.#options.onClose();
  }
}

/** The deadline runs from the moment the instance is made, and stands still while the runtime owes the guest an answer. */
async function callWithin(
  call: ComponentCall,
  { instance, loaded }: Live,
  logs: Pick<InstanceCall, 'log' | 'onLog'>,
): Promise<unknown> {
  const deadline = new CallDeadline(call.deadlineMs, () => {
    instance.end(new ComponentFault('deadline', `the component did not return within ${call.deadlineMs} ms`));
  });
  deadline.run();
  try {
    await loaded;
    if (call.signal.aborted) throw canceledCall();
    const [name, member] = splitExport(call.export);
    return await instance.call({
      interface: name,
      function: member,
      args: call.args,
      host: call.host,
      requests: call.requests ?? null,
      ...logs,
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
