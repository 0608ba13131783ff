/** The command `svc approve`: says whether a call that waits may run. */

import { createInterface } from 'node:readline';
import { Command } from 'commander';

import type { CapsuleClient } from '@svc/client/capsule-client.ts';
import { ClientError } from '@svc/client/client-error.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { type ApprovalAnswer, encodeOpenApproval, type OpenApproval } from '@svc/protocol/approval.ts';
import { faultOf } from '@svc/record/running/capsule-faults.ts';
import { readRunningRecords, type RunningRecord } from '@svc/record/sessions/running-record.ts';
import { canAsk } from '@svc/terminal/screen/ask-yes.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { approvalAnswer, approvalPrompt, approvalRows } from '../../shown/approval-rows.ts';
import { forget, isEnd, listKept, nothing } from './kept-calls.ts';
import { personClient } from './person-client.ts';

interface ApproveOptions {
  readonly list?: boolean;
  readonly allow?: boolean;
  readonly deny?: boolean;
  readonly session?: boolean;
  readonly always?: boolean;
  readonly forget?: boolean;
  readonly note?: string;
  readonly json?: boolean;
}

/** `svc approve [id]`: shows the call and asks; nothing typed is a no. `--allow` and `--deny` answer without asking. */
export function approveCommand(context: CommandContext): Command {
  const command = new Command('approve')
    .description('Say whether a call that waits for approval may run.')
    .argument('[id]', 'id of the approval, or at least 4 of its last characters; the only one that waits when absent')
    .option('--list', 'list what waits and what was approved for every session, and answer nothing')
    .option('--allow', 'let the call run')
    .option('--session', 'with --allow: let the same call run in its session from now on')
    .option('--always', 'with --allow: let the same call run in every session of its manifest from now on')
    .option('--deny', 'do not let the call run')
    .option('--note <text>', 'with --deny: tell the model why')
    .option('--forget', 'ask again about a call that was approved for every session: its id as --list has it, or all')
    .option('--json', 'write one JSON object')
    .addHelpText('after', '\nExample:\n  svc approve');
  return command.action(async (wanted: string | undefined, options: ApproveOptions) => {
    if (options.allow === true && options.deny === true) command.error('error: --allow and --deny are two answers');
    if ((options.session ?? options.always) === true && options.allow !== true)
      command.error(`error: ${options.session === true ? '--session' : '--always'} needs --allow`);
    if (options.forget === true) return await forget(wanted, options, context);
    const waiting = await allWaiting(context);
    if (options.list === true) return list(waiting, options, context);
    const found = named(waiting, wanted);
    const answer = await answerTo(found, options, context);
    const { decision, by } = await given(answer, found);
    const { id } = found.approval;
    const { session_id: session } = found.record;
    context.stdout.write(options.json === true ? jsonLine({ session, id, decision, by }) : say`${id} ${decision}\n`);
  });
}

interface Waiting {
  readonly record: RunningRecord;
  readonly address: string;
  readonly client: CapsuleClient;
  readonly approval: OpenApproval;
}

const callMs = 10_000;

/** What waits in the sessions of this user that ask for approvals. One that is not reached is passed over: it may end just now. */
async function allWaiting({ home }: CommandContext): Promise<readonly Waiting[]> {
  const found = await Promise.all(readRunningRecords(home).map((record) => waitingIn(home, record)));
  return found.flat();
}

async function waitingIn(home: string, record: RunningRecord): Promise<readonly Waiting[]> {
  try {
    const asked = await personClient(home, record);
    if (asked === null) return [];
    const { client, address } = asked;
    return (await client.approvals()).map((approval) => ({ record, address, client, approval }));
  } catch (error) {
    if (error instanceof ClientError || error instanceof Diagnostic) return [];
    throw error;
  }
}

function list(waiting: readonly Waiting[], { json }: ApproveOptions, context: CommandContext): void {
  const kept = listKept(context);
  const { stdout } = context;
  if (json === true) {
    const approvals = waiting.map(({ record, approval }) => ({
      session: record.session_id,
      ...encodeOpenApproval(approval),
    }));
    stdout.write(
      jsonLine({ approvals, kept: kept.map(({ manifest, id, at, by, call }) => ({ manifest, id, at, by, call })) }),
    );
    return;
  }
  if (waiting.length === 0) stdout.write(say`nothing waits for approval\n`);
  for (const { approval } of waiting) stdout.write(say`${approvalRows(approval)}\n`);
  for (const { manifest, id, call } of kept)
    stdout.write(say`${id} ${call} runs in every session of ${quoted(manifest)}\n`);
}

/** Throws `E-APR-003` where none or several fit. */
function named(waiting: readonly Waiting[], wanted: string | undefined): Waiting {
  const fits = waiting.filter(({ approval: { id } }) => wanted === undefined || id === wanted || isEnd(wanted, id));
  const [found, another] = fits;
  if (found !== undefined && another === undefined) return found;
  const ids = fits.map(({ approval: { id } }) => id).join(', ');
  if (found !== undefined) throw nothing(`several calls wait: ${ids}`);
  throw nothing(wanted === undefined ? 'no call waits' : 'no call waits under this id');
}

async function answerTo(
  { approval }: Waiting,
  { allow, deny, session, always, note }: ApproveOptions,
  context: CommandContext,
): Promise<ApprovalAnswer> {
  const { id, digest } = approval;
  const option = always === true ? 'manifest' : session === true ? 'session' : 'once';
  if (allow === true) return { id, digest, decision: 'allow', option, note: null };
  if (deny === true) return { id, digest, decision: 'deny', option: 'once', note: note ?? null };
  const { stderr } = context;
  stderr.write(say`${approvalRows(approval, true)}\n`);
  if (!canAsk(context)) throw nothing('there is no terminal to ask on', `svc approve ${id} --allow or --deny answers`);
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    stderr.write(say`${approvalPrompt(approval)}`);
    for await (const line of lines) {
      const answer = approvalAnswer(line, approval);
      if (answer !== null) return answer;
      stderr.write(say`${approvalPrompt(approval)}`);
    }
  } finally {
    lines.close();
  }
  throw nothing('no answer was given');
}

const settledFault = -32_050;
const elsewhereFault = -32_052;
const goneFaults: ReadonlySet<number | null> = new Set([settledFault, -32_051, -32_001]);

/** Throws `E-APR-003` where the call does not wait for this answer any more. */
export async function given(
  answer: ApprovalAnswer,
  { client, address }: Pick<Waiting, 'client' | 'address'>,
): ReturnType<CapsuleClient['approve']> {
  try {
    return await client.approve(answer);
  } catch (error) {
    if (error instanceof ClientError && goneFaults.has(error.fault)) {
      throw nothing(error.fault === settledFault ? 'it was settled meanwhile' : 'the call does not wait any more');
    }
    if (error instanceof ClientError && error.fault === elsewhereFault) {
      throw nothing(error.refusal ?? error.message);
    }
    throw faultOf(error, { address, method: 'approvals/answer', timeoutMs: callMs });
  }
}
