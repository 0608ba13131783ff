/** A project whose artifacts are to change, and a planned change of one of them. */

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import type { ChangeRequest, ArtifactChange } from '@svc/artifacts/store/change-artifacts.ts';
import type { RegistryChoice, RegistryInUse } from '@svc/artifacts/store/sources/registry-in-use.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import type { ArtifactEntry } from '@svc/artifacts/manifest/schema.ts';
import type { Candidate } from '@svc/artifacts/store/choose-version.ts';
import type { ArtifactEdit } from '@svc/artifacts/manifest/edit-artifacts.ts';

export interface ChangeOptions {
  readonly manifest: string;
  readonly registry?: string;
  readonly allowYanked?: boolean;
  readonly acceptSigner?: boolean;
  readonly acceptTools?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** A project that is about to be changed. */
export interface OpenedProject {
  readonly context: CommandContext;
  readonly options: ChangeOptions;
  readonly request: ChangeRequest;
  readonly choice: RegistryChoice;
  readonly loaded: LoadedManifest;
  /** The entries that the manifest lists, without the bundled driver that it need not list. */
  readonly listed: readonly ArtifactEntry[];
  registry(): RegistryInUse;
}

/** What is to become of one artifact, and how it is shown. */
export interface PlannedChange extends ArtifactChange {
  readonly name: string;
  /** The version before; null for one that is new. */
  readonly before: string | null;
  /** The version after; null for one that is taken out. */
  readonly after: string | null;
  readonly range: string | null;
  /** The version that was chosen from a list. */
  readonly candidate: Candidate | null;
  /** What the edit of the manifest will be, as far as it is known before anything is fetched. */
  readonly expectedEdit: ArtifactEdit;
}
