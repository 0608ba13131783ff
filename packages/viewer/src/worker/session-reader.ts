/** Reads one session in a worker: its trace into columns, its journal into an index, and answers what the page asks about both. */

import type { FileChanges, FromWorker, Place, Questions, StepDetail, StepOutput } from '../messages.ts';
import { holdsText, objectIn, objectsIn, parseLine } from '../trace/checked.ts';
import { changeOf } from '../trace/file-edit.ts';
import * as kinds from '../trace/kind-numbers.ts';
import { now } from '../text/page-clock.ts';
import { changedLines, lineDiff } from '../trace/line-diff.ts';
import { LineStore } from '../trace/line-store.ts';
import { type Bodies, heldBodies, servedBodies, shown, shownText } from './bodies.ts';
import { BrokenStream, heldBytes, isLive, nextPiece, type Served, servedBytes, SourceFault } from './byte-sources.ts';
import { followNow } from './follow-now.ts';
import { JournalIndex } from './journal-index.ts';
import { RowBlocks } from './row-blocks.ts';
import { detailOf } from './step-detail.ts';
import { placeOf } from './step-places.ts';

/** A small first block is painted early. The page draws each: later ones are large, and some time apart. What trickles in is told of after a moment. */
const [firstBytes, blockBytes] = [128 * 1024, 4 * 1024 * 1024];
const [blockMs, trickleMs, trickleBytes] = [250, 25, 256 * 1024];
const mostFound = 100_000;
/** Lines that are searched before others have their turn. */
const searchedAtOnce = 8192;
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
  #place: Served | null = null;
  #trace: Promise<void> = Promise.resolve();
  /** A later search ends an earlier one. */
  #searches = 0;

  constructor(post: (message: FromWorker, transfer?: Transferable[]) => void) {
    this.#post = post;
  }

  async open(place: Place): Promise<void> {
    if (place.kind === 'held') return await this.#openHeld(place);
    this.#place = place;
    this.#bodies = servedBodies(place);
    this.#trace = this.#telling('trace', async () => await this.#readTrace(place));
    await this.#trace;
  }

  async ask(what: keyof Questions, about: unknown): Promise<unknown> {
    return await (this.#answers[what] as (about: unknown) => unknown)(about);
  }

  async #openHeld({ trace, journal, bodies }: Extract<Place, { readonly kind: 'held' }>): Promise<void> {
    let texts: Promise<ReadonlyMap<string, string>> | null = null;
    this.#bodies = heldBodies(() => (texts ??= textsIn(bodies)));
    const readTrace = async (): Promise<void> => {
      await this.#pumpTrace(heldBytes(trace));
      this.#tellWhole();
    };
    const readJournal = async (): Promise<void> => {
      if (journal !== null) await this.#pumpJournal(heldBytes(journal));
    };
    await Promise.all([this.#telling('trace', readTrace), this.#telling('journal', readJournal)]);
  }

  /** Reads what a server has beside the trace that was opened. */
  async more({ hasJournal, isLive: lives }: { readonly hasJournal: boolean; readonly isLive: boolean }): Promise<void> {
    const place = this.#place;
    if (place === null) return;
    const journal = async (): Promise<void> => {
      if (hasJournal)
        await this.#follow(place, 'journal', this.#journalLines, async (stream) => await this.#pumpJournal(stream));
    };
    const live = async (): Promise<void> => {
      if (lives) await followNow(place, (now) => this.#post({ kind: 'live', now }));
    };
    const again = async (): Promise<void> => {
      await this.#trace;
      if (lives) await this.#followAgain(place);
    };
    await Promise.all([this.#telling('journal', journal), live(), this.#telling('trace', again)]);
  }

  async #readTrace(place: Served): Promise<void> {
    await this.#follow(place, 'trace', this.#lines, async (stream) => await this.#pumpTrace(stream));
    this.#tellWhole();
  }

  /** A connection that breaks off is opened again where it was; one that ends is over. */
  async #follow(
    place: Served,
    what: 'trace' | 'journal',
    lines: LineStore,
    pump: (stream: ReadableStream<Uint8Array>) => Promise<void>,
  ): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      const stream = await servedBytes(place, what, lines.bytes);
      try {
        await pump(stream);
        return;
      } catch (error) {
        if (!(error instanceof BrokenStream) || tries >= mostRetries) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.min(5000, 100 * 2 ** Math.min(tries, 6))));
      }
    }
  }

  /** A capsule that dies may be resumed a moment later: its session goes on in the same files. */
  async #followAgain(place: Served): Promise<void> {
    for (let looks = 0; looks < mostLooks; looks += 1) {
      await new Promise((resolve) => setTimeout(resolve, betweenLooksMs));
      if (!(await isLive(place))) continue;
      looks = 0;
      await this.#readTrace(place);
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

  async #pumpTrace(stream: ReadableStream<Uint8Array>): Promise<void> {
    await this.#pump(stream, {
      read: (piece) => this.#blocks.add(this.#lines.push(piece)),
      tell: () => this.#tellRows(),
    });
  }

  async #pumpJournal(stream: ReadableStream<Uint8Array>): Promise<void> {
    await this.#pump(stream, {
      read: (piece) => this.#journal.take(this.#journalLines.push(piece)),
      tell: () => this.#tellJournal(),
    });
  }

  /** Reads each piece as it comes, and tells of many at once. */
  async #pump(
    stream: ReadableStream<Uint8Array>,
    { read, tell }: { readonly read: (piece: Uint8Array) => void; readonly tell: () => void },
  ): Promise<void> {
    const reader = stream.getReader();
    let [bytes, pending, told] = [0, 0, now()];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const hand = (): void => {
      clearTimeout(timer);
      timer = undefined;
      [pending, told] = [0, now()];
      tell();
    };
    try {
      for (let piece = await nextPiece(reader); piece !== null; piece = await nextPiece(reader)) {
        read(piece);
        const isFirst = bytes < firstBytes;
        bytes += piece.length;
        pending += piece.length;
        if ((isFirst && bytes >= firstBytes) || (pending >= blockBytes && now() - told >= blockMs)) hand();
        else if (pending <= trickleBytes) timer ??= setTimeout(hand, trickleMs);
        else {
          clearTimeout(timer);
          timer = setTimeout(hand, blockMs);
        }
      }
    } finally {
      hand();
    }
  }

  #tellRows(): void {
    const block = this.#blocks.take();
    if (block === null) return;
    const { kind, flags, start, duration, task, input, output, name, detailLengths } = block.rows;
    const columns = [kind, flags, start, duration, task, input, output, name, detailLengths];
    this.#post(
      block,
      columns.map(({ buffer }) => buffer as ArrayBuffer),
    );
  }

  #tellWhole(): void {
    this.#post({ kind: 'whole' });
  }

  #tellJournal(): void {
    const { version, stepCount: steps } = this.#journal;
    if (version !== null) this.#post({ kind: 'journal', steps });
  }

  readonly #answers: Answers = {
    detail: (row: number) => this.#detail(row),
    output: (row: number) => this.#output(row),
    find: (eventId: string) => this.#find(eventId),
    search: (words: string) => this.#search(words),
    result: async (task: number) => {
      const hash = this.#journal.resultOf(this.#blocks.taskIds[task] ?? '');
      if (hash === undefined || hash === null) return { kind: 'none', why: this.#whyNoText() };
      return shown(await this.#bodies(hash));
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
    const detail = detailOf(this.#lines.line(row), row);
    const step = this.#journal.step(placeOf(row, this.#blocks, this.#lines) ?? '');
    return step === undefined ? detail : { ...detail, facts: [['Step', `#${step.number}`], ...detail.facts] };
  }

  async #output(row: number): Promise<StepOutput> {
    if (this.#blocks.kinds[row] === kinds.question) return await this.#answer(row);
    const place = placeOf(row, this.#blocks, this.#lines);
    if (place === null) return { parts: [] };
    const step = this.#journal.step(place);
    const nothing = (why: string): StepOutput => ({ parts: [{ kind: 'output', text: { kind: 'none', why } }] });
    if (step === undefined) return nothing(this.#whyNoText());
    if (step.value === null) return nothing('Nothing came back: it was canceled.');
    const body = await this.#bodies(step.value);
    return body.kind === 'none' ? nothing(body.why) : { parts: partsOf(body.text) };
  }

  /** The n-th question of a task that was answered has the n-th answer. */
  async #answer(row: number): Promise<StepOutput> {
    const { kinds: kindOf, tasks: taskOf, taskIds } = this.#blocks;
    const task = taskOf[row] ?? -1;
    if (parseLine(this.#lines.line(row))?.['outcome'] !== 'answered') return { parts: [] };
    let before = 0;
    for (let at = row - 1; at >= 0; at -= 1) {
      if (kindOf[at] !== kinds.question || taskOf[at] !== task) continue;
      if (parseLine(this.#lines.line(at))?.['outcome'] === 'answered') before += 1;
    }
    const hash = this.#journal.answersOf(taskIds[task] ?? '')[before];
    if (hash === undefined) return { parts: [{ kind: 'answer', text: { kind: 'none', why: this.#whyNoText() } }] };
    return { parts: [{ kind: 'answer', text: shown(await this.#bodies(hash)) }] };
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
    let others = searchedAtOnce;
    const written = JSON.stringify(words).slice(1, -1);
    for (const { first, lines } of this.#lines.blocks()) {
      for (const [index, line] of lines.entries()) {
        if (found.length >= mostFound || !line.toLowerCase().includes(written)) continue;
        const event = parseLine(line);
        if (event === null || holdsText(event, words)) found.push(first + index);
      }
      // Others are answered in between.
      if (first < others) continue;
      others = first + searchedAtOnce;
      await new Promise((resolve) => setTimeout(resolve));
      if (mine !== this.#searches) return [];
    }
    return found;
  }

  #changes(): readonly FileChanges[] {
    const files = new Map<string, { readonly path: string; added: number; removed: number; readonly rows: number[] }>();
    for (const { first, lines } of this.#lines.blocks()) {
      for (const [index, line] of lines.entries()) {
        const kind = this.#blocks.kinds[first + index];
        if (kind !== kinds.tool && kind !== kinds.planStep) continue;
        const change = changeOf(parseLine(line) ?? {});
        if (change === null) continue;
        const { added, removed } = changedLines(lineDiff(change.before, change.after));
        const known = files.get(change.path) ?? { path: change.path, added: 0, removed: 0, rows: [] };
        files.set(change.path, known);
        known.added += added;
        known.removed += removed;
        if (known.rows.length < 1000) known.rows.push(first + index);
      }
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
    for (const line of lines.push(piece)) {
      const { sha256, text } = parseLine(line) ?? {};
      if (typeof sha256 === 'string' && typeof text === 'string') texts.set(sha256, text);
    }
  }
  return texts;
}
