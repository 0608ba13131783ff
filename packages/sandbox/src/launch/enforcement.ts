/** What the kernel enforces of a launch. */

import type { ComposedRoot } from './host-ability.ts';

/** What the kernel enforces around one launch. */
export type Enforcement =
  | { readonly class: 'sealed'; readonly landlockAbi: number; readonly root: ComposedRoot }
  | { readonly class: 'scoped'; readonly landlockAbi: number }
  /** A system call filter only. */
  | { readonly class: 'advisory' };
