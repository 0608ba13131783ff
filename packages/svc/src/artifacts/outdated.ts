/** The command `svc outdated`: says which artifacts of a project have newer versions, or were deprecated, yanked or blocked. */

import { Command } from 'commander';

import { loadTrustPolicy } from '@svc/artifacts/manifest/trust-policy.ts';
import type { ArtifactEntry } from '@svc/artifacts/manifest/schema.ts';
import type { Candidate } from '@svc/artifacts/store/choose-version.ts';
import { type LockedArtifact, readLock } from '@svc/artifacts/store/lockfile.ts';
import { renderSigner } from '@svc/artifacts/store/trust/rule-signers.ts';
import { encodeSigner, type Signer } from '@svc/artifacts/store/trust/signer.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { type Column, renderTable } from '@svc/terminal/screen/table.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { interruptible } from '../command/stop-signals.ts';
import { refuseUnlisted, replacesInUse, type Standing, standingsOf } from './newer-versions.ts';
import { openForChange } from './project-change.ts';

interface OutdatedOptions {
  readonly manifest: string;
  readonly registry?: string;
  readonly exitCode?: boolean;
  readonly json?: boolean;
}

const columns: readonly Column[] = [
  { title: 'NAME', keeps: 20 },
  { title: 'CURRENT', keeps: 7 },
  { title: 'WANTED', keeps: 7 },
  { title: 'LATEST', keeps: 7 },
  { title: 'STATE', keeps: 10 },
  { title: 'REASON', keeps: 20 },
];

/** `svc outdated` (docs/cli.md "svc outdated"). */
export function outdatedCommand(context: CommandContext): Command {
  return new Command('outdated')
    .description('List artifacts that have newer versions, or were deprecated, yanked or blocked.')
    .option('--manifest <path>', 'the manifest of the project', './svc.yaml')
    .option('--registry <which>', 'the address of a registry, or the name of a configured source')
    .option('--exit-code', 'end with 1 when there is such an artifact')
    .option('--json', 'write one JSON object for each')
    .action(async (options: OutdatedOptions) => {
      await interruptible(context, async (signal) => {
        const opened = openForChange(context, options, signal);
        const standings = await standingsOf(opened.listed, opened);
        const outdated = standings.filter(isOutdated);
        const isAsked = standings.some(({ apart }) => apart === null);
        // What came with an earlier svc is known without a registry.
        if (isAsked && outdated.length === 0) refuseUnlisted(opened, unknownVersions);
        write(outdated, { options, context, lock: readLock(opened.request.manifestDir) ?? [] });
        if (isAsked) refuseUnlisted(opened, unknownVersions);
        const unknown = standings.filter(({ apart, candidates }) => apart === null && candidates === null);
        for (const { entry } of unknown) {
          context.stderr.write(say`nothing is known of ${entry.name}: the registry in use does not list it\n`);
        }
        if (outdated.length > 0 && options.exitCode === true) process.exitCode = 1;
      });
    });
}

const unknownVersions = 'nobody says which versions there are of what the manifest lists';

function isOutdated(standing: Standing): boolean {
  const { now, wanted, latest } = standing;
  if (now !== null && now.state !== 'active') return true;
  return [wanted, latest].some((candidate) => candidate !== null && replacesInUse(standing, candidate));
}

interface Writing {
  readonly options: OutdatedOptions;
  readonly context: CommandContext;
  /** What the project records. */
  readonly lock: readonly LockedArtifact[];
}

function write(outdated: readonly Standing[], { options, context, lock }: Writing): void {
  const { stdout, stderr } = context;
  const signers = outdated.map(({ entry }) => recordedSigner(entry, lock));
  if (options.json === true) {
    for (const [index, { entry, wanted, latest, now }] of outdated.entries()) {
      const { name, version: current, range = null } = entry;
      const [state, reason] = [now?.state ?? null, now?.reason ?? null];
      const signer = signers[index] ?? null;
      stdout.write(
        jsonLine({
          name,
          current,
          wanted: wanted?.version ?? null,
          latest: latest?.version ?? null,
          range,
          state,
          reason,
          signed_by: signer === null ? null : encodeSigner(signer),
          wanted_signatures: signaturesOf(wanted),
        }),
      );
    }
    return;
  }
  if (outdated.length === 0) {
    stderr.write(say`nothing is outdated\n`);
    return;
  }
  const cells = outdated.map(({ entry, wanted, latest, now }) => [
    entry.name,
    entry.version,
    wanted?.version ?? '-',
    latest?.version ?? '-',
    now?.state ?? '-',
    now?.reason ?? '-',
  ]);
  if (signers.every((signer) => signer === null)) {
    stdout.write(renderTable(columns, cells, stdout));
    return;
  }
  const policy = loadTrustPolicy(context.home);
  const withSigners = cells.map((row, index) => {
    const signer = signers[index] ?? null;
    return row.concat(signer === null ? '-' : `${renderSigner(signer, policy)}${unsignedNow(outdated[index])}`);
  });
  stdout.write(renderTable([...columns, { title: 'SIGNED BY', keeps: 20 }], withSigners, stdout));
}

/** Who signed the version in use, as the project records it. */
function recordedSigner({ name, version }: ArtifactEntry, lock: readonly LockedArtifact[]): Signer | null {
  return lock.find((locked) => locked.name === name && locked.version === version)?.signedBy ?? null;
}

/** How many signatures the registry has of each archive of a version, at least; null where it does not say. */
function signaturesOf(candidate: Candidate | null): number | null {
  const counts = candidate?.listed?.archives.map(({ signatures }) => signatures) ?? [null];
  return counts.reduce<number | null>(
    (least, count) => (least === null || count === null ? null : Math.min(least, count)),
    Infinity,
  );
}

function unsignedNow(standing: Standing | undefined): string {
  const wanted = standing?.wanted ?? null;
  return wanted !== null && signaturesOf(wanted) === 0 ? `; ${wanted.version} by nobody` : '';
}
