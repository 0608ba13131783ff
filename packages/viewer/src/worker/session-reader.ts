/** Reads one session in a worker: its trace into columns, its journal into an index, and answers what the page asks about both. */

import type { FileChanges, FromWorker, Place, Questions, StepDetail, StepOutput } from '../messages.ts';
import { holdsText, objectIn, objectsIn, parseLine } from '../trace/checked.ts';
import { changeOf } from '../trace/file-edit.ts';
import * as kinds from '../trace/kind-numbers.ts';
import { changedLines, lineDiff } from '../trace/line-diff.ts';
import { LineStore } from '../trace/line-store.ts';
import { type Bodies, heldBodies, servedBodies, shown, shownText } from './bodies.ts';
import {
  BrokenStream,
  headersOf,
  heldBytes,
  isLive,
  nextPiece,
  type Served,
  servedBytes,
  SourceFault,
} from './byte-sources.ts';
import { followEvents } from './follow-events.ts';
import { JournalIndex } from './journal-index.ts';
import { RowBlocks } from './row-blocks.ts';
import { detailOf } from './step-detail.ts';
import { placeOf } from './step-places.ts';

/** A small first block is painted early, larger ones cost less: the page draws each. */
const [firstBlockBytes, blockBytes] = [128 * 1024, 4 * 1024 * 1024];
/** What trickles in from a running session is told of after a moment; so much in that moment is a file that is read. */
const [trickleMs, trickleBytes] = [25, 256 * 1024];
const mostFound = 100_000;
const mostRetries = 1000;
/** How long a session that was followed is looked for after its end. */
const [mostLooks, betweenLooksMs] = [60, 2000];

type Answers = {
  readonly [What in keyof Questions]: (about: never) => Promise<Questions[What]['answer']> | Questions[What]['answer'];
};

export class SessionReader {
  readonly #post: (message: FromWorker, transfer?: Transferable[]) => void;
  readonly #lines = new LineStore();
  readonly #blocks = new RowBlocks();
  readonly #journalLines = new LineStore();
  readonly #journal = new JournalIndex();
  #bodies: Bodies = heldBodies(() => Promise.resolve(new Map()));
  /** A later search ends an earlier one. */
  #searches = 0;

  constructor(post: (message: FromWorker, transfer?: Transferable[]) => void) {
    this.#post = post;
  }

  async open(place: Place): Promise<void> {
    if (place.kind === 'held') await this.#openHeld(place);
    else await this.#openServed(place);
  }

  async ask(what: keyof Questions, about: unknown): Promise<unknown> {
    return await (this.#answers[what] as (about: unknown) => unknown)(about);
  }

  async #openHeld({ trace, journal, bodies }: Extract<Place, { readonly kind: 'held' }>): Promise<void> {
    let texts: Promise<ReadonlyMap<string, string>> | null = null;
    this.#bodies = heldBodies(() => (texts ??= textsIn(bodies)));
    const readTrace = async (): Promise<void> => {
      await this.#pump(heldBytes(trace), this.#lines, () => this.#tellRows());
      this.#tellWhole();
    };
    const readJournal = async (): Promise<void> => {
      if (journal !== null) await this.#pump(heldBytes(journal), this.#journalLines, () => this.#tellJournal());
    };
    await Promise.all([this.#telling('trace', readTrace), this.#telling('journal', readJournal)]);
  }

  async #openServed(place: Served): Promise<void> {
    this.#bodies = servedBodies(place.base, headersOf(place));
    const trace = async (): Promise<void> => {
      await this.#follow(place, 'trace', this.#lines, () => this.#tellRows());
      this.#tellWhole();
      await this.#followAgain(place);
    };
    const journal = async (): Promise<void> => {
      if (place.hasJournal) await this.#follow(place, 'journal', this.#journalLines, () => this.#tellJournal());
    };
    const live = async (): Promise<void> => {
      if (place.isLive) await followEvents(place, (now) => this.#post({ kind: 'live', now }));
    };
    await Promise.all([this.#telling('trace', trace), this.#telling('journal', journal), live()]);
  }

  /** A connection that breaks off is opened again where it was; one that ends is over. */
  async #follow(place: Served, what: 'trace' | 'journal', lines: LineStore, tell: () => void): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      const stream = await servedBytes(place, what, lines.bytes);
      try {
        await this.#pump(stream, lines, tell);
        return;
      } catch (error) {
        if (!(error instanceof BrokenStream) || tries >= mostRetries) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.min(5000, 100 * 2 ** Math.min(tries, 6))));
      }
    }
  }

