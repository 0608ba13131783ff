import type { Readable } from 'node:stream';
import { getSystemErrorName } from 'node:util';

/** The last words of a helper that did not start its program. */
export interface LaunchFailure {
  /** The step that failed (`native/svc-launch/PLAN.md`). */
  readonly stage: string;
  /** The name of the system's error: `ENOENT`. */
  readonly error: string;
  readonly detail: string;
}

const longestLine = 4096;

/** Null once the program runs: the helper closes its status without a word then. */
export function readLaunchStatus(status: Readable): Promise<LaunchFailure | null> {
  let line = '';
  return new Promise((resolve, reject) => {
    status.on('data', (chunk: Buffer) => {
      line = (line + chunk.toString()).slice(0, longestLine);
    });
    status.once('end', () => resolve(line === '' ? null : parseLaunchFailure(line)));
    status.once('close', () => reject(new Error('the status of a launch was closed before its end')));
    status.once('error', reject);
  });
}

export function parseLaunchFailure(line: string): LaunchFailure {
  const [, stage = 'unknown', number = '', detail = ''] = /^(\S+) (\d+) ?(.*?)\n?$/s.exec(line) ?? [];
  return { stage, error: errorName(Number(number)), detail };
}

/** As a clause for a person: `unshare user answered EPERM`. */
export function describeFailure({ stage, error, detail }: LaunchFailure): string {
  return `${[stage, detail].filter((part) => part !== '').join(' ')} answered ${error}`;
}

function errorName(number: number): string {
  if (number === 0) return 'no error number';
  return getSystemErrorName(-number);
}
