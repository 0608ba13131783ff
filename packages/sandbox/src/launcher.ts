/** The port through which every program is started. */

import type { Readable, Writable } from 'node:stream';

export interface LaunchRequest {
  /** A bare command name, looked up on `PATH` of `env`, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the process; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** `/dev/null`, a pipe to write to, or this process's own. */
  readonly stdin: 'null' | 'pipe' | 'inherit';
  /** The process has this one's own outputs, and none of its streams says anything; pipes when absent. */
  readonly output?: 'inherit';
}

export type LaunchEnd =
  | { readonly kind: 'exited'; readonly exitCode: number }
  | { readonly kind: 'signaled'; readonly signal: NodeJS.Signals };

/**
 * A started process and its whole group. Both outputs are kept until they are read.
 */
export interface LaunchedProcess {
  readonly pid: number;
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles once the process ended and both outputs are closed. Never rejects. */
  readonly ended: Promise<LaunchEnd>;
  /** Sentences, once it has ended: which limits of the session were reached meanwhile. Absent where nobody looks. */
  readonly limitsReached?: () => readonly string[];
  /** Signals the whole group. Harmless after the end. */
  kill(signal: NodeJS.Signals): void;
}

export type LaunchOutcome =
  | {
      readonly kind: 'started';
      readonly process: LaunchedProcess;
      /** Sentences for a person: what may keep it, or what it starts, from running. Absent when nothing was found. */
      readonly problems?: readonly string[];
    }
  /** Nothing ran. `reason` is a clause for a person: `no such command`, `permission denied`. */
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * The one door through which shell commands, native tools and process drivers are started, with one set of grants and in one working
 * directory.
 */
export interface Launcher {
  launch(request: LaunchRequest): Promise<LaunchOutcome>;
  /** Finds out ahead of time what launches of this command need, and starts nothing. The launch reports what goes wrong. */
  prepare?(request: Pick<LaunchRequest, 'command' | 'env'>): void;
}
