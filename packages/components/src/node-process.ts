/** Starts the processes in which untrusted components are compiled and run, and talks with them. */

import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { constants } from 'node:os';

import { errorCode, isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { BadMessage, encodeMessage, MessageAssembler, messageDescriptor } from './message-bytes.ts';

/**
 * Limits the program, starts it, and waits until the session is gone or lets go, which is the end of standard input: busy or not, the program
 * does not outlive it. Only the program holds descriptor 3, whose end is the program's. Where memory runs out the kernel is to end this
 * process rather than the session. A limit that cannot be set is lower already.
 */
const guard = `
{ ulimit -c 0; ulimit -s 8192; ulimit -d "$1"; echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null
shift
"$@" &
exec 3<&-
read -r line
kill -KILL $!
wait $!
`;

const shell = '/bin/sh';

/** The stack of WebAssembly and of the engine, within the 8 MiB above. */
const stackKilobytes = 3_900;
/** What a process holds that has loaded nothing, its code and the stacks of its threads. */
const ownMegabytes = 320;
const keptStderrBytes = 8 * 1024;
const loaderVariable = 'LD_LIBRARY_PATH';
/** How long an answer is awaited without sleeping: about what two wake-ups of a processor that has gone to sleep take. */
const awakeMs = 0.25;
/** How long the shell may take to end what it watches over. A process that was taken over may have stopped it. */
const shellPatienceMs = 2_000;

interface NodeProcessOptions {
  /** The file to run; absolute. */
  readonly script: string;
  /** For the engine's heap: the values that pass between guest and host. */
  readonly heapMegabytes: number;
  /** For memories, tables and bytes beside the heap. The kernel refuses more, where it has such a limit. */
  readonly otherMegabytes: number;
  /** For one message that it sends. */
  readonly maxMessageBytes: number;
  /** What it gets as descriptors 4 and on; ours may be closed once it is started. */
  readonly descriptors?: readonly number[];
  readonly onMessage: (message: unknown) => void;
  /** Called once if it ends by itself. */
  readonly onEnd: (end: NodeProcessEnd) => void;
}

export interface NodeProcessEnd {
  readonly kind: 'not-started' | 'out-of-memory' | 'ended';
  /** A clause: `its process ended with SIGABRT: …`. */
  readonly reason: string;
}

/**
 * A process that runs a file of the package and exchanges messages with this one. It gets no variables, no descriptor but the given ones, and no
 * signal of a terminal. It ends with this process, whatever ends that. Throws the system's refusal to start it.
 */
export class NodeProcess {
  readonly #child: ChildProcess;
  readonly #exchange: Socket | null;
  readonly #options: NodeProcessOptions;
  readonly #closed: Promise<void>;
  #stderr: Buffer = Buffer.alloc(0);
  #over = false;
  /** Until when this process does not sleep for an answer, by `performance.now()`; 0 once it is there. */
  #awakeUntil = 0;
  #isTurning = false;
  readonly #turn = (): void => {
    this.#isTurning = performance.now() < this.#awakeUntil;
    if (this.#isTurning) setImmediate(this.#turn);
  };

  constructor(options: NodeProcessOptions) {
    this.#options = options;
    const { heapMegabytes, otherMegabytes, script, descriptors = [] } = options;
    const dataKilobytes = (ownMegabytes + heapMegabytes + otherMegabytes) * 1024;
    const program = [process.execPath, ...engineFlags(heapMegabytes), script];
    this.#child = spawn(shell, ['-c', guard, 'svc-component', String(dataKilobytes), ...program], {
      stdio: ['pipe', 'ignore', 'pipe', 'pipe', ...descriptors],
      env: loaderEnvironment(),
      cwd: '/',
      detached: true,
    });
    // Without descriptors to make them of there are no streams, and an `error` event says why.
    const streams: ChildProcess['stdio'] | undefined = this.#child.stdio;
    this.#exchange = (streams?.[messageDescriptor] as Socket | null | undefined) ?? null;
    this.#closed = new Promise((resolve) => this.#child.once('close', () => resolve()));
    this.#listen();
    this.release();
  }

  #listen(): void {
    const child = this.#child;
    const messages = new MessageAssembler(this.#options.maxMessageBytes);
    child.on('error', (error) => this.#ended({ kind: 'not-started', reason: whyNotStarted(error) }));
    child.on('close', (code, signal) => this.#ended(endOf(code, signal, this.#stderr.toString('latin1'))));
    // If only the shell is gone, what it watched over goes too.
    child.on('exit', () => this.#endGroup());
    child.stderr?.on('data', (piece: Buffer) => {
      if (this.#stderr.length < keptStderrBytes) this.#stderr = Buffer.concat([this.#stderr, piece]);
    });
    // If a process ends while something is sent to it, only its end is reported.
    for (const stream of [child.stdin, child.stderr, this.#exchange]) stream?.on('error', () => {});
    this.#exchange?.on('data', (piece: Buffer) => this.#read(piece, messages));
    this.#exchange?.once('close', () => child.stdin?.destroy());
  }

  #read(piece: Buffer, messages: MessageAssembler): void {
    this.#awakeUntil = 0;
    try {
      messages.push(piece, (message) => {
        if (!this.#over) this.#options.onMessage(message);
      });
    } catch (error) {
      if (!(error instanceof BadMessage)) throw error;
      this.#ended({ kind: 'ended', reason: error.message });
      this.#child.stdin?.destroy();
    }
  }

  #ended(end: NodeProcessEnd): void {
    if (this.#over) return;
    this.#over = true;
    this.#options.onEnd(end);
  }

  /** Sends a message whose answer most often comes at once: for a moment the event loop goes round instead of falling asleep. */
  send(message: unknown): void {
    if (this.#over) return;
    this.#exchange?.write(encodeMessage(message));
    this.#awakeUntil = performance.now() + awakeMs;
    if (this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(this.#turn);
  }

  /** Keeps this process alive until `release`. */
  hold(): void {
    this.#exchange?.ref();
  }

  /** While it is not held, this process may end, and takes it along. */
  release(): void {
    this.#child.unref();
    this.#exchange?.unref();
    (this.#child.stdin as Socket | null)?.unref();
    (this.#child.stderr as Socket | null)?.unref();
  }

  /** Ends it at once, busy or not. Settles once it is gone, with all that it held. Nothing more is reported of it. */
  async end(): Promise<void> {
    this.#over = true;
    this.#child.ref();
    // By the shell, which waits for it too: the first process of a container may be one that waits for no stranger.
    this.#child.stdin?.destroy();
    const impatience = setTimeout(() => this.#endWithoutShell(), shellPatienceMs);
    await this.#closed;
    clearTimeout(impatience);
  }

  /** Our ends are closed as well: a process that has left the group would keep the others open. */
  #endWithoutShell(): void {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#endGroup();
    for (const stream of [this.#child.stderr, this.#exchange]) stream?.destroy();
  }

  #endGroup(): void {
    const { pid } = this.#child;
    // Once nobody of the group is left, its number may be that of another.
    if (pid === undefined || (this.#exchange?.destroyed ?? true)) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch (error) {
      if (errorCode(error) !== 'ESRCH') throw error;
    }
  }
}

/** By its name the system means the shell, which nobody else has spoken of. */
function whyNotStarted(error: Error): string {
  if (!isSystemError(error)) return error.message;
  if (error.code === 'ENOENT') return `there is no ${shell} here, which starts its process`;
  return `${shell}, which starts its process, cannot be run: ${systemReason(error)}`;
}

function engineFlags(heapMegabytes: number): string[] {
  return [
    `--max-old-space-size=${heapMegabytes}`,
    '--max-semi-space-size=8',
    `--stack-size=${stackKilobytes}`,
    // One thread in the background, for the code of what runs often.
    '--v8-pool-size=1',
    '--no-warnings',
  ];
}

/** Where this process found the libraries it is made of, another does not find them elsewhere. */
function loaderEnvironment(): Record<string, string> {
  const value = process.env[loaderVariable];
  return value === undefined ? {} : { [loaderVariable]: value };
}

/** What the engine, the allocator and the kernel write before they give up for lack of memory. */
const memoryWords = /out of memory|heap limit|allocation failed|bad_alloc|invalid size error|cannot allocate memory/i;
const shellSignalBase = 128;

function endOf(code: number | null, signal: NodeJS.Signals | null, stderr: string): NodeProcessEnd {
  const how = signal ?? signalOf(code) ?? `code ${code ?? 0}`;
  const said = stderr.split('\n').find((line) => /fatal|error|terminate/i.test(line));
  const words =
    said === undefined
      ? ''
      : `: ${said
          .replaceAll(/[^\x20-\x7e]/g, '')
          .replace(/^# /, '')
          .slice(0, 200)}`;
  return {
    kind: memoryWords.test(stderr) ? 'out-of-memory' : 'ended',
    reason: `its process ended with ${how}${words}`,
  };
}

function signalOf(code: number | null): string | null {
  const number = (code ?? 0) - shellSignalBase;
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? null;
}
