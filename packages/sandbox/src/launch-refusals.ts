/** Says in words why a program was not started. */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { getSystemErrorName } from 'node:util';

import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { refusedPrograms } from './find-program.ts';
import type { LaunchOutcome, LaunchRequest } from './launcher.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: refusedPrograms.absent,
  EACCES: refusedPrograms.denied,
  EPERM: refusedPrograms.denied,
  E2BIG: 'the arguments are too long',
  ENOMEM: 'the host is out of memory',
  EAGAIN: 'the host allows no more processes',
  EMFILE: 'no more files can be opened',
  ENFILE: 'no more files can be opened',
  ETXTBSY: 'the file is open for writing',
  ELOOP: 'too many symbolic links',
};

/** What keeps a program from starting, as a clause for a person, by the name of the system's error. */
export function refusalOfError(code: string): string {
  return reasons[code] ?? `the system answered ${code}`;
}

/** Steps that are told as the path at which they failed. */
const pathStages: ReadonlySet<string> = new Set(['root', 'landlock', 'cwd']);

const pathReasons: Readonly<Record<string, string>> = {
  ENOENT: 'is not there any more',
  ENOTDIR: 'is not there any more',
  EACCES: 'cannot be reached without the privileges that are given up first',
  ELOOP: 'has become a link',
};

/** Why the helper did not start a program, as a clause for a person. */
export function refusalOfFailure(failure: LaunchFailure): string {
  const { stage, error, detail } = failure;
  // A session that has as many processes as it may has no room for one more, whichever step finds out.
  if (stage === 'exec' || stage === 'room' || (stage === 'fork' && error === 'EAGAIN')) return refusalOfError(error);
  if (stage === 'descriptors' && error === 'EISDIR') return 'its input or an output is a directory';
  const said = pathStages.has(stage) && detail.startsWith('/') ? pathReasons[error] : undefined;
  if (said !== undefined) return `it could not be contained: ${detail} ${said}`;
  return `it could not be contained: ${describeFailure(failure)}`;
}

/** What no program could be started with; null when there is nothing of it. */
export function malformedRequest({ args, env }: LaunchRequest): string | null {
  if (args.some((arg) => arg.includes('\0'))) return 'an argument holds a NUL character';
  const variables = Object.entries(env);
  if (variables.some(([name, value]) => `${name}${value}`.includes('\0'))) {
    return 'an environment variable holds a NUL character';
  }
  return null;
}

/** A failed `spawn` system call as a refusal; anything else is a bug and goes on. */
export function refusedBy(error: unknown): LaunchOutcome {
  if (!isSystemError(error) || error.syscall?.startsWith('spawn') !== true) throw error;
  return { kind: 'refused', reason: refusalOfError(error.code) };
}

/** Why a child without a process id never came to be. */
export async function failedStart(child: ChildProcess): Promise<LaunchOutcome> {
  const [error] = (await once(child, 'error')) as [unknown];
  return refusedBy(error);
}

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

function parseLaunchFailure(line: string): LaunchFailure {
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
