/** Runs one instance of a component in a process of its own, and answers what it asks of the session. */

import { closeSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import type { RequestJudge } from '@svc/kit/keys/bound-host.ts';
import { ComponentFault, type HostFunctions, type Preopen } from './component.ts';
import {
  messageLimitBytes,
  type GivenDirectory,
  type GuestMessage,
  type HostMessage,
  type LoadMessage,
  valueLimitBytes,
} from './exchange.ts';
import { filesystemGuard } from './filesystem-guard.ts';
import { firstGivenDescriptor } from './message-bytes.ts';
import { readGuestMessage } from './guest-messages.ts';
import { type ImportMode, parseImportLog, withoutPlaceholder } from './import-log.ts';
import type { Instance, InstanceCall } from './instance.ts';
import { ComponentParted, partedAt } from './parted.ts';
import { NodeProcess, type NodeProcessEnd } from './node-process.ts';
import { type ConnectionRules, OutboundHttp } from './outbound/outbound-http.ts';

const megabyte = 1024 * 1024;
/** Beside what `limits.memory` grants: the script that links a component, its code, and values on their way. */
const heapMegabytes = 128;
const largestHeapMegabytes = 1_024;
/** For the engine to read the core modules, which takes milliseconds. */
const engineLimitMs = 120_000;
/** A value on its way lies there twice: as it is and as bytes. */
const transferMegabytes = (2 * valueLimitBytes) / megabyte;

export interface InstanceOptions {
  readonly packageRoot: string;
  readonly outbound: ConnectionRules;
  readonly preopens: readonly Preopen[];
  readonly maxMemoryBytes: number;
  /** Where imports get their answers. */
  readonly mode: ImportMode;
  /**
   * Gives what the instance is made of, the compiler's work included: `whole` where the process could not read the file that this named before.
   * Rejects with a `ComponentFault`.
   */
  readonly load: (whole: boolean) => Promise<Loading>;
  /** Given what the engine made of the glue, once, where no earlier run had kept it. */
  readonly onCode: (code: Uint8Array) => void;
}

/** All but what the instance knows by itself. */
export type Loading = Omit<LoadMessage, 'kind' | 'directories' | 'maxMemoryBytes' | 'mode'>;

/** What a load comes to whose file could not be read. */
const unread = Symbol('unread');

interface Pending {
  readonly call: InstanceCall | null;
  readonly resolve: (value: unknown) => void;
  readonly reject: (fault: ComponentFault | ComponentParted) => void;
}

/** One instance in a process of its own. */
export class ComponentInstance implements Instance {
  readonly #process: NodeProcess | null;
  readonly #directories: readonly GivenDirectory[];
  readonly #options: InstanceOptions;
  readonly #http: OutboundHttp;
  #pending: Pending | null = null;
  /** What is being played. */
  #played: string | undefined = undefined;
  /** May be so before anybody asks for it. */
  #isReady = false;
  #fault: ComponentFault | null = null;
  #ended: Promise<void> | null = null;

  /** Starts the process; it waits for what to load. */
  constructor(options: InstanceOptions) {
    this.#options = options;
    this.#http = new OutboundHttp(options.outbound);
    const opened = openDirectories(options.preopens);
    this.#directories = opened.kind === 'opened' ? opened.directories : [];
    this.#process = opened.kind === 'opened' ? this.#start(opened.descriptors) : null;
    if (opened.kind === 'refused') this.end(cannotStart(opened.reason));
  }

  #start(descriptors: readonly number[]): NodeProcess | null {
    const { packageRoot, maxMemoryBytes } = this.#options;
    const memory = Math.ceil(maxMemoryBytes / megabyte);
    try {
      return new NodeProcess({
        script: join(packageRoot, 'dist', 'component-process.cjs'),
        heapMegabytes: Math.min(largestHeapMegabytes, heapMegabytes + memory),
        otherMegabytes: 2 * memory + transferMegabytes,
        maxMessageBytes: messageLimitBytes,
        descriptors,
        onMessage: (message) => this.#receive(readGuestMessage(message)),
        onEnd: (end) => this.end(faultOf(end)),
      });
    } catch (error) {
      if (!isSystemError(error)) throw error;
      this.end(cannotStart(error.message));
      return null;
    } finally {
      for (const descriptor of descriptors) closeSync(descriptor);
    }
  }

  get fault(): ComponentFault | null {
    return this.#fault;
  }

  get busy(): boolean {
    return this.#pending !== null;
  }

  /** Has the engine read the core modules, the compiler's work included. */
  async prepare(): Promise<void> {
    if (await this.#load(false)) return;
    if (await this.#load(true)) return;
    this.end(cannotStart('its process does not take what it is given'));
    throw this.#fault;
  }

  /** Returns false if the process could not read the component. */
  async #load(whole: boolean): Promise<boolean> {
    const loading = await this.#options.load(whole).catch((fault: unknown) => {
      this.end(fault instanceof ComponentFault ? fault : new ComponentFault('unavailable', 'it was not prepared'));
      throw fault;
    });
    const timer = setTimeout(() => {
      this.end(new ComponentFault('unavailable', 'the component cannot start: the engine takes too long to read it'));
    }, engineLimitMs);
    try {
      const { maxMemoryBytes, mode } = this.#options;
      const directories = this.#directories;
      return (await this.#exchange({ kind: 'load', ...loading, maxMemoryBytes, mode, directories }, null)) !== unread;
    } finally {
      clearTimeout(timer);
    }
  }

  async link(log: string | undefined): Promise<void> {
    this.#played = log;
    if (this.#options.mode.kind === 'played') return void (await this.#exchange({ kind: 'link', log }, null));
    if (!this.#isReady) await this.#exchange(null, null);
  }

  async call(call: InstanceCall): Promise<unknown> {
    const { interface: name, function: member, args, log } = call;
    if (log !== undefined) this.#played = log;
    const played = log === undefined ? {} : { log };
    return this.#exchange({ kind: 'call', interface: name, function: member, args, ...played }, call);
  }

  /** Sends a message, if one is needed, and waits for what ends it. */
  async #exchange(message: HostMessage | null, call: InstanceCall | null): Promise<unknown> {
    if (this.#fault !== null) throw this.#fault;
    this.#process?.hold();
    try {
      return await new Promise((resolve, reject) => {
        this.#pending = { call, resolve, reject };
        if (message !== null) this.#process?.send(message);
      });
    } finally {
      this.#pending = null;
      // A process that is being ended keeps this one alive until it has: `close` waits for that.
      if (this.#fault === null) this.#process?.release();
    }
  }

  #receive(message: GuestMessage): void {
    switch (message.kind) {
      case 'compiled':
        return this.#pending?.resolve(undefined);
      case 'ready':
        this.#isReady = true;
        return this.#pending?.resolve(undefined);
      case 'unread':
        return this.#pending?.resolve(unread);
      case 'unusable':
        return this.end(cannotStart(message.reason));
      case 'returned':
        this.#tellLog(message.log);
        return this.#pending?.resolve(message.value);
      case 'parted':
        return this.#part(message);
      case 'trapped':
        this.#tellLog(message.log);
        return this.end(new ComponentFault(message.fault, message.message));
      case 'posted':
        return void hostFunction(this.#pending?.call?.host, message.name)?.(...message.args);
      case 'asked':
        return void this.#answerRuntime(message);
      case 'remote':
        return void this.#answerRemote(message);
      case 'code-cache':
        return this.#options.onCode(message.data);
    }
  }

  #tellLog(log: string | null | undefined): void {
    const { mode, outbound } = this.#options;
    if (mode.kind !== 'recorded' || log === undefined) return;
    // What comes from there is a stranger's word.
    const isKept = log !== null && log.length <= mode.maxBytes;
    this.#pending?.call?.onLog(isKept ? withoutPlaceholder(log, outbound.grants.credential?.placeholder) : null);
  }

  #part(departure: Extract<GuestMessage, { readonly kind: 'parted' }>): void {
    const { at, asked, args } = departure;
    const parted = partedAt(parseImportLog(this.#played ?? '[]')?.[at], asked, parsedArgs(args));
    this.#pending?.reject(parted);
    this.end(new ComponentFault('canceled', 'the component left its log'));
  }

  async #answerRuntime({ name, args }: Extract<GuestMessage, { readonly kind: 'asked' }>): Promise<void> {
    const call = this.#pending?.call;
    call?.onRuntimeWait(true);
    const value = await runtimeAnswer(hostFunction(call?.host, name), name, args);
    if (this.#fault !== null) return;
    call?.onRuntimeWait(false);
    this.#process?.send({ kind: 'answer', value });
  }

  /** The judge of a call, whose time stands still while a person is asked. */
  #judgeOf(call: InstanceCall | null | undefined): RequestJudge | null {
    const requests = call?.requests ?? null;
    if (requests === null) return null;
    return {
      asks: (rule) => requests.asks(rule),
      judge: async (request, held) => {
        call?.onRuntimeWait(true);
        const verdict = await requests.judge(request, held);
        if (this.#fault === null) call?.onRuntimeWait(false);
        return verdict;
      },
    };
  }

  async #answerRemote({ request }: Extract<GuestMessage, { readonly kind: 'remote' }>): Promise<void> {
    const call = this.#pending?.call;
    const answer = this.#http.answer(request, this.#judgeOf(call));
    // Nobody waits for that.
    if (request.operation === 'close') return;
    const value = await answer;
    if (this.#fault === null) this.#process?.send({ kind: 'answer', value });
  }

  end(fault: ComponentFault): void {
    if (this.#fault !== null) return;
    this.#fault = fault;
    this.#http.close();
    this.#ended = this.#process?.end() ?? null;
    this.#pending?.reject(fault);
  }

  async ended(): Promise<void> {
    await this.#ended;
  }
}

/** A stranger's code runs in that process: what is no JSON stays text. */
function parsedArgs(args: string): unknown {
  try {
    return JSON.parse(args);
  } catch {
    return args;
  }
}

type OpenedDirectories =
  | {
      readonly kind: 'opened';
      readonly directories: readonly GivenDirectory[];
      readonly descriptors: readonly number[];
    }
  | { readonly kind: 'refused'; readonly reason: string };

/** The process inherits each as a descriptor, which stays the same directory whatever becomes of its path. */
function openDirectories(preopens: readonly Preopen[]): OpenedDirectories {
  const byDescriptor = filesystemGuard() === 'descriptor-walk';
  const descriptors: number[] = [];
  try {
    const directories = preopens.map(({ hostPath, ...given }) => {
      if (!byDescriptor) return { ...given, place: realpathSync(hostPath) };
      const { fd } = HeldDirectory.at(hostPath);
      if (fd === null) throw new Error('directories are given by descriptor, and there is no /proc');
      descriptors.push(fd);
      return { ...given, place: firstGivenDescriptor + descriptors.length - 1 };
    });
    return { kind: 'opened', directories, descriptors };
  } catch (error) {
    for (const descriptor of descriptors) closeSync(descriptor);
    if (!isSystemError(error)) throw error;
    return { kind: 'refused', reason: error.message };
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

function faultOf({ kind, reason }: NodeProcessEnd): ComponentFault {
  if (kind === 'not-started') return cannotStart(reason);
  return new ComponentFault(kind === 'out-of-memory' ? 'memory' : 'trap', reason);
}

function cannotStart(reason: string): ComponentFault {
  const isBounded = /cannot allocate wasm memory/i.test(reason);
  const advice = isBounded
    ? '; WebAssembly reserves much address space, which ulimit -v bounds: run svc with ulimit -v unlimited'
    : '';
  return new ComponentFault('unavailable', `the component cannot start: ${reason}${advice}`);
}
