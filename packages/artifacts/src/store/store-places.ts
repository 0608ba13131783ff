/** Where artifacts are looked for, and how they are taken in. */

import type { ArtifactCheck, ArtifactSource, FetchObserver, ArtifactOrigin } from './installed-artifact.ts';
import type { StateRules } from './version-state-rules.ts';
import type { StoredArchive } from './store-layout.ts';

/** The local places in the order of looking. */
export interface LocalPlace {
  readonly origin: Exclude<ArtifactOrigin, 'source'>;
  readonly root: string;
}

/** Whether a copy of this machine is what was asked for (`store/taken-copies.ts`). */
export type CopyRule = (stored: StoredArchive, origin: LocalPlace['origin']) => boolean;

/** The stores that can be written to. */
export type StoreOrigin = 'project' | 'user';

/** Where artifacts are looked for. */
export interface StorePlaces {
  readonly manifestDir: string;
  readonly userHome: string;
  readonly packageRoot: string;
  /** `<os>-<arch>` of this machine. */
  readonly platform: string;
  /**
   * Asked in this order for what no local place has; none with `--offline`. Called only then: it may read the configuration. `from` is that of the
   * entry, or that of `svc.lock`, which names the one place to ask; the latter counts only where the operator named no registry.
   */
  readonly sources: (
    from?: string,
    by?: 'entry' | 'lock',
  ) => readonly ArtifactSource[] | Promise<readonly ArtifactSource[]>;
  readonly fetching?: Fetching;
  /** The build of this program, by which what it keeps of skill folders is its own; nothing is kept where it is absent. */
  readonly build?: string;
}

/** How what a source gives is taken in. */
export interface Fetching {
  readonly observer?: FetchObserver;
  /** The store that takes it in; the project's when absent. */
  readonly into?: StoreOrigin;
  /** A folder that takes in what is fetched in place of the project, which has no part in it then. */
  readonly aside?: string;
  /** Takes nothing that `svc.lock` does not record. */
  readonly isFrozen?: boolean;
  /** Asks the sources for signatures of what is stored already without one that suffices. */
  readonly renewsSignatures?: boolean;
  /** Lets a signer take the place of the one that `svc.lock` records. */
  readonly acceptSigner?: boolean;
  /** Nothing is used of what is found, so that the trust policy is not asked: for commands that report what a rule would refuse. */
  readonly inspectsOnly?: boolean;
  /** Which copies of this machine are taken in place of what the sources have; all when absent. */
  readonly mayTake?: CopyRule;
  /** Looks at an artifact that is used before a store takes it. */
  readonly checkArtifact?: ArtifactCheck;
  /** How versions are taken that somebody advises against; strictly when absent. */
  readonly states?: StateRules;
}
