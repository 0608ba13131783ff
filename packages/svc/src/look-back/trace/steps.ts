/** The command `svc trace steps`: lists what a session did, one row a step, task, refused call and answer. */

import { setTimeout as pause } from 'node:timers/promises';
import { Command } from 'commander';

import { readRunningRecords } from '@svc/record/sessions/running-record.ts';
import { damaged, type Step } from '@svc/record/journal/journal-reader.ts';
import type { JournalScan } from '@svc/record/journal/journal-scan.ts';
import { PassedTexts } from '@svc/record/journal/passed-texts.ts';
import { turnOf } from '@svc/record/journal/records.ts';
import type { OpenJournal, WorkspaceOption } from '@svc/record/sessions/recorded-sessions.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { manifestFlag, manifestHelp, sessionHelp, withJournal } from '../../command/session-arguments.ts';
import { rowKinds, type RecordedRow, RecordedRows } from '../../shown/recorded-rows.ts';
import { rowOf } from './step-row.ts';

interface StepsOptions extends WorkspaceOption {
  readonly follow?: boolean;
  readonly json?: boolean;
}

/** How often a journal is looked at for more. */
const lookMs = 200;

type RowScan = JournalScan<(typeof rowKinds)[number]>;

/** `svc trace steps [session]`: in the order in which they began; with `--follow`, each as it ends, until the session does. */
export function stepsCommand(context: CommandContext): Command {
  return new Command('steps')
    .description('List what a session did: tasks, questions to the model, calls, hooks, answers.')
    .argument('[session]', sessionHelp)
    .option('--follow', 'go on with steps as they end, until the session does')
    .option(manifestFlag, manifestHelp, './svc.yaml')
    .option('--json', 'write one JSON object per row')
    .action(async (wanted: string | undefined, options: StepsOptions) => {
      await withJournal(context, wanted, options, async (journal) => {
        const scan = journal.reader.scan(rowKinds);
        const texts = new PassedTexts(journal.reader);
        const write = (row: RecordedRow): void => {
          const { stdout } = context;
          stdout.write(options.json === true ? jsonLine(rowFacts(row)) : rowOf(row, texts, stdout));
        };
        if (options.follow === true) await follow(scan, journal, { context, texts, write });
        else writeAll(scan, texts, write);
        if (scan.damage !== null) throw damaged(scan.damage);
      });
    });
}

/** A step and its end may be far apart, and are shown in the order of their beginnings. */
function writeAll(scan: RowScan, texts: PassedTexts, write: (row: RecordedRow) => void): void {
  const rows = new RecordedRows(texts);
  for (const { record, byte } of scan.records()) for (const row of rows.take(record, byte)) write(row);
  for (const row of rows.rest()) write(row);
}

/** Ends with the record of the end, or once nobody writes any more. */
async function follow(
  scan: RowScan,
  { session, reader }: OpenJournal,
  { context, texts, write }: FollowedRows,
): Promise<void> {
  const rows = new RecordedRows(texts, 'as they end');
  for (let isLast = false; ;) {
    reader.renew();
    for (const { record, byte } of scan.records()) {
      for (const row of rows.take(record, byte)) write(row);
      if (record.k === 'close') return;
    }
    if (scan.damage !== null || isLast) break;
    // What it wrote last is read once more after it was found gone.
    isLast = !readRunningRecords(context.home).some(({ session_id: id }) => id === session);
    if (!isLast) await pause(lookMs);
  }
  if (scan.damage === null) context.stderr.write(say`the session ${session} does not run, and has no end\n`);
}

interface FollowedRows {
  readonly context: CommandContext;
  readonly texts: PassedTexts;
  readonly write: (row: RecordedRow) => void;
}

/** A row as `--json` has it, without texts. What has no number is no step: a task, a call that was refused, the end of a task. */
function rowFacts(row: RecordedRow): Record<string, unknown> {
  switch (row.kind) {
    case 'step':
      return stepFacts(row.step);
    case 'task':
      return { ...noStep, place: row.record.id, port: 'task', name: row.record.origin, started_at_ms: row.record.at };
    case 'refused':
      return {
        ...noStep,
        place: row.place,
        port: 'refused',
        name: row.call.name,
        turn: turnOf(row.place),
        is_error: true,
      };
    case 'end': {
      const { id, at, state } = row.record;
      return { ...noStep, place: id, port: 'end', name: state, started_at_ms: at, is_error: state === 'failed' };
    }
  }
}

const noStep = {
  step: null,
  place: null,
  port: null,
  name: null,
  turn: null,
  started_at_ms: null,
  duration_ms: null,
  lost: null,
  stop: null,
  usage: null,
  exit: null,
  is_error: null,
  calls: [],
};

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
