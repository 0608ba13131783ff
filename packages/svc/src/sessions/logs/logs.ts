/** The command `svc logs`: shows what commands, the driver, servers, tools and hooks of a session wrote, whole. */

import { Command } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { shownBytes, shownMinute } from '@svc/kit/shown-values.ts';
import { isJournalHeld } from '@svc/record/sessions/journal-holder.ts';
import { readRunningRecords } from '@svc/record/sessions/running-record.ts';
import { JournalReader } from '@svc/record/journal/journal-reader.ts';
import { openFolder, type OpenFolder, type WorkspaceOption } from '@svc/record/sessions/recorded-sessions.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { type Column, renderTable } from '@svc/terminal/screen/table.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { manifestFlag, manifestHelp, sessionHelp } from '../../command/session-arguments.ts';
import { addressOf } from '../../look-back/trace/step-address.ts';
import { LogPrinter } from './log-printer.ts';
import { inOrder, logNames, measureLog, openLogs, type SessionLog } from './session-logs.ts';
import { StepsOfLogs } from './steps-of-logs.ts';

interface LogsOptions extends WorkspaceOption {
  readonly follow?: boolean;
  readonly list?: boolean;
  readonly stderr?: boolean;
  readonly json?: boolean;
}

/** Which logs are meant. */
interface Wanted {
  readonly step: number | null;
  readonly isStderr: boolean;
}

const columns: readonly Column[] = [
  { title: 'STEP' },
  { title: 'FROM' },
  { title: 'NAME', keeps: 8 },
  { title: 'OUTPUT' },
  { title: 'SIZE' },
  { title: 'WRITTEN', keeps: 10 },
  { title: 'FILE', keeps: 4 },
];

/** `svc logs [session] [step]`: whole outputs from `logs/` of the session, in the order of its steps. */
export function logsCommand(context: CommandContext): Command {
  return new Command('logs')
    .description('Show whole outputs of commands, driver, servers, tools and hooks of a session.')
    .argument('[session]', `${sessionHelp}; <session>#<step> names both`)
    .argument('[step]', 'only of this step, as svc trace steps has it')
    .option('-f, --follow', 'go on with what is written, until the session ends')
    .option('--stderr', 'only what was written to standard error')
    .option('--list', 'list the logs and their sizes instead')
    .option(manifestFlag, manifestHelp, './svc.yaml')
    .option('--json', 'write one JSON object per piece of a log; with --list, per log')
    .action(async (first: string | undefined, second: string | undefined, options: LogsOptions) => {
      const { session, step } = addressOf(first, second);
      const found = await openFolder(context, session, options);
      try {
        const wanted = { step: step === null ? null : stepNumber(step, found.name), isStderr: options.stderr === true };
        await withSteps(found, async (steps) => {
          if (options.list === true) list(logsOf(found, steps, wanted).logs, wanted, context, options.json === true);
          else await show({ found, steps, wanted }, context, options);
        });
      } finally {
        found.close();
      }
    });
}

interface Showing {
  readonly found: OpenFolder;
  readonly steps: StepsOfLogs;
  readonly wanted: Wanted;
}

async function withSteps(found: OpenFolder, use: (steps: StepsOfLogs) => Promise<void>): Promise<void> {
  const reader = JournalReader.open(found.directory, thisUser());
  try {
    await use(new StepsOfLogs(reader));
  } finally {
    reader?.close();
  }
}

function stepNumber(step: string, session: string): number {
  if (/^[1-9]\d{0,14}$/.test(step)) return Number(step);
  throw new Diagnostic('E-RUN-075', `the session ${session} has no step ${step}`, {
    hint: 'a step is its number in svc trace steps',
  });
}

/** In their order. Throws `E-RUN-075` for a missing step. */
function logsOf(
  { name, directory }: OpenFolder,
  steps: StepsOfLogs,
  { step, isStderr }: Wanted,
): { readonly logs: readonly SessionLog[]; readonly more: number } {
  steps.look();
  if (step !== null && steps.count > 0 && step > steps.count) {
    throw new Diagnostic('E-RUN-075', `the session ${name} has no step ${step}`, {
      hint: `it has those from 1 to ${steps.count}: svc trace steps lists them`,
    });
  }
  const folder = openLogs(directory);
  if (folder === null) return { logs: [], more: 0 };
  try {
    const { names, more } = logNames(folder);
    const logs = names.flatMap((each) => {
      if (isStderr && each.output !== 'stderr') return [];
      const of = steps.of(each);
      if (step !== null && of !== step) return [];
      const measured = measureLog(folder, each.file);
      return measured === null ? [] : [{ ...each, step: of, ...measured }];
    });
    return { logs: logs.toSorted(inOrder), more };
  } finally {
    folder.close();
  }
}

function list(logs: readonly SessionLog[], wanted: Wanted, { stdout, stderr }: CommandContext, isJson: boolean): void {
  if (isJson) for (const log of logs) stdout.write(jsonLine(log));
  else if (logs.length > 0) stdout.write(renderTable(columns, logs.map(rowOf), stdout));
  else stderr.write(say`the session has no ${wordFor(wanted)}\n`);
}

function rowOf({ step, source, name, output, bytes, modified_at_ms: at, file }: SessionLog): readonly string[] {
  return [step === null ? '-' : `#${step}`, source, name ?? '-', output, shownBytes(bytes), shownMinute(at), file];
}

async function show({ found, steps, wanted }: Showing, context: CommandContext, options: LogsOptions): Promise<void> {
  const follows = options.follow === true;
  const first = logsOf(found, steps, wanted);
  if (first.logs.length === 0 && !follows) {
    if (wanted.step !== null) throw noLog(found.name, wanted);
    context.stderr.write(
      say`the session ${found.name} has no ${wordFor(wanted)}: svc trace show ${found.name}#<step> has shorter outputs whole\n`,
    );
    return;
  }
  if (first.more > 0) context.stderr.write(say`${first.more} more logs are not shown\n`);
  const printer = new LogPrinter(found.directory, context.stdout, {
    isJson: options.json === true,
    isAlone: first.logs.length === 1 && !follows,
    follows,
  });
  try {
    await printer.print(first.logs);
    if (follows) await follow({ found, steps, wanted }, printer, context);
    await printer.end();
  } finally {
    printer.close();
  }
}

async function follow({ found, steps, wanted }: Showing, printer: LogPrinter, context: CommandContext): Promise<void> {
  for (let runs = true; runs && !printer.isUnread;) {
    // What it wrote last is read once more after it was found gone.
    runs = isRunning(found, context);
    await printer.print(logsOf(found, steps, wanted).logs);
    if (runs) await printer.pause();
  }
}

function isRunning({ directory, name }: OpenFolder, { home }: CommandContext): boolean {
  const isListed = readRunningRecords(home).some(
    ({ session_id: id, session_directory: at }) => id === name || at === name,
  );
  return isListed || isJournalHeld(directory, systemClock.now());
}

function wordFor({ isStderr }: Wanted): string {
  return isStderr ? 'log of standard error' : 'log';
}

function noLog(session: string, wanted: Wanted): Diagnostic {
  const step = wanted.step ?? '';
  return new Diagnostic('E-RUN-125', `step ${step} of the session ${session} has no ${wordFor(wanted)}`, {
    hint: `an output of up to 16 KiB is whole in its step: svc trace show ${session} ${step}`,
  });
}
