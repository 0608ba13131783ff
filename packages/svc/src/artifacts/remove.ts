/** The command `svc remove`: takes an artifact out of a project. */

import { Command } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isBundledDriver } from '@svc/artifacts/manifest/names.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { interruptible } from '../command/stop-signals.ts';
import { listedEntry } from './listed-entry.ts';
import { carryOut, openForChange } from './project-change.ts';
import type { ChangeOptions, OpenedProject, PlannedChange } from './opened-project.ts';

/** `svc remove <name…>`: out of `svc.yaml`, then out of `svc.lock`; archives stay in the store (docs/cli.md "svc remove"). */
export function removeCommand(context: CommandContext): Command {
  return new Command('remove')
    .description('Remove artifacts from svc.yaml and svc.lock.')
    .argument('<name...>', 'as artifacts lists them')
    .option('--manifest <path>', 'the manifest of the project', './svc.yaml')
    .option('--dry-run', 'say what would change, and change nothing')
    .option('--json', 'write one JSON object for each artifact')
    .action(async (names: string[], options: ChangeOptions) => {
      await interruptible(context, async (signal) => {
        const opened = openForChange(context, options, signal);
        await carryOut(
          [...new Set(names)].map((name) => planOf(name, opened)),
          opened,
        );
      });
    });
}

function planOf(name: string, opened: OpenedProject): PlannedChange {
  const present = listedEntry(name, opened);
  refuseUsed(name, opened);
  const edit = { kind: 'remove', name } as const;
  const { version: before, range = null } = present;
  return { name, before, after: null, range, candidate: null, wanted: null, expectedEdit: edit, edit: () => edit };
}

/** `E-REG-030` with the place that would be left without it. A bundled driver needs no entry. */
function refuseUsed(name: string, { loaded, options }: OpenedProject): void {
  if (isBundledDriver(name)) return;
  const { inference } = loaded.manifest;
  if (inference.driver?.artifact !== name) return;
  const message = `${name} cannot be removed: inference.driver.artifact of ${options.manifest} names it`;
  throw new Diagnostic('E-REG-030', message, {
    hint: 'name another driver there first',
    location: loaded.locate(['inference', 'driver', 'artifact'], 'value'),
  });
}
