/** Finds the blocks of code in the answers of a recorded session. */

import type { JournalReader } from '@svc/record/journal/journal-reader.ts';
import { PassedTexts } from '@svc/record/journal/passed-texts.ts';
import { inert } from '@svc/terminal/screen/inert-text.ts';
import type { Output } from '@svc/terminal/screen/output.ts';
import { Shown } from '@svc/terminal/screen/shown.ts';
import { codeBlocksOf } from '@svc/terminal/screen/markdown/code-blocks.ts';
import { RecordedEvents } from './recorded-events.ts';
import { rowKinds, RecordedRows } from './recorded-rows.ts';

/** The blocks of all answers in their order, each as the model wrote it. */
export function recordedCode(reader: JournalReader): readonly string[] {
  const texts = new PassedTexts(reader);
  const rows = new RecordedRows(texts);
  const events = new RecordedEvents(texts);
  const blocks: string[] = [];
  let answer = '';
  const take = (row: Parameters<typeof events.of>[0]): void => {
    for (const { event } of events.of(row)) {
      if (event.kind === 'text') answer += event.text;
      else {
        for (const block of codeBlocksOf(answer)) blocks.push(block);
        answer = '';
      }
    }
  };
  for (const { record, byte } of reader.scan(rowKinds).records()) for (const row of rows.take(record, byte)) take(row);
  for (const row of rows.rest()) take(row);
  for (const block of codeBlocksOf(answer)) blocks.push(block);
  return blocks;
}

/** A block without a gutter, to be copied: byte for byte for a program, harmless for a terminal. */
export function bareCode(block: string, output: Output): Shown {
  return Shown.cleaned(output.isTerminal ? inert(block) : block, 'exact');
}
