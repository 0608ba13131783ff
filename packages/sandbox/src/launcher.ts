/** The port through which every program is started. */

import type { Readable, Writable } from 'node:stream';

import type { RequestJudge } from '@svc/kit/keys/bound-host.ts';
import type { NetworkDestination } from '@svc/kit/net/network-destination.ts';

export interface LaunchRequest {
  /** A bare command name, looked up on `PATH` of `env`, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the process; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** `/dev/null`, a pipe to write to, or this process's own. */
  readonly stdin: 'null' | 'pipe' | 'inherit';
  /** The process uses this one's own outputs, so its streams stay empty; pipes when absent. */
  readonly output?: 'inherit';
  /** Judges a host that the launcher does not grant; absent where nobody is asked. A launcher whose grants lack `asksHosts` asks nobody. */
  readonly mayReach?: MayReach;
  /** Judges requests that a person has to approve; they are refused when absent. */
  readonly requests?: RequestJudge;
  /** Judges the programs that it starts, of a launcher whose grants have a gate; the gate's own judge does when absent. */
  readonly programs?: ProgramJudge;
  /** Absent where it has all that the launcher grants. */
  readonly narrowed?: NarrowedLaunch | null;
}

/** A program that a launch has started, with the words that the kernel has copied. */
export interface StartedProgram {
  /** As it was started: a path, absolute or not. */
  readonly file: string;
  readonly argv: readonly string[];
  /** `cut` has the first words alone: at most 4,096, and 64 KiB. It waits, as `whole` does. Of the others nothing is known, and they have been killed. */
  readonly state: 'whole' | 'cut' | 'unreadable' | 'crowded';
  /** Whether the words are UTF-8 to the byte. */
  readonly isText: boolean;
}

/** Judges programs before their first instruction. */
export interface ProgramJudge {
  /** Resolves to whether it runs; otherwise it is killed. Never rejects. */
  judge(program: StartedProgram): Promise<boolean>;
}

/**
 * Resolves to whether a connection may be made, the address of the host being judged as any other. `held` is aborted once nobody waits for that any
 * more. Never rejects.
 */
export type MayReach = (to: NetworkDestination, held: AbortSignal) => Promise<boolean>;

/** What one launch does not get of what its launcher grants. */
export interface NarrowedLaunch {
  /** Commands that it may not start beside its own program. */
  readonly without: readonly string[];
  /** Whether it may read its workdir and not write there. */
  readonly readOnly: boolean;
}

export type LaunchEnd =
  | { readonly kind: 'exited'; readonly exitCode: number }
  | { readonly kind: 'signaled'; readonly signal: NodeJS.Signals };

/**
 * A started process and its whole group. Both outputs stay until a caller reads them.
 */
export interface LaunchedProcess {
  readonly pid: number;
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles once the process ended and both outputs are closed. Never rejects. */
  readonly ended: Promise<LaunchEnd>;
  /** After the end: sentences about the limits of the session that were reached meanwhile. Absent where nothing watches them. */
  readonly limitsReached?: () => readonly string[];
  /** Whether it cannot read what is at a path of this machine. Absent where nothing keeps files from it. */
  readonly hides?: (path: string) => boolean;
  /** The hosts that a proxy has refused to it since it was last asked, a sentence each. Absent where no proxy decides. */
  readonly takeRefusedHosts?: () => readonly string[];
  /** Signals the whole group. Harmless after the end. */
  kill(signal: NodeJS.Signals): void;
}

/** Finds what the last words of a program name that is hidden from it, as lines for a person; null when they name nothing hidden. */
export type HiddenIn = (said: string, hides: LaunchedProcess['hides']) => string | null;

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
 * The one way to start shell commands, native tools and process drivers, with one set of grants and in one working
 * directory.
 */
export interface Launcher {
  launch(request: LaunchRequest): Promise<LaunchOutcome>;
  /** Finds out ahead of time what launches of this command need, and starts nothing. The launch itself reports errors. */
  prepare?(request: Pick<LaunchRequest, 'command' | 'env'>): void;
}
