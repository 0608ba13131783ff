/** Has launches started by one small process that stays, which costs less than a start by this one, whose memory is large. */

import { type ChildProcess, spawn } from 'node:child_process';
import { fstatSync, readlinkSync, readSync } from 'node:fs';
import { constants } from 'node:os';
import { Server, Socket } from 'node:net';

import type { LaunchEnd } from './launcher.ts';

/** A launch as `svc-launch serve` is asked for it (`native/svc-launch/PLAN.md`, "Serve"). */
export interface ServedRequest {
  /** Descriptors of the plan and the filter. */
  readonly plan: number;
  readonly filter: number;
  readonly program: string;
  /** The whole argument vector. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Descriptors of pipes that stay open until the launch leads a group; null is `/dev/null`. */
  readonly standard: readonly [number | null, number, number];
  /** Gets the socket that listens in the network of a launch whose plan says so; it is closed when the launch has ended. */
  readonly takeListener?: ((listening: Server) => void) | undefined;
}

/** A launch that leads a group of its own. */
export interface ServedLaunch {
  readonly pid: number;
  /** The line of a launch that failed; empty once the program runs. */
  readonly settled: Promise<string>;
  readonly ended: Promise<LaunchEnd>;
}

/** Descriptor of the channel in the helper. */
const channelAt = 3;
const [headBytes, answerBytes] = [36, 16];
const [answerUnopened, answerForked, answerSettled, answerEnded] = [0, 1, 2, 3];

/** Less than the helper takes; what is longer is started without it. */
const maxWordBytes = 4 * 1024 * 1024;
const maxWords = 1 << 15;

/** What is still to be answered of a launch. */
interface Pending {
  forked(pid: number | 'unserved' | 'lost'): void;
  settled(line: string): void;
  ended(end: LaunchEnd): void;
  listens(listening: Server): void;
}

/**
 * One helper for the launches of a session, started with the first of them. It sees at once when this process is gone, and ends with all that
 * it started.
 */
export class LaunchServer {
  readonly #helper: string;
  #serving: Serving | null = null;
  #isClosed = false;

  constructor(helper: string) {
    this.#helper = helper;
  }

