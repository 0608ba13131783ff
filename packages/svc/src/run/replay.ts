/** Runs a recorded session again for `svc run --replay`, and says whether it came out the same. */

import { resolve } from 'node:path';

import {
  orRefused,
  type Replayed,
  type ReplayedComponents,
  replaySession,
} from '@svc/capsule/replay/replay-session.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import { damaged } from '@svc/record/journal/journal-reader.ts';
import { LineFile, openOwn } from '@svc/record/journal/line-file.ts';
import { type OpenJournal, traceFile } from '@svc/record/sessions/recorded-sessions.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';
import { linesNotCompared } from '@svc/record/sessions/trace-events.ts';
import type { ReplayEnd } from '@svc/session/replay/replayer.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { RunView } from '../shown/run-view.ts';
import { withJournal } from '../command/session-arguments.ts';
import { judgedEnd } from './replay-verdict.ts';
import { firstTraceDifference, type TraceDifference, type TraceLine } from './trace-difference.ts';

interface ReplayOptions {
  readonly manifest: string;
  readonly json?: boolean;
  /** Whether components run again too, with the recorded answers of their imports. */
  readonly components?: boolean;
}

/**
 * Runs the session again without its model, tools, network and workdir, and compares what it does with what it did. Exit code 0 when the two are
 * the same. `E-RUN-078` for a session that cannot be run again, `E-RUN-079` where it parts, `E-RUN-073` for a damaged journal.
 */
export async function replay(wanted: string | true, options: ReplayOptions, context: CommandContext): Promise<number> {
  return await withJournal(context, wanted === true ? undefined : wanted, options, async (journal) => {
    const replayed = await run(journal, options, context);
    const { recording } = replayed;
    if (recording.damage !== null) throw damaged(recording.damage);
    if (options.components === true) checkCalls(journal, replayed, context);
    const end = judgedEnd(replayed);
    const { difference: found, unread } = traceDifference(journal, replayed, end);
    if (unread > 0) context.stderr.write(render([linesNotCompared(journal.session, unread)], context));
    const steps = recording.historyEvents.filter(({ kind }) => kind === 'start').length;
    if (options.json === true) {
      context.stdout.write(
        jsonLine({
          session: journal.session,
          steps,
          ...(options.components === true ? { components: replayed.calls } : {}),
          ...verdictOf(recording, end, found),
          ...(unread > 0 ? { unread_lines: unread } : {}),
        }),
      );
    } else if (end.kind === 'same' && found === null) {
      context.stdout.write(
        say`replayed ${shownSteps(steps)} of ${journal.session}: the same except for ids and times${shownCalls(replayed, options)}\n`,
      );
    } else if (end.kind === 'cut-off' && found === null && recording.missing === null) {
      const place = end.place === null ? '' : `, within ${end.place}`;
      const why = `the recording ends there${place}: the session was killed, or still runs`;
      context.stdout.write(say`replayed ${shownSteps(steps)} of ${journal.session}: the same so far; ${why}\n`);
    }
    const refusal = refusalOf(recording, end, found);
    if (refusal !== null) throw refusal;
    return 0;
  });
}

async function run({ reader, open }: OpenJournal, options: ReplayOptions, context: CommandContext): Promise<Replayed> {
  if (open.capture === 'meta') throw notReplayable(open.session, 'its journal keeps hashes alone (capture meta)');
  const view = options.json === true || !context.stderr.isTerminal ? null : new RunView(context, false);
  view?.openUnsteered(open.session);
  const components = options.components === true ? await openComponents(options, context) : null;
  try {
    const replayed = await orRefused(
      () =>
        replaySession(reader, {
          session: open.session as SessionId,
          capsule: open.capsule,
          onActivity: (activity) => view?.note(activity, false),
          components,
        }),
      (why) => notReplayable(open.session, why),
    );
    if (replayed !== null) return replayed;
  } finally {
    await view?.close();
    await components?.close();
  }
  throw notReplayable(open.session, 'its journal does not say what it began with');
}

async function openComponents(
  { manifest }: ReplayOptions,
  { cwd, home, env }: CommandContext,
): Promise<ReplayedComponents> {
  const { openReplayedComponents } = await import('@svc/capsule/replay/replay-components.ts');
  return await openReplayedComponents({ manifestFile: resolve(cwd, manifest), home, env });
}

