/** Says what a host was seen to enforce when it was tried. */

/** What a host was seen to do when it was tried. What was not seen is not there, and `obstacles` says what stood in its way. */
export interface HostAbility {
  /** A system call filter could be installed. */
  readonly filter: boolean;
  /** The version of Landlock whose rights could all be taken away; null without one that will do for files. */
  readonly landlockAbi: number | null;
  /** How a root of its own could be composed; null where it could not. */
  readonly root: ComposedRoot | null;
  /** A user namespace could be kept and joined by many launches, and the number of processes in it was held. */
  readonly users: boolean;
  /** A clause for a person for what cannot be had; null for what can. */
  readonly obstacles: Obstacles;
}

interface Obstacles {
  readonly sealed: string | null;
  readonly scoped: string | null;
  readonly filter: string | null;
}

export interface ComposedRoot {
  /** Through a user namespace; false where the caller's own privileges were needed. */
  readonly userNamespace: boolean;
  /** A `proc` of its own could be mounted. */
  readonly proc: boolean;
}

/** The first version that keeps a process from signaling others and from reaching abstract sockets of the host. */
export const minAbiForScoped = 6;

/**
 * The versions at which the kernel learned new rights, newest first; between them nothing changes here. Before the last of them a file
 * could be emptied unseen.
 */
export const landlockAbis: readonly number[] = [6, 5, 4, 3];
