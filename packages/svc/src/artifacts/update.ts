/** The command `svc update`: moves artifacts of a project to the highest versions that their ranges allow. */

import { Command } from 'commander';

import type { ArtifactEdit } from '@svc/artifacts/manifest/edit-artifacts.ts';
import { remoteServerOf } from '@svc/artifacts/manifest/artifact-place.ts';
import type { ArtifactEntry } from '@svc/artifacts/manifest/schema.ts';
import { type Candidate, heldToList, noVersion } from '@svc/artifacts/store/choose-version.ts';
import { copiesOfCandidate } from '@svc/artifacts/store/taken-copies.ts';
import { compatibleRange } from '@svc/artifacts/store/version-ranges.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { say } from '@svc/terminal/screen/shown.ts';
import { interruptible } from '../command/stop-signals.ts';
import { listedEntry, refuseOtherRuntime } from './listed-entry.ts';
import { needNoRegistry, refuseUnlisted, replacesInUse, type Standing, standingsOf } from './newer-versions.ts';
import { carryOut, openForChange } from './project-change.ts';
import type { ChangeOptions, OpenedProject, PlannedChange } from './opened-project.ts';

interface UpdateOptions extends ChangeOptions {
  readonly latest?: boolean;
}

/** `svc update [name…]` (docs/cli.md "svc update"). */
export function updateCommand(context: CommandContext): Command {
  return new Command('update')
    .description('Move artifacts to the highest versions that their ranges in svc.yaml allow.')
    .argument('[name...]', 'as artifacts lists them; all that have a range when absent')
    .option('--latest', 'ignore the range and take the newest version; the range is updated')
    .option('--manifest <path>', 'the manifest of the project', './svc.yaml')
    .option('--registry <which>', 'the address of a registry, or the name of a configured source')
    .option('--accept-signer', 'record who signs an artifact now in place of the one in svc.lock')
    .option('--dry-run', 'say what would change, and change nothing')
    .option('--json', 'write one JSON object for each artifact that changes')
    .action(async (names: string[], options: UpdateOptions) => {
      await interruptible(context, async (signal) => {
        const opened = openForChange(context, options, signal);
        const named = entriesNamed(names, opened);
        const [remote, entries] = [named.filter(isRemote), named.filter((entry) => !isRemote(entry))];
        const servers =
          remote.length === 0 ? [] : await (await import('./remote-change.ts')).planUpdates(remote, opened);
        if (entries.length === 0 && remote.length > 0) return await carryOut(servers, opened);
        if (!needNoRegistry(entries, opened)) refuseUnlisted(opened, 'there is nothing to update from');
        const standings = await standingsOf(entries, opened);
        const plan = standings.flatMap((standing) => {
          const planned = planOf(standing, { isNamed: names.length > 0, isLatest: options.latest === true, opened });
          return planned === null ? [] : [planned];
        });
        await carryOut([...servers, ...plan], opened);
      });
    });
}

function isRemote({ from }: ArtifactEntry): boolean {
  return remoteServerOf(from) !== null;
}

function entriesNamed(names: readonly string[], opened: OpenedProject): readonly ArtifactEntry[] {
  return names.length === 0 ? opened.listed : [...new Set(names)].map((name) => listedEntry(name, opened));
}

interface Planning {
  readonly isNamed: boolean;
  readonly isLatest: boolean;
  readonly opened: OpenedProject;
}

/** Returns null where the version stays; says so for an artifact that was named. */
function planOf(standing: Standing, { isNamed, isLatest, opened }: Planning): PlannedChange | null {
  const { entry, apart, candidates } = standing;
  const { name, range } = entry;
  const stays = (why: string): null => {
    if (isNamed) opened.context.stderr.write(say`${name} stays at ${entry.version}: ${why}\n`);
    return null;
  };
  if (apart !== null && apart !== 'outgrown') return stays(whyApart[apart]);
  if (range === undefined && !isLatest && apart !== 'outgrown')
    return stays('its entry has no range; --latest moves it all the same');
  const { platform } = opened.request;
  const best = isLatest ? standing.latest : standing.wanted;
  if (best === null) {
    const among = candidates ?? { where: 'the registry in use', all: [] };
    throw noVersion(name, isLatest ? '*' : (range ?? entry.version), among, platform);
  }
  if (!replacesInUse(standing, best)) return stays('there is no newer one to choose');
  return changeTo(best, standing, { isLatest, opened });
}

const whyApart = {
  source: 'it is taken from a path of this machine (source)',
  from: 'it comes from the place in its entry (from); svc add names another release',
  bundled: 'it comes with svc',
} as const;

function changeTo(
  best: Candidate,
  { entry, apart }: Standing,
  { isLatest, opened }: Omit<Planning, 'isNamed'>,
): PlannedChange {
  const { name, version: before, range } = entry;
  const { version } = best;
  const moved = isLatest && range !== undefined ? compatibleRange(version) : undefined;
  const edit: ArtifactEdit = { kind: 'change', name, version, ...(moved === undefined ? {} : { range: moved }) };
  // What comes with svc is not asked for elsewhere.
  const registry = apart === 'outgrown' ? null : opened.registry();
  return {
    name,
    before,
    after: version,
    range: moved === undefined ? (range ?? null) : moved,
    candidate: best,
    wanted: { name, version },
    ...(registry?.kind === 'registry'
      ? { source: heldToList(registry.client, best), mayTake: copiesOfCandidate(best, opened.request.platform) }
      : {}),
    expectedEdit: edit,
    edit: (runtime) => {
      refuseOtherRuntime({ name, version }, runtime, entry);
      return edit;
    },
  };
}
