/** Answers what the line of a trace came to: the texts of its step, out of the journal. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { asJsonObject } from '@svc/protocol/json-object.ts';
import { type ShownText, shownText } from '@svc/protocol/shown-text.ts';
import type { StepTexts } from '@svc/protocol/viewed-session.ts';
import type { JournalReader } from '@svc/record/journal/journal-reader.ts';
import type { LineFile } from '@svc/record/journal/line-file.ts';
import { parsed } from '@svc/record/journal/recorded-json.ts';
import type { JournalPlaces } from './journal-places.ts';
import type { Sought } from './step-places.ts';

/** A journal that is open, as far as it was read. */
export interface OpenJournal {
  readonly file: LineFile;
  readonly places: JournalPlaces;
  readonly textOf: (sha256: string) => FullText;
}

/** All of a text: a page shows its blocks, each as far as it shows any. */
export type FullText = { readonly text: string } | { readonly why: string };

const noJournal = 'This session kept no journal, or it is not here: texts of answers and outputs are in it.';
const notKept = 'Not kept: the session recorded hashes and sizes of texts alone, or the text was too long.';
const maxBlocks = 200;

/** Returns nothing for a line that leads nowhere. */
export function textsOf(sought: Sought | null, journal: OpenJournal | null): StepTexts {
  if (sought === null) return { step: null, parts: [] };
  const kind = sought.kind === 'answer' ? 'answer' : 'output';
  const nothing = (why: string, step: number | null = null): StepTexts => ({
    step,
    parts: [{ kind, text: { kind: 'none', why } }],
  });
  if (journal === null) return nothing(noJournal);
  if (sought.kind === 'answer') {
    const answer = journal.places.answerOf(sought.task, sought.number);
    if (answer === undefined) return nothing(whyNot(journal));
    const full = journal.textOf(answer.sha256);
    const said = answer.isDecision && 'text' in full ? { text: decisionIn(full.text) } : full;
    return { step: null, parts: [{ kind, text: shown(said) }] };
  }
  const step = journal.places.step(journal.file, sought.place);
  if (step === undefined) return nothing(whyNot(journal));
  if (step.value === null) return nothing('Nothing came back: it was canceled.', step.number);
  const full = journal.textOf(step.value);
  return 'why' in full ? nothing(full.why, step.number) : { step: step.number, parts: partsOf(full.text) };
}

/** What a task came to. */
export function resultOf(task: string, journal: OpenJournal | null): ShownText {
  const hash = journal?.places.resultOf(task);
  if (journal === null || hash === undefined || hash === null)
    return { kind: 'none', why: journal === null ? noJournal : whyNot(journal) };
  return shown(journal.textOf(hash));
}

/** The hash that the line leads to; null without one. */
export function hashOf(sought: Sought | null, { file, places }: Omit<OpenJournal, 'textOf'>): string | null {
  if (sought === null) return null;
  if (sought.kind === 'answer') return places.answerOf(sought.task, sought.number)?.sha256 ?? null;
  return places.step(file, sought.place)?.value ?? null;
}

/** Where the journal is damaged on the way to it, that is why. */
export function textIn(reader: JournalReader, sha256: string): FullText {
  try {
    const body = reader.body(sha256);
    switch (body.kind) {
      case 'text':
        return body;
      case 'cut':
        return { text: `${body.head}\n… ${body.bytes} bytes in all …\n${body.tail}` };
      case 'not kept':
        return { why: notKept };
      case 'damaged':
        return { why: `There is no such text: ${body.why}.` };
    }
  } catch (error) {
    if (!(error instanceof Diagnostic) || error.code !== 'E-RUN-073') throw error;
    return { why: `${error.message.slice(0, 1).toUpperCase()}${error.message.slice(1)}.` };
  }
}

function whyNot({ places }: OpenJournal): string {
  return places.isKnown
    ? 'The journal does not have it.'
    : 'The journal was written by a later version of svc, and is not read.';
}

function shown(full: FullText): ShownText {
  return 'why' in full ? { kind: 'none', why: full.why } : shownText(full.text);
}

const scopes: ReadonlyMap<unknown, string> = new Map([
  ['session', 'allow in this session'],
  ['manifest', 'allow in every session'],
]);

/** How an approval was settled, in words; text that is not of its form as it stands. */
function decisionIn(text: string): string {
  const { decision, option, note } = asJsonObject(parsed(text)) ?? {};
  if (decision === 'allow') return scopes.get(option) ?? 'allow once';
  if (decision !== 'deny') return text;
  return typeof note === 'string' ? `deny: ${note}` : 'deny';
}

/** The blocks of a model's answer, or what a call gave; whatever it is, all of it is shown. */
function partsOf(text: string): StepTexts['parts'] {
  const outcome = asJsonObject(parsed(text));
  // The line of the trace has the error.
  if (outcome?.['kind'] === 'failed' && typeof outcome['error'] === 'string') return [];
  const content = asJsonObject(outcome?.['response'])?.['content'] ?? outcome?.['content'];
  if (typeof content === 'string') return [{ kind: 'output', text: shownText(content) }];
  if (!Array.isArray(content)) return [{ kind: 'output', text: shownText(text) }];
  return (content as readonly unknown[]).slice(0, maxBlocks).flatMap((each) => {
    const block = asJsonObject(each);
    const said = block?.['text'];
    if (typeof said !== 'string' || said === '') return [];
    return [{ kind: block?.['type'] === 'thinking' ? 'thinking' : 'text', text: shownText(said) }] as const;
  });
}
