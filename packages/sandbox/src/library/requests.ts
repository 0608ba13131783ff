/** What users of the library say, and what they get: plain types. */

import type { Readable, Writable } from 'node:stream';

/** What the kernel enforces, the weakest first; the README says what each stops. */
export type SandboxClass = 'advisory' | 'scoped' | 'sealed';

/**
 * What a command may touch; what is absent is not granted. Paths are absolute, or relative to the current directory. Each names the place itself:
 * one that is a link, or that leads through one, is refused, for an earlier command could have made it.
 */
export interface Grants {
  /** Files and directories to read. One inside a path of `write` can be read only, in class `sealed`. */
  readonly read?: readonly string[];
  /**
   * Files and directories to read and to write. This package, and the program that runs it, stay as they are where they lie in one: read only in class
   * `sealed`, refused in `scoped`.
   */
  readonly write?: readonly string[];
  /** May also run programs that lie in a path of `write`. */
  readonly runWritten?: boolean;
  /**
   * Names on `PATH`, or absolute paths, of the programs that it may run beside its own; it then sees only the files that these need. When absent,
   * it may run and read everything of the system: `/usr`, `/bin`, `/sbin` and `/lib*`.
   */
  readonly run?: readonly string[];
  /** Destinations as `host`, `host:port`, `http://host` or `https://host`, reached through a proxy. Class `sealed` alone can hold a command to them. */
  readonly network?: readonly string[];
  /** May make UNIX sockets and connect to those that it can see: in `scoped` and `advisory` that is every one of the host that has a path. */
  readonly unixSockets?: boolean;
  /**
   * Variables beside `PATH`, `HOME`, `LANG`, `TERM` and `TMPDIR`, which they may replace. With `network` there are also those that name the proxy,
   * `HTTP_PROXY`, `HTTPS_PROXY` and `ALL_PROXY` in both cases of letters, which they do not replace.
   */
  readonly env?: Readonly<Record<string, string>>;
  readonly limits?: Limits;
}

/** Bounds of a command with all that it starts, unless said otherwise. Whole numbers above 0. */
export interface Limits {
  /** Private memory in bytes, of each process and in class `sealed` of all together; 2 GiB when absent. */
  readonly memoryBytes?: number;
  /** From its start on; no limit when absent. */
  readonly timeMs?: number;
  /** Seconds of processor time, of each process; 3,600 when absent. */
  readonly cpuSeconds?: number;
  /** Processes and threads at once; 128 when absent. */
  readonly processes?: number;
  /** Open files of each process; 1,024 when absent. */
  readonly openFiles?: number;
  /** Largest file that it can write, in bytes; 4 GiB when absent. */
  readonly fileBytes?: number;
  /** Bytes of both outputs together; no limit when absent, but 64 MiB for what `output()` gathers. Of no effect on outputs that are inherited. */
  readonly outputBytes?: number;
}

/** A command, and what it may do. */
export interface SandboxRequest {
  /** The program, by its name on `PATH` or by its path, and its arguments. No shell reads them. */
  readonly command: readonly string[];
  readonly grants?: Grants;
  /** What the kernel is to enforce, and no less; `sealed` when absent. */
  readonly class?: SandboxClass;
  /** Where the command starts, in a place that it may read; the current directory where it may read that, else an empty folder of its own. */
  readonly cwd?: string;
}

export interface LaunchRequest extends SandboxRequest {
  /** `null`: nothing to read, which is so when absent. `pipe`: what is written to `stdin`. `inherit`: that of this process. */
  readonly stdin?: 'null' | 'pipe' | 'inherit';
  /** `pipe`: to be read here, which is so when absent. `inherit`: both are those of this process, a terminal too. */
  readonly output?: 'pipe' | 'inherit';
  /** Ends the command: asks it to with SIGTERM, and kills it two seconds later. */
  readonly signal?: AbortSignal;
}

/** A running command. */
export interface Launched {
  /** The number of the helper around the command, as this process sees it. */
  readonly pid: number;
  readonly class: SandboxClass;
  /** Is null unless `stdin` is `pipe`. */
  readonly stdin: Writable | null;
  /** Empty when outputs are inherited. A command whose output nobody reads waits. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Sentences for a person: what may keep the command, or what it starts, from running. */
  readonly warnings: readonly string[];
  /** Settles once the command has ended, nothing of it that can be ended runs any more, and its outputs are closed. Never rejects. */
  readonly ended: Promise<Ended>;
  /** Gathers both outputs until the end. Use it instead of the streams. */
  output(): Promise<Output>;
  /** Signals the command and its process group; SIGTERM when absent. Harmless after the end. */
  kill(signal?: NodeJS.Signals): void;
}

/** How a command ended. */
export interface Ended {
  /** Is null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** `time` and `output`: it was ended for passing that limit. `caller`: for the `signal` of the request. */
  readonly endedBy: 'command' | 'time' | 'output' | 'caller';
  /**
   * What was seen to be refused: destinations, each once, up to 1,000, and limits that were reached. Only the command sees refusals of files and
   * system calls, and that a granted destination cannot be reached.
   */
  readonly refused: readonly Refusal[];
}

/** Something that a command was not allowed. */
export type Refusal =
  | {
      readonly kind: 'network';
      /** As a grant would name it; null when the request named none that can be read. */
      readonly destination: string | null;
      readonly reason: string;
    }
  | { readonly kind: 'limit'; readonly reason: string };

/** An end, and what was written until then. */
export interface Output extends Ended {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** What a command will see, write and reach. */
export interface Explanation {
  readonly class: SandboxClass;
  /** The kernel's means, joined by `+`. */
  readonly mechanism: string;
  /** The file that is started, and its arguments. */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Sorted by path. What a directory holds has the access of the nearest one above. What is not below any of them is not there, or refused. */
  readonly files: readonly ExplainedFile[];
  /** By which means the kernel holds it to `files`. */
  readonly filesHeldBy: string;
  /** Destinations; none means no network at all. */
  readonly network: readonly string[];
  readonly networkHeldBy: string;
  /** Names of its variables. */
  readonly env: readonly string[];
  readonly limits: readonly ExplainedLimit[];
  /** Sentences: what this does not stop. */
  readonly notStopped: readonly string[];
  /** Sentences: what may keep the command, or what it starts, from running. */
  readonly warnings: readonly string[];
}

export interface ExplainedFile {
  readonly path: string;
  /** `run` and `write` include reading; `own` is a place of its own that is empty at first, which it can write. */
  readonly access: 'read' | 'run' | 'write' | 'write and run' | 'own';
  /** `needed`: by its programs, or by every program. `kept`: a part of this program in a place that was granted for writing, which stays as it is. */
  readonly why: 'granted' | 'needed' | 'kept' | 'own';
}

export interface ExplainedLimit {
  readonly limit: keyof Limits;
  /** Is null without one. */
  readonly most: number | null;
  readonly of: 'command' | 'each process';
  /** By which means; `nothing` where nothing holds it on this machine. */
  readonly heldBy: string;
}

/** What this machine can enforce. */
export interface Probe {
  /** The strongest class; null where not even system calls can be filtered. */
  readonly class: SandboxClass | null;
  /** The kernel's means, joined by `+`; `none` without a class. */
  readonly mechanism: string;
  /** Why it is not a stronger class, as a clause for a person; null for the strongest. */
  readonly reason: string | null;
  /** For each class, why it cannot be enforced here; null where it can. */
  readonly obstacles: Readonly<Record<SandboxClass, string | null>>;
}
