/** The command `svc ps`: lists the live sessions of this user. */

import { Command } from 'commander';

import { readRunningRecords, type RunningRecord } from '@svc/record/sessions/running-record.ts';
import { capsuleCell, suffixOf } from '@svc/record/sessions/session-names.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { type Column, renderTable } from '@svc/terminal/screen/table.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';

/** What the others leave a workdir in 80 columns may be its start alone: `--json` has it whole. */
const columns: readonly Column[] = [
  { title: 'SESSION' },
  { title: 'CAPSULE', keeps: 8 },
  { title: 'URL', keeps: 15 },
  { title: 'PID' },
  { title: 'WORKDIR', keeps: 7 },
];

/** `svc ps`: the live sessions of this user, newest first. */
export function psCommand(context: CommandContext): Command {
  return new Command('ps')
    .description('List the running capsules.')
    .option('--json', 'write one JSON object per line')
    .action((options: { readonly json?: boolean }) => {
      const records = readRunningRecords(context.home);
      if (options.json === true) {
        for (const record of records) context.stdout.write(jsonLine(record));
        return;
      }
      if (records.length === 0) {
        context.stderr.write(say`no capsule is running\n`);
        return;
      }
      const ids = records.map(({ session_id: id }) => id);
      // On a terminal the end of an id names the session, and leaves room for the rest.
      const isCut = context.stdout.columns !== null;
      const rows = records.map((record) => [
        isCut ? `…${suffixOf(record.session_id, ids)}` : record.session_id,
        nameOf(record),
        record.url,
        String(record.pid),
        record.workdir,
      ]);
      context.stdout.write(renderTable(columns, rows, context.stdout));
    });
}

/** Nobody gave a task without a manifest its version. */
function nameOf({ name, version, project_folder: folder = null }: RunningRecord): string {
  return folder === null ? `${name} v${version}` : capsuleCell({ capsule: name, folder });
}
