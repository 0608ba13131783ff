/** Makes and changes the records of sessions that run. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { processStart } from '@svc/kit/process-stat.ts';
import type { RunningRecord } from '@svc/record/sessions/running-record.ts';

/** The record of a live session: it names the process of the test. */
export function liveRecord(over: Partial<RunningRecord> = {}): RunningRecord {
  return {
    session_id: 'ses_00000000000070008000000000000001',
    url: 'localhost:4000',
    address: '127.0.0.1:4000',
    pid: process.pid,
    process_start: processStart(process.pid),
    name: 'demo',
    version: '1.0.0',
    workdir: '/w',
    session_directory: undefined,
    project_folder: undefined,
    started_at_ms: 1,
    ...over,
  };
}

/** Changes what other commands read of a session that runs. */
export function changeRecord(home: string, session: string, changes: Partial<RunningRecord>): void {
  const folder = join(home, '.svc', 'running');
  const name = readdirSync(folder).find((one) => one.startsWith(`${session}.`));
  if (name === undefined) throw new Error(`${session} has no record in ${folder}`);
  const record = JSON.parse(readFileSync(join(folder, name), 'utf8')) as RunningRecord;
  writeFileSync(join(folder, name), JSON.stringify({ ...record, ...changes }));
}
