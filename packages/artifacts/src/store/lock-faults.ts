/** Words the errors about artifacts that are not what `svc.lock` records. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { spell } from './artifact-ref.ts';
import type { ArtifactOrigin } from './installed-artifact.ts';
import { type LockedArtifact, lockPath } from './lockfile.ts';

/** What finds that an artifact differs from the lock: a run, or an install that may not change it. */
interface LockHolder {
  readonly by: 'run' | 'frozen';
  /** The manifest as the user named it: hints repeat it. */
  readonly manifestFile?: string | undefined;
  /** The folder of a lock that a run keeps elsewhere than beside the manifest, where no install would write it. */
  readonly keptIn?: string | undefined;
}

/** What is held to the lock, and where it was found. */
type FoundOnDisk = LockedArtifact & { readonly location: string; readonly origin?: ArtifactOrigin };

const codes = { run: 'E-RUN-003', frozen: 'E-REG-005' } as const;
const withoutFrozen = { run: '', frozen: ' without --frozen' } as const;

/** Where the artifacts found differ from the lock: an `E-RUN-003` each, `E-REG-005` with `--frozen`, in the order of `found`. */
export function lockFaults(
  lock: readonly LockedArtifact[],
  found: readonly FoundOnDisk[],
  holder: LockHolder = { by: 'run' },
): Diagnostic[] {
  return found.flatMap((artifact) => {
    const fault = lockFault(lock, artifact, holder);
    return fault === null ? [] : [fault];
  });
}

/** `E-REG-005` of an install that may not write what is missing. */
export function lockMissing(manifestDir: string, manifestFile: string | undefined): Diagnostic {
  return new Diagnostic('E-REG-005', `there is no ${lockPath(manifestDir)}, and --frozen does not write it`, {
    hint: `run ${installCommand({ by: 'frozen', manifestFile })} and commit svc.lock`,
  });
}

/** What accepts the artifacts that are there: the command that writes the lock anew, or a run that finds none. */
function acceptance(holder: LockHolder): string {
  if (holder.keptIn === undefined) return `run ${installCommand(holder)}`;
  return `remove ${JSON.stringify(lockPath(holder.keptIn))}, which the next run makes anew,`;
}

/** The whole command that writes the lock anew. */
function installCommand({ by, manifestFile = usualManifest }: LockHolder): string {
  return `${commandWith('svc install', manifestFile)}${withoutFrozen[by]}`;
}

function lockFault(lock: readonly LockedArtifact[], artifact: FoundOnDisk, holder: LockHolder): Diagnostic | null {
  const sameName = lock.filter((locked) => locked.name === artifact.name);
  const sameVersion = sameName.filter((locked) => locked.version === artifact.version);
  const locked = sameVersion.find((candidate) => candidate.platform === artifact.platform);
  if (locked?.sha256 === artifact.sha256) return null;
  if (locked !== undefined) {
    return new Diagnostic(
      codes[holder.by],
      `artifact ${spell(artifact)} has sha256 ${artifact.sha256} (${artifact.location}), but svc.lock records ${locked.sha256}`,
      {
        hint: `${acceptance(holder)} to accept the change, or put back the artifact that svc.lock records`,
      },
    );
  }
  const variant = artifact.platform === null ? '' : ` for ${artifact.platform}`;
  const before = sameVersion.length > 0 ? undefined : sameName[0];
  const recorded = before === undefined ? 'nothing' : spell(before);
  // An entry that svc.yaml need not have says no version: then it is svc that has changed.
  const upgraded =
    before === undefined || artifact.origin !== 'bundled'
      ? ''
      : `: ${spell(artifact)} comes with this svc, as ${recorded} came with the one before`;
  return new Diagnostic(
    codes[holder.by],
    `artifact ${spell(artifact)}${variant} has sha256 ${artifact.sha256} (${artifact.location}), but svc.lock records ${recorded} for it`,
    { hint: `${acceptance(holder)} to bring svc.lock up to date with the manifest${upgraded}` },
  );
}

export const usualManifest = './svc.yaml';

/** The command with `--manifest`, unless it is the usual one. `manifest` is the path as the user gave it. */
export function commandWith(command: string, manifest: string): string {
  return manifest === usualManifest ? command : `${command} --manifest ${inShell(manifest)}`;
}

function inShell(word: string): string {
  return /^[\w./@%+,:=][\w./@%+,:=-]*$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
