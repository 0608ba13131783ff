/** The command `svc trace show`: shows a session as its person saw it, what it began with, or one of its steps. */

import { closeSync } from 'node:fs';
import { Command } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shownMinute } from '@svc/kit/shown-values.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { type BodyReading, damaged, type JournalReader, type Step } from '@svc/record/journal/journal-reader.ts';
import { openOwn } from '@svc/record/journal/line-file.ts';
import { type OpenJournal, traceFile, type WorkspaceOption } from '@svc/record/sessions/recorded-sessions.ts';
import { laterGrantsIn } from '@svc/record/sessions/later-grants.ts';
import { isJournalHeld } from '@svc/record/sessions/journal-holder.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';
import { parsed } from '@svc/record/journal/recorded-json.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { pageOf } from '@svc/terminal/screen/page.ts';
import { usesColor } from '@svc/terminal/screen/render-failure.ts';
import { jsonLine, say, type Shown } from '@svc/terminal/screen/shown.ts';
import { writePaged } from '@svc/terminal/screen/pager.ts';
import { manifestFlag, manifestHelp, sessionHelp, withJournal } from '../../command/session-arguments.ts';
import { plainFlag, plainHelp, shownPlainly } from '../../command/plain-context.ts';
import { bareCode, recordedCode } from '../../shown/recorded-code.ts';
import { laterGrantRows } from '../../shown/later-grants.ts';
import { recordedTranscript } from '../../shown/recorded-transcript.ts';
import { addressOf } from './step-address.ts';
import { StepView } from './step-view.ts';
import { stepFacts } from './steps.ts';

interface ShowOptions extends WorkspaceOption {
  readonly setup?: boolean;
  readonly grants?: boolean;
  readonly json?: boolean;
  readonly code?: string | true;
  readonly plain?: boolean;
}

/** How many steps are looked through for the request that one extends. */
const furthestBase = 1000;

/** `svc trace show [session] [step]`: request, answer, result; without a step the transcript of the session. */
export function showCommand(context: CommandContext): Command {
  return new Command('show')
    .description('Show what was said and done in a session, or one step of it whole.')
    .argument('[session]', `${sessionHelp}; <session>#<step> names both`)
    .argument('[step]', 'the number of a step, as svc trace steps has it')
    .option(manifestFlag, manifestHelp, './svc.yaml')
    .option('--setup', 'what the session began with: manifest, prompt, tools, grants, hooks, settings')
    .option('--grants', 'what the session was granted')
    .option('--json', 'write one JSON object, texts included')
    .option('--code [n]', 'a block of code of its answers alone, to be copied: the last one, or number n from the end')
    .option(plainFlag, plainHelp)
    .action(async (first: string | undefined, second: string | undefined, options: ShowOptions) => {
      const { session, step } = addressOf(first, second);
      const where = await shownPlainly(context, options.plain);
      await withJournal(context, session, options, (journal) => {
        if (options.code !== undefined) showCode(journal, options.code, context);
        else if (step !== null) showStep(journal, stepOf(journal, step), { options, context });
        else if (options.json === true) context.stdout.write(jsonLine(sessionWithTexts(journal)));
        else if (options.setup === true || options.grants === true) showSetup(journal, options, context);
        else showTranscript(journal, where);
      });
    });
}

/** Throws `E-RUN-075` for a number without a step. */
function stepOf({ reader, session }: OpenJournal, wanted: string): Step {
  const step = /^\d{1,15}$/.test(wanted) ? reader.step(Number(wanted)) : null;
  if (step !== null) return step;
  const last = reader.lastStep();
  const hint = last === 0 ? 'it has none yet' : `it has those from 1 to ${last}: svc trace steps lists them`;
  throw new Diagnostic('E-RUN-075', `the session ${session} has no step ${wanted}`, { hint });
}

function showStep(
  { reader, setup, directory }: OpenJournal,
  step: Step,
  { options, context }: { readonly options: ShowOptions; readonly context: CommandContext },
): void {
  if (options.json === true) {
    context.stdout.write(jsonLine(stepWithTexts(reader, step)));
    return;
  }
  const page = pageOf(context.stdout);
  const view = new StepView(page, reader);
  const grants =
    setup === null || options.grants !== true
      ? ''
      : view.text(say`grants of the session:`, setup.grants) + page.own(laterGrantRows(laterGrantsIn(directory)));
  writePaged(view.step(step, baseOf(reader, step)) + grants, context);
}

/** The step whose request this one extends, which is nearly always among the last few; null without one. */
function baseOf(reader: JournalReader, { number, start }: Step): number | null {
  if (start.port !== 'model' || start.base === null) return null;
  for (let at = number - 1; at >= Math.max(1, number - furthestBase); at -= 1) {
    if (reader.step(at)?.start.e === start.base) return at;
  }
  return null;
}