  /** Returns `unserved` where the launch is to be started without the helper: nothing has run then. It is `lost` when the helper ended meanwhile. */
  async launch(request: ServedRequest): Promise<ServedLaunch | 'unserved' | 'lost'> {
    const message = this.#isClosed ? null : encodeRequest(request);
    if (message === null) return 'unserved';
    if (this.#serving?.isOver !== false) this.#serving = Serving.start(this.#helper);
    return (await this.#serving?.launch(message, request.takeListener)) ?? 'unserved';
  }

  /** Ends the helper as soon as the last of its launches is over. */
  close(): void {
    this.#isClosed = true;
    this.#serving?.close();
  }
}

/** A helper that runs. */
class Serving {
  readonly #channel: Socket;
  readonly #pending = new Map<number, Pending>();
  #last = 0;
  #received: Buffer = Buffer.alloc(0);
  #isClosing = false;
  isOver = false;

  private constructor(child: ChildProcess, channel: Socket) {
    this.#channel = channel;
    child.unref();
    child.channel?.unref();
    channel.unref();
    child.on('message', (id, listening) => this.#hand(Number(id), listening));
    channel.on('data', (chunk: Buffer) => this.#read(chunk));
    channel.on('error', () => {});
    channel.once('close', () => this.#end());
  }

  static start(helper: string): Serving | null {
    const own = `/proc/${readlinkSync('/proc/self')}/fd`;
    // Node takes a socket that listens from a child alone, by a channel of its own kind.
    const stdio = ['ignore', 'ignore', 'ignore', 'pipe', 'ipc'] as const;
    const child = spawn(helper, ['serve', own], { cwd: '/', env: {}, detached: true, stdio: [...stdio] });
    child.on('error', () => {});
    const channel = child.stdio[channelAt];
    return child.pid !== undefined && channel instanceof Socket ? new Serving(child, channel) : null;
  }

  async launch(
    message: Buffer,
    takeListener: ServedRequest['takeListener'],
  ): Promise<ServedLaunch | 'unserved' | 'lost'> {
    const id = (this.#last = (this.#last + 1) % 2 ** 32);
    message.writeUInt32LE(id, 0);
    const pending: Partial<Pending> = {};
    const settled = new Promise<string>((resolve) => (pending.settled = resolve));
    const ended = new Promise<LaunchEnd>((resolve) => (pending.ended = resolve));
    pending.listens = (listening) => {
      void ended.then(() => listening.close());
      takeListener?.(listening);
    };
    const forked = new Promise<number | 'unserved' | 'lost'>((resolve) => (pending.forked = resolve));
    this.#pending.set(id, pending as Pending);
    this.#channel.ref();
    this.#channel.write(message);
    const pid = await forked;
    return typeof pid === 'number' ? { pid, settled, ended } : pid;
  }

  close(): void {
    this.#isClosing = true;
    this.#rest();
  }

  /** Nothing here keeps this process alive while no launch runs. */
  #rest(): void {
    if (this.#pending.size > 0) return;
    this.#channel.unref();
    if (this.#isClosing) this.#channel.destroy();
  }

  #read(chunk: Buffer): void {
    let bytes = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    while (bytes.length >= answerBytes) {
      const length = answerBytes + bytes.readUInt32LE(12);
      if (bytes.length < length) break;
      this.#take(bytes.subarray(0, length));
      bytes = bytes.subarray(length);
    }
    this.#received = bytes;
  }

  #take(answer: Buffer): void {
    const [id, kind, value] = [answer.readUInt32LE(0), answer.readUInt32LE(4), answer.readUInt32LE(8)];
    const pending = this.#pending.get(id);
    if (pending === undefined) throw new Error('svc-launch answered for a launch that nobody asked for');
    if (kind === answerForked) pending.forked(value);
    else if (kind === answerSettled) pending.settled(answer.toString('utf8', answerBytes));
    else if (kind === answerEnded) pending.ended(endOf(value));
    if (kind !== answerUnopened && kind !== answerEnded) return;
    // A launch that ended before it led a group ran nothing either.
    pending.forked('unserved');
    this.#pending.delete(id);
    this.#rest();
  }

  #hand(id: number, listening: unknown): void {
    if (!(listening instanceof Server)) throw new Error('svc-launch handed over what is no socket that listens');
    const pending = this.#pending.get(id);
    // The launch may be over by now.
    if (pending === undefined) listening.close();
    else pending.listens(listening);
  }

  /** The kernel has ended with the helper all that it started. */
  #end(): void {
    this.isOver = true;
    for (const pending of this.#pending.values()) {
      pending.forked('lost');
      pending.settled('parent 3 svc-launch has ended');
      pending.ended({ kind: 'signaled', signal: 'SIGKILL' });
    }
    this.#pending.clear();
  }
}

const signalNames = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
);

/** From the wait status of a process. */
function endOf(status: number): LaunchEnd {
  const signal = signalNames.get(status & 0x7f);
  return signal === undefined ? { kind: 'exited', exitCode: (status >> 8) & 0xff } : { kind: 'signaled', signal };
}

/** Returns null for what the helper would not take. */
function encodeRequest({ plan, filter, program, argv, env, standard }: ServedRequest): Buffer | null {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const words = Buffer.from([program, ...argv, ...variables].map((word) => `${word}\0`).join(''));
  if (words.length > maxWordBytes || argv.length + variables.length > maxWords) return null;
  const [planBytes, filterBytes] = [readWhole(plan), readWhole(filter)];
  const head = Buffer.alloc(headBytes);
  const numbers = [0, planBytes.length, filterBytes.length, words.length, argv.length, variables.length];
  numbers.forEach((number, index) => head.writeUInt32LE(number, 4 * index));
  standard.forEach((descriptor, index) => head.writeInt32LE(descriptor ?? -1, 4 * (numbers.length + index)));
  return Buffer.concat([head, filterBytes, planBytes, words]);
}

function readWhole(file: number): Buffer {
  const bytes = Buffer.alloc(fstatSync(file).size);
  let length = 0;
  while (length < bytes.length) {
    const got = readSync(file, bytes, length, bytes.length - length, length);
    if (got === 0) break;
    length += got;
  }
  return bytes.subarray(0, length);
}
