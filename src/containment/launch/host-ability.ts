/** What a host was seen to do when it was tried; what was not seen is not there. */
export interface HostAbility {
  /** The version of Landlock whose rights could all be taken away; null without one that will do. */
  readonly landlockAbi: number | null;
  /** A system call filter could be installed. */
  readonly seccomp: boolean;
  /** How a root of its own could be composed; null where it could not. */
  readonly root: ComposedRoot | null;
}

export interface ComposedRoot {
  /** Through a user namespace; false where the caller's own privileges were needed. */
  readonly userNamespace: boolean;
  /** A `proc` of its own could be mounted. */
  readonly proc: boolean;
}
