/** Makes the record of a session that runs. */

import { processStart } from '@svc/kit/process-stat.ts';
import type { RunningRecord } from '@svc/svc/capsule/running-record.ts';

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
