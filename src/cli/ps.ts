import { Command } from 'commander';

import { readRunningRecords } from '../capsule/running-record.ts';
import type { CommandContext } from './command-context.ts';
import { renderTable } from './table.ts';

interface PsOptions {
  readonly json?: boolean;
}

/** `svc ps`: the live sessions of this user, newest first. */
export function psCommand(context: CommandContext): Command {
  return new Command('ps')
    .description('List the running capsules.')
    .option('--json', 'write one JSON object per line')
    .action((options: PsOptions) => {
      const records = readRunningRecords(context.home);
      if (options.json === true) {
        for (const record of records) context.stdout.write(`${JSON.stringify(record)}\n`);
        return;
      }
      if (records.length === 0) {
        context.stderr.write('no capsule is running\n');
        return;
      }
      const rows = records.map((record) => [
        record.session_id,
        `${record.name} v${record.version}`,
        record.url,
        String(record.pid),
        record.workdir,
      ]);
      context.stdout.write(renderTable(['SESSION', 'CAPSULE', 'URL', 'PID', 'WORKDIR'], rows));
    });
}
