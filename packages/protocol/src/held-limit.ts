/** What bounds the processes and the memory of a session, and by which means each bound is held. */

/** By what a limit is held; `watched` is held by `svc` afterwards, `none` by nothing (`docs/containment.md`, "Limits"). */
export type HeldBy = 'cgroup-v2' | 'cgroup-v1' | 'user-namespace' | 'user' | 'rlimit' | 'watched' | 'none';

/** A bound of one started program, or of all programs of the session together. */
export interface HeldLimit {
  readonly resource: 'processes' | 'memory';
  readonly of: 'program' | 'session';
  /** Processes, or bytes; null where none is declared. */
  readonly max: number | null;
  readonly held_by: HeldBy;
}
