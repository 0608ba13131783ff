/** Names the files that a contained program is given to read and to run. */

/** Files that a program and the commands it may run need, links resolved; `links` are those on the way to them. */
export interface NeededFiles {
  readonly read: readonly string[];
  /** May be executed; read too. */
  readonly execute: readonly string[];
  readonly links: readonly { readonly path: string; readonly target: string }[];
  /** Sentences for an operator: what is missing, or cannot be known from files. */
  readonly problems: readonly string[];
}

/** Device files that every program may use. */
export const devices: readonly string[] = ['null', 'zero', 'full', 'random', 'urandom'];
