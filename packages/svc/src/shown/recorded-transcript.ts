/** Lays out a recorded session as the transcript that its person saw. */

import type { Damage } from '@svc/record/journal/journal-scan.ts';
import type { JournalReader } from '@svc/record/journal/journal-reader.ts';
import { PassedTexts } from '@svc/record/journal/passed-texts.ts';
import type { Output } from '@svc/terminal/screen/output.ts';
import { RowCollector } from '@svc/terminal/screen/screen.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import { say } from '@svc/terminal/screen/shown.ts';
import { logsCommandOf } from './cut-output.ts';
import { RecordedEvents, type TimedEvent } from './recorded-events.ts';
import { rowKinds, RecordedRows } from './recorded-rows.ts';
import { SessionView } from './session-view.ts';

const maxReason = 400;

interface TranscriptRequest {
  readonly reader: JournalReader;
  readonly output: Output;
  readonly useColor: boolean;
  /** By which hints name the session. */
  readonly session: string;
  readonly isRunning: boolean;
}

export interface RecordedTranscript {
  /** Laid out for the output; in a pipe nothing is cut or continued. */
  readonly rows: readonly string[];
  /** Where the journal cannot be read any further; null where it can. */
  readonly damage: Damage | null;
}

/** All that happened in a session, as its journal has it: what was said, answers, calls with their results, refusals, ends. */
export function recordedTranscript(request: TranscriptRequest): RecordedTranscript {
  const { reader, output, useColor, session, isRunning } = request;
  const scan = reader.scan(rowKinds);
  const texts = new PassedTexts(reader);
  const rows = new RecordedRows(texts);
  const events = new RecordedEvents(texts);
  let nowMs = 0;
  const page = new RowCollector(output.columns ?? Infinity);
  const view = new SessionView(
    output,
    {
      useColor,
      nowMs: () => nowMs,
      keysHint: () => '',
      answerHint: () => '',
      wholeOutput: ({ step }) => (step === null ? null : `svc trace show ${session}#${step}`),
      keptOutput: (result) => logsCommandOf(session, result),
    },
    page,
  );
  const show = ({ atMs, event }: TimedEvent): void => {
    nowMs = atMs;
    // Who answered is not looked at here: it was the person whose session this is.
    if (event.kind === 'question-settled' && event.end === 'answered') {
      view.answering(event);
      view.say(say`answer> ${event.answer ?? ''}\n`);
    }
    view.show(event);
  };
  let reason: string | null = null;
  for (const { record, byte } of scan.records()) {
    if (record.k === 'close' && record.status === 'trapped') ({ reason } = record);
    for (const row of rows.take(record, byte)) for (const timed of events.of(row)) show(timed);
  }
  for (const row of rows.rest()) for (const timed of events.of(row)) show(timed);
  if (reason !== null) view.say(say`✗ the session was ended: ${inertLine(reason, maxReason)}\n`);
  else if (events.isInTask && !isRunning) view.say(say`- the task has no end\n`);
  view.close();
  return { rows: page.rows, damage: scan.damage };
}