/** What is said of components that were to be run again; `E-RUN-067` when nothing is known of any. */
function checkCalls({ session }: OpenJournal, { calls, recording }: Replayed, context: CommandContext): void {
  if (!recording.historyEvents.some(({ kind }) => kind === 'imports'))
    throw new Diagnostic(
      'E-RUN-067',
      `the components of ${session} cannot be run again: what they were answered was not kept`,
      {
        hint: 'record a session with trace: { capture: content, components: true } in its manifest',
      },
    );
  if (calls.served === 0) return;
  const many = calls.served === 1 ? '1 call of a component was' : `${calls.served} calls of components were`;
  const warning = new Diagnostic('W-RUN-066', `${many} served from the recording and not run again`, {
    hint: 'what they were answered, or an earlier call of the same instance, was too long to be kept or was cut off',
  });
  context.stderr.write(render([warning], context));
}

function verdictOf(recording: Replayed['recording'], end: ReplayEnd, found: TraceDifference | null): object {
  if (recording.missing !== null) return { outcome: 'parted', ...recording.missing };
  if (found !== null) return { outcome: 'parted', place: `trace/${found.line}`, ...found.difference };
  switch (end.kind) {
    case 'same':
      return { outcome: 'same' };
    case 'cut-off':
      return { outcome: 'cut-off', place: end.place };
    case 'parted':
      return { outcome: 'parted', ...end.parting };
  }
}

function refusalOf(recording: Replayed['recording'], end: ReplayEnd, found: TraceDifference | null): Diagnostic | null {
  if (recording.missing !== null) return parted(`${recording.missing.place}: ${recording.missing.why}`);
  if (found !== null) {
    const { line, difference } = found;
    return parted(
      `line ${line} of the trace${difference === null ? '' : ` at ${difference.path}: ${values(difference)}`}`,
    );
  }
  return end.kind === 'parted' ? parted(divergenceText(end)) : null;
}

function divergenceText({ parting }: Extract<ReplayEnd, { kind: 'parted' }>): string {
  const { place, port, problem, path } = parting;
  const where = path === undefined ? '' : ` at ${path === '' ? 'the whole' : path}: ${values(parting)}`;
  return `${place} (${port}) ${problem}${where}`;
}

function values({ recorded, now }: { readonly recorded?: unknown; readonly now?: unknown }): string {
  return `recorded ${shownValue(recorded)}, now ${shownValue(now)}`;
}

const maxValue = 120;

function shownValue(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return shortened(text, maxValue);
}

/**
 * What the trace of the session says otherwise; null where it says the same, and without a trace, as beside an export. `unread` is how many of
 * the lines that were looked at were too long to be read.
 */
function traceDifference(
  { directory }: OpenJournal,
  { traced }: Replayed,
  end: ReplayEnd,
): { readonly difference: TraceDifference | null; readonly unread: number } {
  const fd = end.kind === 'parted' ? null : openOwn(directory, traceFile, thisUser());
  if (fd === null) return { difference: null, unread: 0 };
  const file = new LineFile(fd);
  let unread = 0;
  function* lines(): Generator<TraceLine> {
    for (const each of file.everyLine()) {
      if (!each.isWhole) unread += 1;
      yield each;
    }
  }
  try {
    const difference = firstTraceDifference(lines(), traced, end.kind === 'cut-off');
    return { difference, unread };
  } finally {
    file.close();
  }
}

function notReplayable(session: string, why: string): Diagnostic {
  return new Diagnostic('E-RUN-078', `the session ${session} cannot be run again: ${why}`, {
    hint: 'record one with svc run --capture content',
  });
}

function parted(where: string): Diagnostic {
  return new Diagnostic('E-RUN-079', `the replay differs from the recording: ${where}`, {
    hint: 'svc trace steps lists the steps of the session, and svc trace show shows one as it was',
  });
}

function shownCalls({ calls }: Replayed, { components }: ReplayOptions): string {
  if (components !== true) return '';
  return calls.run === 1
    ? '; 1 call of a component was run again'
    : `; ${calls.run} calls of components were run again`;
}

function shownSteps(steps: number): string {
  return steps === 1 ? '1 step' : `${steps} steps`;
}