  /** A capsule that dies may be resumed a moment later: its session goes on in the same files. */
  async #followAgain(place: Served): Promise<void> {
    for (let looks = 0; place.isLive && looks < mostLooks; looks += 1) {
      await new Promise((resolve) => setTimeout(resolve, betweenLooksMs));
      if (!(await isLive(place))) continue;
      looks = 0;
      await this.#follow(place, 'trace', this.#lines, () => this.#tellRows());
      this.#tellWhole();
    }
  }

  async #telling(what: 'trace' | 'journal', read: () => Promise<void>): Promise<void> {
    try {
      await read();
    } catch (error) {
      if (!(error instanceof SourceFault || error instanceof BrokenStream)) throw error;
      const why = error instanceof SourceFault ? error.message : 'What comes after this cannot be read: it is damaged.';
      this.#post({ kind: 'lost', what, why });
    }
  }

  /** Hands on whole blocks, and what has come after a moment in which nothing did. */
  async #pump(stream: ReadableStream<Uint8Array>, lines: LineStore, tell: () => void): Promise<void> {
    const reader = stream.getReader();
    let pending = 0;
    let timer: ReturnType<typeof setTimeout> | null = null;
    const hand = (): void => {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      pending = 0;
      tell();
    };
    try {
      for (let piece = await nextPiece(reader); piece !== null; piece = await nextPiece(reader)) {
        lines.push(piece);
        pending += piece.length;
        if (pending >= (lines.count === 0 ? firstBlockBytes : blockBytes)) hand();
        else {
          if (timer !== null && pending > trickleBytes) {
            clearTimeout(timer);
            timer = null;
          }
          timer ??= setTimeout(hand, trickleMs);
        }
      }
    } finally {
      hand();
    }
  }

  #tellRows(): void {
    const lines = this.#lines.take();
    if (lines.length === 0) return;
    const block = this.#blocks.block(lines);
    const { kind, flags, start, duration, task, input, output } = block.rows;
    this.#post(
      block,
      [kind, flags, start, duration, task, input, output].map(({ buffer }) => buffer as ArrayBuffer),
    );
  }

  #tellWhole(): void {
    this.#post({ kind: 'whole', bytes: this.#lines.bytes, tailBytes: this.#lines.tailBytes });
  }

  #tellJournal(): void {
    this.#journal.take(this.#journalLines.take());
    const { version, stepCount: steps, capture, manifest } = this.#journal;
    if (version !== null) this.#post({ kind: 'journal', version, steps, capture, manifest });
  }

  readonly #answers: Answers = {
    detail: (row: number) => this.#detail(row),
    output: (row: number) => this.#output(row),
    find: (eventId: string) => this.#find(eventId),
    search: (words: string) => this.#search(words),
    body: async (sha256: string) => shown(await this.#bodies.get(sha256)),
    result: async (task: number) => {
      const hash = this.#journal.resultOf(this.#blocks.taskIds[task] ?? '');
      if (hash === undefined || hash === null) return { kind: 'none', why: this.#whyNoText() };
      return shown(await this.#bodies.get(hash));
    },
    changes: () => this.#changes(),
    steps: () => this.#journal.steps(),
  };

  #whyNoText(): string {
    const { version, isKnown } = this.#journal;
    if (version === null)
      return 'This session kept no journal, or it is not here: texts of answers and outputs are in it.';
    if (!isKnown) return 'The journal was written by a later version of svc, and is not read.';
    return 'The journal does not have it.';
  }

  /** With the number that `svc trace show` and `svc logs` have for its step. */
  #detail(row: number): StepDetail {
    const { rows, taskIds } = this.#blocks;
    const detail = detailOf(this.#lines.line(row), row);
    const step = this.#journal.step(placeOf(row, rows, this.#lines, taskIds) ?? '');
    return step === undefined ? detail : { ...detail, facts: [['Step', `#${step.number}`], ...detail.facts] };
  }

  async #output(row: number): Promise<StepOutput> {
    const { rows, taskIds } = this.#blocks;
    if (rows.kindOf(row) === kinds.question) return await this.#answer(row);
    const place = placeOf(row, rows, this.#lines, taskIds);
    if (place === null) return { parts: [] };
    const step = this.#journal.step(place);
    const nothing = (why: string): StepOutput => ({ parts: [{ kind: 'output', text: { kind: 'none', why } }] });
    if (step === undefined) return nothing(this.#whyNoText());
    if (step.value === null) return nothing('Nothing came back: it was canceled.');
    const body = await this.#bodies.get(step.value);
    return body.kind === 'none' ? nothing(body.why) : { parts: partsOf(body.text) };
  }

  /** The n-th question of a task that was answered has the n-th answer. */
  async #answer(row: number): Promise<StepOutput> {
    const { rows, taskIds } = this.#blocks;
    const task = rows.taskOf(row);
    if (parseLine(this.#lines.line(row))?.['outcome'] !== 'answered') return { parts: [] };
    let before = 0;
    for (let at = row - 1; at >= 0; at -= 1) {
      if (rows.kindOf(at) !== kinds.question || rows.taskOf(at) !== task) continue;
      if (parseLine(this.#lines.line(at))?.['outcome'] === 'answered') before += 1;
    }
    const hash = this.#journal.answersOf(taskIds[task] ?? '')[before];
    if (hash === undefined) return { parts: [{ kind: 'answer', text: { kind: 'none', why: this.#whyNoText() } }] };
    return { parts: [{ kind: 'answer', text: shown(await this.#bodies.get(hash)) }] };
  }

  #find(eventId: string): number {
    if (!/^[\w-]{1,128}$/.test(eventId)) return -1;
    const wanted = `"event_id":"${eventId}"`;
    for (const { first, lines } of this.#lines.blocks()) {
      const index = lines.findIndex((line) => line.includes(wanted));
      if (index !== -1) return first + index;
    }
    return -1;
  }

  async #search(words: string): Promise<readonly number[]> {
    this.#searches += 1;
    const mine = this.#searches;
    const found: number[] = [];
    const written = JSON.stringify(words).slice(1, -1);
    for (const { first, lines } of this.#lines.blocks()) {
      for (const [index, line] of lines.entries()) {
        if (found.length >= mostFound || !line.toLowerCase().includes(written)) continue;
        const event = parseLine(line);
        if (event === null || holdsText(event, words)) found.push(first + index);
      }
      // Others are answered in between.
      await new Promise((resolve) => setTimeout(resolve));
      if (mine !== this.#searches) return [];
    }
    return found;
  }

  #changes(): readonly FileChanges[] {
    const files = new Map<string, { readonly path: string; added: number; removed: number; readonly rows: number[] }>();
    const { rows } = this.#blocks;
    for (let row = 0; row < rows.count; row += 1) {
      const kind = rows.kindOf(row);
      if (kind !== kinds.tool && kind !== kinds.planStep) continue;
      const change = changeOf(parseLine(this.#lines.line(row)) ?? {});
      if (change === null) continue;
      const { added, removed } = changedLines(lineDiff(change.before, change.after));
      const known = files.get(change.path) ?? { path: change.path, added: 0, removed: 0, rows: [] };
      files.set(change.path, known);
      known.added += added;
      known.removed += removed;
      if (known.rows.length < 1000) known.rows.push(row);
    }
    return [...files.values()];
  }
}

/** The blocks of a model's answer, or what a call gave; whatever it is, all of it is shown. */
function partsOf(text: string): StepOutput['parts'] {
  const outcome = parseLine(text);
  // The line of the trace has the error.
  if (outcome?.['kind'] === 'failed' && typeof outcome['error'] === 'string') return [];
  const content = objectIn(outcome?.['response'])['content'] ?? outcome?.['content'];
  if (typeof content === 'string') return [{ kind: 'output', text: shownText(content) }];
  if (!Array.isArray(content)) return [{ kind: 'output', text: shownText(text) }];
  return objectsIn(content, 200).flatMap((block) => {
    if (typeof block['text'] !== 'string' || block['text'] === '') return [];
    return [{ kind: block['type'] === 'thinking' ? 'thinking' : 'text', text: shownText(block['text']) }] as const;
  });
}

async function textsIn(base64: string | null): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  if (base64 === null) return texts;
  const lines = new LineStore();
  const reader = heldBytes(base64).getReader();
  for (let piece = await nextPiece(reader); piece !== null; piece = await nextPiece(reader)) {
    lines.push(piece);
    for (const line of lines.take()) {
      const { sha256, text } = parseLine(line) ?? {};
      if (typeof sha256 === 'string' && typeof text === 'string') texts.set(sha256, text);
    }
  }
  return texts;
}
