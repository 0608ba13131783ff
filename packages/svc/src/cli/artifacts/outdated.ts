/** The command `svc outdated`: says which artifacts of a project have newer versions, or were deprecated, yanked or blocked. */

import { Command } from 'commander';

import type { CommandContext } from '../command-context.ts';
import { interruptible } from '../stop-signals.ts';
import { type Column, renderTable } from '../table.ts';
import { jsonLine, say } from '../terminal/shown.ts';
import { replacesInUse, type Standing, standingsOf } from './newer-versions.ts';
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
    .description('List artifacts of which there are newer versions, or that were deprecated, yanked or blocked.')
    .option('--manifest <path>', 'the manifest of the project', './svc.yaml')
    .option('--registry <which>', 'the address of a registry, or the name of a configured source')
    .option('--exit-code', 'end with 1 when there is such an artifact')
    .option('--json', 'write one JSON object for each')
    .action(async (options: OutdatedOptions) => {
      await interruptible(context, async (signal) => {
        const opened = openForChange(context, options, signal);
        const standings = await standingsOf(opened.listed, opened);
        const outdated = standings.filter(isOutdated);
        write(outdated, options, context);
        const unknown = standings.filter(({ apart, candidates }) => apart === null && candidates === null);
        for (const { entry } of unknown) {
          context.stderr.write(say`nothing is known of ${entry.name}: the registry in use does not list it\n`);
        }
        if (outdated.length > 0 && options.exitCode === true) process.exitCode = 1;
      });
    });
}

function isOutdated(standing: Standing): boolean {
  const { now, wanted, latest } = standing;
  if (now !== null && now.state !== 'active') return true;
  return [wanted, latest].some((candidate) => candidate !== null && replacesInUse(standing, candidate));
}

function write(outdated: readonly Standing[], { json }: OutdatedOptions, { stdout, stderr }: CommandContext): void {
  if (json === true) {
    for (const { entry, wanted, latest, now } of outdated) {
      const { name, version: current, range = null } = entry;
      const [state, reason] = [now?.state ?? null, now?.reason ?? null];
      const [wantedVersion, latestVersion] = [wanted?.version ?? null, latest?.version ?? null];
      stdout.write(jsonLine({ name, current, wanted: wantedVersion, latest: latestVersion, range, state, reason }));
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
  stdout.write(renderTable(columns, cells, stdout));
}
