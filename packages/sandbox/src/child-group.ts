/** Watches over a started process and its group, and ends what it leaves behind. */

import type { ChildProcess } from 'node:child_process';
import { Readable, type Writable } from 'node:stream';

import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import type { LaunchEnd, LaunchedProcess } from './launcher.ts';

/** Our ends of what a child has as descriptors 0, 1 and 2. */
export interface StandardStreams {
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/** A process that was started as leader of its own group, and our ends of its standard streams. */
interface GroupLeader extends StandardStreams {
  readonly pid: number;
  /** Settles at its exit. */
  readonly exited: Promise<unknown>;
  /** How that was, once nothing more is to come of it but what is in its outputs. */
  readonly end: Promise<LaunchEnd>;
}

/** The leader of a group that is a child of this process. */
export function leadingChild(child: ChildProcess, pid: number): Omit<GroupLeader, keyof StandardStreams> {
  return { pid, exited: new Promise((resolve) => child.once('exit', resolve)), end: endOf(child) };
}

/** Leaders of groups that run, by pid. */
const live = new Set<number>();

/** Whether anything that was started as a group still runs. */
export function hasLiveGroups(): boolean {
  return live.size > 0;
}

/** For the end of the process itself: no group that was started outlives it. Synchronous, so that an exit hook may call it. */
export function killLiveGroups(): void {
  for (const pid of live) signalGroup(pid, 'SIGKILL');
  live.clear();
}

/** Ends one process that is known to be ours. */
export function killOne(pid: number): void {
  process.kill(pid, 'SIGKILL');
}

/**
 * The launched process over a group leader. What the leader leaves running in its group gets `drainMs` after the leader's
 * exit to finish writing and is then killed; what the group wrote is then taken, whether or not somebody reads it, and outputs that a
 * process outside the group still holds are closed after `drainMs` more. So `ended` settles within twice `drainMs` of the exit,
 * whatever was left behind, and nothing of the group's output is lost.
 */
export function superviseGroup(leader: GroupLeader, drainMs: number): LaunchedProcess {
  const { pid, exited, end, stdin, stdout, stderr } = leader;
  let over = false;
  live.add(pid);
  // A reader that closes its stdin early is not a failure of the writer: `ended` says how the process ended.
  stdin?.on('error', () => {});
  const kill = (signal: NodeJS.Signals): void => {
    if (!over) signalGroup(pid, signal);
  };
  const outputs = [new KeptOutput(stdout), new KeptOutput(stderr)] as const;
  let drain: NodeJS.Timeout | undefined;
  void exited.then(() => {
    stdin?.destroy();
    if (over) return;
    drain = setTimeout(() => {
      kill('SIGKILL');
      for (const output of outputs) output.takeRest();
      drain = setTimeout(() => {
        stdout.destroy();
        stderr.destroy();
      }, drainMs);
    }, drainMs);
  });
  const ended = Promise.all([end, closed(stdout), closed(stderr)]).then(([how]) => {
    clearTimeout(drain);
    kill('SIGKILL');
    over = true;
    live.delete(pid);
    return how;
  });
  return { pid, stdin, stdout: outputs[0], stderr: outputs[1], ended, kill };
}

function endOf(child: ChildProcess): Promise<LaunchEnd> {
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      resolve(signal === null ? { kind: 'exited', exitCode: code ?? 0 } : { kind: 'signaled', signal });
    });
  });
}

function closed(output: Readable): Promise<void> {
  return new Promise((resolve) => {
    output.once('close', () => resolve());
  });
}

/** Sends a signal to every process of a group. The group may be gone already. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    const code = errorCode(error);
    // Nobody of the group is left, or those left run as someone else.
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}

/** The largest pipe that the system gives to a program without privileges, and so all that a group can have left in one. */
const largestPipe = 1024 * 1024;

/**
 * The same bytes, kept until somebody reads them. Of a child that has exited, Node throws away what nobody has begun to read, and a
 * launch may settle after a short program is over. An output that is closed by force just ends.
 */
export class KeptOutput extends Readable {
  readonly #output: Readable;
  /** Bytes that are taken though the reader waits. */
  #ahead = 0;

  constructor(output: Readable) {
    super();
    this.#output = output;
    output.on('data', (chunk: Buffer) => {
      if (this.push(chunk)) return;
      this.#ahead -= chunk.length;
      if (this.#ahead <= 0) output.pause();
    });
    output.once('close', () => this.push(null));
  }

  /** Takes what a group that is over has left in the output, also while the reader waits. */
  takeRest(): void {
    this.#ahead = largestPipe;
    this.#output.resume();
  }

  override _read(): void {
    this.#output.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#output.destroy();
    done(error);
  }
}