function stepWithTexts(reader: JournalReader, step: Step): Record<string, unknown> {
  const { start, end } = step;
  const text = (sha256: string): unknown => valueOf(reader.body(sha256));
  const asked =
    start.port === 'model'
      ? { fixed: text(start.fixed), base: baseOf(reader, step), add: start.add.map(text) }
      : { input: text(start.in) };
  const value = end === null || end.value === null ? null : text(end.value);
  return { ...stepFacts(step), ...asked, value };
}

/** A text that is JSON as its value, any other as text; what is not there as an object that says why. */
function valueOf(body: BodyReading): unknown {
  return body.kind === 'text' ? (parsed(body.text) ?? body.text) : { missing: body };
}

/** The journal records neither, and an export holds nothing else. */
const noTrace = say`trace: not there; only a trace has connections and refusals\n`;

function hasTrace({ directory }: OpenJournal): boolean {
  const fd = openOwn(directory, traceFile, thisUser());
  if (fd !== null) closeSync(fd);
  return fd !== null;
}

function sessionWithTexts({ reader, open, setup, directory }: OpenJournal): Record<string, unknown> {
  const text = (sha256: string | null): unknown => (sha256 === null ? null : valueOf(reader.body(sha256)));
  const given = setup === null ? [] : Object.entries(setup).filter(([key]) => !['n', 'k', 'c'].includes(key));
  const texts = Object.fromEntries(given.map(([key, value]) => [key, text(value as string | null)]));
  const { n: _n, k: _k, c: _c, ...about } = open;
  return {
    ...about,
    status: reader.closing()?.status ?? null,
    steps: reader.lastStep(),
    ...texts,
    later_grants: laterGrantsIn(directory),
  };
}

function headOf({ reader, open }: OpenJournal, isDamaged = false): Shown {
  const { capsule, svc, node, capture, at, continues } = open;
  const before = continues === undefined ? say`` : say`goes on with: ${continues}\n`;
  const steps = isDamaged ? 0 : reader.lastStep();
  const status = isDamaged ? 'the journal is damaged' : (reader.closing()?.status ?? 'not ended');
  const counted = isDamaged ? '' : steps === 1 ? ', 1 step' : `, ${steps} steps`;
  return say`session: ${open.session}\ncapsule: ${capsule.name} v${capsule.version}\nstarted: ${shownMinute(at)}, by svc ${svc} on Node ${node}\nstatus: ${status}${counted}, capture ${capture}\n${before}`;
}

const setupTexts = ['manifest', 'system', 'tools', 'grants', 'hooks', 'settings'] as const;

function showSetup(journal: OpenJournal, options: ShowOptions, context: CommandContext): void {
  const { reader, setup, directory } = journal;
  const page = pageOf(context.stdout);
  const view = new StepView(page, reader);
  const note = hasTrace(journal) ? '' : page.own(noTrace);
  const wanted = setupTexts.filter((key) => options.setup === true || key === 'grants');
  const texts = setup === null ? [] : wanted.map((key) => view.text(say`${key}:`, setup[key]));
  const later = page.own(laterGrantRows(laterGrantsIn(directory)));
  writePaged(page.own(headOf(journal)) + note + texts.join('') + later, context);
}

/** As `svc chat` and `svc run` drew it. */
function showTranscript(journal: OpenJournal, context: CommandContext): void {
  const { reader, directory, session } = journal;
  const isRunning = isJournalHeld(directory, systemClock.now());
  const { rows, damage } = recordedTranscript({
    reader,
    output: context.stdout,
    useColor: context.stdout.isTerminal && usesColor(context),
    session: session.slice(-4),
    isRunning,
  });
  const head = pageOf(context.stdout).own(headOf(journal, damage !== null));
  writePaged(`${head}\n${rows.map((row) => `${row}\n`).join('')}`, context);
  if (damage !== null) throw damaged(damage);
}

/** Throws `E-RUN-075` for a block that is not there. */
function showCode({ reader, session }: OpenJournal, wanted: string | true, { stdout }: CommandContext): void {
  const blocks = recordedCode(reader);
  const number = wanted === true ? 1 : /^[1-9]\d{0,8}$/.test(wanted) ? Number(wanted) : 0;
  const block = number === 0 ? undefined : blocks.at(-number);
  if (block !== undefined) return void stdout.write(bareCode(block, stdout));
  const hint =
    blocks.length === 0 ? 'its answers have none' : `they have those from 1, the last one, to ${blocks.length}`;
  throw new Diagnostic('E-RUN-075', `the session ${session} has no block of code ${wanted === true ? 1 : wanted}`, {
    hint,
  });
}
