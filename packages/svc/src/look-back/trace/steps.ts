/** The command `svc trace steps`: lists what a session did, one row a step. */

import { setTimeout as pause } from 'node:timers/promises';
import { Command } from 'commander';

import { readRunningRecords } from '@svc/record/sessions/running-record.ts';
import { damaged, type Step } from '@svc/record/journal/journal-reader.ts';
import type { JournalScan } from '@svc/record/journal/journal-scan.ts';
import { type StartRecord, turnOf } from '@svc/record/journal/records.ts';
import type { OpenJournal, WorkspaceOption } from '@svc/record/sessions/recorded-sessions.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { manifestFlag, manifestHelp, sessionHelp, withJournal } from '../../command/session-arguments.ts';
import { stepRow } from './step-row.ts';

interface StepsOptions extends WorkspaceOption {
  readonly follow?: boolean;
  readonly json?: boolean;
}

/** How often a journal is looked at for more. */
const lookMs = 200;

type StepScan = JournalScan<'start' | 'end' | 'close'>;

/** `svc trace steps [session]`: in the order in which they began; with `--follow`, each as it ends, until the session does. */
export function stepsCommand(context: CommandContext): Command {
  return new Command('steps')
    .description('List the steps of a session: questions to the model, calls, hooks.')
    .argument('[session]', sessionHelp)
    .option('--follow', 'go on with steps as they end, until the session does')
    .option(manifestFlag, manifestHelp, './svc.yaml')
    .option('--json', 'write one JSON object per step')
    .action(async (wanted: string | undefined, options: StepsOptions) => {
      await withJournal(context, wanted, options, async (journal) => {
        const scan = journal.reader.scan(['start', 'end', 'close']);
        const write = (step: Step): void => writeStep(step, journal, { context, isJson: options.json === true });
        if (options.follow === true) await follow(scan, journal, { context, write });
        else writeAll(scan, write);
        if (scan.damage !== null) throw damaged(scan.damage);
      });
    });
}

/** A step and its end may be far apart, and are shown in the order of their beginnings. */
function writeAll(scan: StepScan, write: (step: Step) => void): void {
  const waiting: Step[] = [];
  const open = new Map<string, number>();
  let [first, shift] = [0, 0];
  const flush = (isReady: (step: Step) => boolean): void => {
    for (let step = waiting[first]; step !== undefined && isReady(step); step = waiting[first]) {
      write(step);
      first += 1;
    }
    // What has been shown need not be held.
    if (first === waiting.length) {
      waiting.length = 0;
      shift += first;
      first = 0;
    }
  };
  let number = 0;
  for (const { record, byte } of scan.records()) {
    if (record.k === 'start') {
      number += 1;
      open.set(record.e, shift + waiting.length);
      waiting.push({ number, start: record, end: null, startByte: byte, endByte: null });
    } else if (record.k === 'end') {
      const at = open.get(record.e);
      const step = at === undefined ? undefined : waiting[at - shift];
      if (at === undefined || step === undefined) continue;
      open.delete(record.e);
      waiting[at - shift] = { ...step, end: record, endByte: byte };
      flush(({ end }) => end !== null);
    }
  }
  flush(() => true);
}

/** Ends with the record of the end, or once nobody writes any more. */
async function follow(
  scan: StepScan,
  { session, reader }: OpenJournal,
  { context, write }: { readonly context: CommandContext; readonly write: (step: Step) => void },
): Promise<void> {
  const open = new Map<string, { readonly number: number; readonly start: StartRecord; readonly startByte: number }>();
  let number = 0;
  for (let isLast = false; ;) {
    reader.renew();
    for (const { record, byte } of scan.records()) {
      if (record.k === 'close') return;
      if (record.k === 'start') {
        number += 1;
        open.set(record.e, { number, start: record, startByte: byte });
        continue;
      }
      const begun = open.get(record.e);
      open.delete(record.e);
      if (begun !== undefined) write({ ...begun, end: record, endByte: byte });
    }
    if (scan.damage !== null || isLast) break;
    // What it wrote last is read once more after it was found gone.
    isLast = !readRunningRecords(context.home).some(({ session_id: id }) => id === session);
    if (!isLast) await pause(lookMs);
  }
  if (scan.damage === null) context.stderr.write(say`the session ${session} does not run, and has no end\n`);
}

function writeStep(
  step: Step,
  { reader }: OpenJournal,
  { context, isJson }: { readonly context: CommandContext; readonly isJson: boolean },
): void {
  context.stdout.write(isJson ? jsonLine(stepFacts(step)) : stepRow(step, reader, context.stdout));
}

/** A step as `--json` has it: what the journal says of it, without texts. */
export function stepFacts({ number, start, end }: Step): Record<string, unknown> {
  const { e, port, name, at } = start;
  return {
    step: number,
    place: e,
    port,
    name,
    turn: turnOf(e),
    started_at_ms: at,
    duration_ms: end?.ms ?? null,
    lost: end?.lost ?? null,
    stop: end?.stop ?? null,
    usage: end?.usage ?? null,
    exit: end?.exit ?? null,
    is_error: end === null ? null : (end.error ?? false),
    calls: end?.calls ?? [],
  };
}
