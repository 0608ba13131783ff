/** Where artifacts are looked for, and how they are taken in. */

import type { ArtifactCheck, ArtifactSource, FetchObserver, ArtifactOrigin } from './installed-artifact.ts';
import type { NetworkDestination } from '@svc/kit/net/network-destination.ts';
import type { ServerAuth } from '../manifest/schema.ts';
import type { StateRules } from './version-state-rules.ts';
import { bundledRoot, type StoredArchive, storeRoot } from './store-layout.ts';
import type { Admission } from './trust/admit.ts';

/** The local places in the order of looking. */
export interface LocalPlace {
  readonly origin: Exclude<ArtifactOrigin, 'source'>;
  readonly root: string;
}

/** Whether a copy of this machine is what was asked for (`store/taken-copies.ts`). */
export type CopyRule = (stored: StoredArchive, origin: LocalPlace['origin']) => boolean;

/** The stores that can be written to. */
export type StoreOrigin = 'project' | 'user';

/** What an MCP server on the web is shown when it is asked for its tools. */
export interface AskingServer {
  readonly auth?: ServerAuth | undefined;
  /** The folder of the manifest, whose `.env` may hold it. */
  readonly manifestDir: string;
  readonly networkAllow: readonly NetworkDestination[];
}

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
    asking?: AskingServer,
  ) => readonly ArtifactSource[] | Promise<readonly ArtifactSource[]>;
  readonly fetching?: Fetching;
  /** The build of this program, by which what it keeps of skill folders is its own; nothing is kept where it is absent. */
  readonly build?: string;
  /** Where names of MCP servers on the web may lead beside the public web: the manifest's own list; nowhere when absent. */
  readonly networkAllow?: readonly NetworkDestination[];
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
  /** Somebody named another place for a version that `svc.lock` records: only its bytes are held to it. */
  readonly movesPlace?: boolean;
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

/** An archive that was found, and where. */
export interface Location extends LocalPlace {
  readonly stored: StoredArchive;
  /** What the trust policy says to the bytes that `stored.sha256` is of; absent for what comes with the package. */
  readonly admission?: Admission;
  /** The document of an OCI registry that it was fetched by just now (`LockedArtifact.from`). */
  readonly from?: string;
}

export function localPlaces(places: StorePlaces): readonly LocalPlace[] {
  return [
    { origin: 'bundled', root: bundledRoot(places.packageRoot) },
    { origin: 'project', root: storeRoot(places.manifestDir) },
    { origin: 'user', root: storeRoot(places.userHome) },
  ];
}
