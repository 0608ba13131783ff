/** The command `svc stop`: asks a session to end, and ends it when it does not. */

import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isAlive } from '@svc/kit/process-stat.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { decodeStopReport, type StopReport } from '@svc/protocol/stop-report.ts';
import type { RunningRecord } from '@svc/record/sessions/running-record.ts';
import {
  doorOf,
  approachCapsule,
  type ApproachedCapsule,
  sendTokenHelp,
  tokenChoice,
  type TokenChoice,
  type LocatedCapsule,
} from '@svc/record/running/approach-capsule.ts';
import { faultOf, shownId } from '@svc/record/running/capsule-faults.ts';
import { locateRunning } from '@svc/record/running/locate-running.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine, say, type Shown } from '@svc/terminal/screen/shown.ts';

/** How long the capsule may take to stop its tasks before its process is ended all the same. */
const answerMs = 5000;
/** A capsule whose `after_task` is `exit` ends by itself within this time once its tasks are stopped. */
const ownEndMs = 2000;
/** What `svc run` takes at most after a signal (docs/cli.md "svc run"). */
const signaledEndMs = 20_000;
const pollMs = 20;

interface StopOptions {
  readonly sendToken?: boolean;
  readonly json?: boolean;
}

/** What came of it, as `--json` says it. Of a capsule that did not answer, nothing is known of its tasks. */
interface Stopped {
  readonly session: string;
  readonly canceled: readonly string[] | null;
  readonly residue: StopReport['residue'] | null;
  /** False for a process that is not of this user, which was left alone. */
  readonly ended: boolean;
}

type StopAnswer =
  | { readonly kind: 'stopped'; readonly report: StopReport }
  | { readonly kind: 'failed'; readonly failure: Diagnostic };

/** `svc stop`: calls `session/stop`, waits, then signals (docs/cli.md "svc stop"). */
export function stopCommand(context: CommandContext): Command {
  return new Command('stop')
    .description('Stop a running capsule: its tasks are canceled, then its process ends.')
    .argument('[session]', 'session id, at least 4 of its last characters, or host:port; the newest when absent')
    .option('--json', 'write one JSON object')
    .option('--send-token', sendTokenHelp)
    .action(async (wanted: string | undefined, options: StopOptions) => {
      const located = await locateRunning(context, wanted);
      const choice = tokenChoice(context, { ...options, method: 'session/stop', timeoutMs: answerMs });
      const answer = await askToStop(located, choice);
      const stopped =
        answer.kind === 'stopped'
          ? await endStopped(located, answer.report, (rows) => context.stderr.write(rows))
          : await endUnanswered(located, answer.failure, context);
      if (options.json === true) context.stdout.write(jsonLine(stopped));
    });
}

async function askToStop(located: LocatedCapsule, choice: TokenChoice): Promise<StopAnswer> {
  try {
    const capsule = await approachCapsule(located, choice);
    const { address } = capsule;
    const report = decodeStopReport(await callStop({ ...capsule, timeoutMs: answerMs }));
    if (report === null) return failed(`the capsule at ${address} answered session/stop with an unknown shape`);
    const { sessionId: answered } = report;
    if (located.record !== null && answered !== located.record.session_id) {
      return failed(`another session, ${shownId(answered)}, answered at ${address}`);
    }
    return { kind: 'stopped', report };
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    return { kind: 'failed', failure: error };
  }
}

async function callStop(capsule: ApproachedCapsule & { readonly timeoutMs: number }): Promise<unknown> {
  const method = 'session/stop';
  try {
    return await new CapsuleClient({ ...doorOf(capsule), isGated: false }).call(method, {});
  } catch (error) {
    throw faultOf(error, { ...capsule, method });
  }
}

function failed(message: string): StopAnswer {
  return { kind: 'failed', failure: new Diagnostic('E-IO-003', message) };
}

/** Ends the process of the session that answered, when it is one of this user's, and reports it. */
export async function endStopped(
  { address, record }: LocatedCapsule,
  report: StopReport,
  tell: (rows: Shown) => void,
): Promise<Stopped> {
  const { canceled, residue, sessionId } = report;
  const isOurs = record?.session_id === sessionId;
  if (isOurs) await endProcess(record, ownEndMs);
  const tasks = `${canceled.length} ${canceled.length === 1 ? 'task' : 'tasks'} canceled`;
  const left = residue.length === 0 ? '' : `, left running: ${JSON.stringify(residue)}`;
  const end = isOurs ? '' : `; the process at ${address} is not of this user and was not signaled`;
  tell(say`stopped ${shownId(sessionId)}: ${tasks}${left}${end}\n`);
  return { session: sessionId, canceled, residue, ended: isOurs };
}

/** Nobody knows who listens at an address that did not answer: only a session that was named itself is signaled. */
async function endUnanswered(
  { record, named }: LocatedCapsule,
  failure: Diagnostic,
  context: CommandContext,
): Promise<Stopped> {
  if (record === null || named === 'address') throw failure;
  context.stderr.write(say`svc: ${failure.message}; its process ${record.pid} is sent SIGTERM\n`);
  await endProcess(record, 0);
  context.stderr.write(say`stopped ${record.session_id}\n`);
  return { session: record.session_id, canceled: null, residue: null, ended: true };
}

async function endProcess(record: RunningRecord, ownMs: number): Promise<void> {
  if (await hasEnded(record, ownMs)) return;
  terminate(record);
  if (await hasEnded(record, signaledEndMs)) return;
  throw new Diagnostic('E-RUN-027', `process ${record.pid} of ${record.session_id} did not end within 20 s`, {
    hint: `end it with kill -9 ${record.pid}; its trace stays readable`,
  });
}

function terminate({ pid, session_id: sessionId }: RunningRecord): void {
  try {
    process.kill(pid, 'SIGTERM');
    // Suspended by Ctrl+Z, it is met by the other only once it goes on.
    process.kill(pid, 'SIGCONT');
  } catch (error) {
    if (!isSystemError(error)) throw error;
    // It has ended meanwhile.
    if (error.code === 'ESRCH') return;
    const message = `process ${pid} of ${sessionId} cannot be signaled: ${systemReason(error)}`;
    throw new Diagnostic('E-RUN-027', message, { hint: 'stop it as the user who started it', cause: error });
  }
}

async function hasEnded(record: RunningRecord, withinMs: number): Promise<boolean> {
  for (let waited = 0; waited < withinMs; waited += pollMs) {
    if (!isAlive(record.pid, record.process_start)) return true;
    await delay(pollMs);
  }
  return !isAlive(record.pid, record.process_start);
}
