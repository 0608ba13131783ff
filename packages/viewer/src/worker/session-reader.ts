/** Reads one session in a worker: its trace into columns, and answers what the page asks about it. */

import type { JournalStep, StepTexts } from '@svc/protocol/viewed-session.ts';
import type { ShownText } from '@svc/protocol/shown-text.ts';
import type { FileChanges, FromWorker, Place, Questions, StepDetail } from '../messages.ts';
import { holdsText, parseLine } from '../trace/checked.ts';
import { changeOf } from '../trace/file-edit.ts';
import * as kinds from '../trace/kind-numbers.ts';
import { now } from '../text/page-clock.ts';
import { changedLines, lineDiff } from '../trace/line-diff.ts';
import { LineStore } from '../trace/line-store.ts';
import { BrokenStream, heldBytes, isLive, nextPiece, type Served, servedBytes, SourceFault } from './byte-sources.ts';
import { followNow } from './follow-now.ts';
import { RowBlocks } from './row-blocks.ts';
import { detailOf } from './step-detail.ts';
import { heldTexts, servedTexts, type Texts } from './texts.ts';

/** A small first block is painted early. The page draws each: later ones are large, and some time apart. What trickles in is told of after a moment. */
const [firstBytes, blockBytes] = [128 * 1024, 4 * 1024 * 1024];
const [blockMs, trickleMs, trickleBytes] = [250, 25, 256 * 1024];
const mostFound = 100_000;
/** Lines that are searched before others have their turn. */
const searchedAtOnce = 8192;
const mostRetries = 1000;
/** How long a session that was followed is looked for after its end. */
const [mostLooks, betweenLooksMs] = [60, 2000];

const none: ShownText = { kind: 'none', why: '' };

type Answers = {
  readonly [What in keyof Questions]: (about: never) => Promise<Questions[What]['answer']> | Questions[What]['answer'];
};

export class SessionReader {
  readonly #post: (message: FromWorker, transfer?: Transferable[]) => void;
  readonly #lines = new LineStore();
  readonly #blocks = new RowBlocks();
  #texts: Texts = heldTexts(null);
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
    this.#texts = servedTexts(place);
    this.#trace = this.#telling(async () => await this.#readTrace(place));
    await this.#trace;
  }

  async ask(what: keyof Questions, about: unknown): Promise<unknown> {
    return await (this.#answers[what] as (about: unknown) => unknown)(about);
  }

  async #openHeld({ trace, texts }: Extract<Place, { readonly kind: 'held' }>): Promise<void> {
    this.#texts = heldTexts(texts);
    await this.#telling(async () => {
      await this.#pump(heldBytes(trace));
      this.#tellWhole();
    });
  }

  /** Follows a session that runs, and what its capsule does. */
  async live(): Promise<void> {
    const place = this.#place;
    if (place === null) return;
    const again = async (): Promise<void> => {
      await this.#trace;
      await this.#followAgain(place);
    };
    await Promise.all([followNow(place, (now) => this.#post({ kind: 'live', now })), this.#telling(again)]);
  }

  /** A connection that breaks off is opened again where it was; one that ends is over. */
  async #readTrace(place: Served): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      const stream = await servedBytes(place, this.#lines.bytes);
      try {
        await this.#pump(stream);
        break;
      } catch (error) {
        if (!(error instanceof BrokenStream) || tries >= mostRetries) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.min(5000, 100 * 2 ** Math.min(tries, 6))));
      }
    }
    this.#tellWhole();
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

  async #telling(read: () => Promise<void>): Promise<void> {
    try {
      await read();
    } catch (error) {
      if (!(error instanceof SourceFault || error instanceof BrokenStream)) throw error;
      const why = error instanceof SourceFault ? error.message : 'What comes after this cannot be read: it is damaged.';
      this.#post({ kind: 'lost', why });
    }
  }

  /** Reads each piece as it comes, and tells of many at once. */
  async #pump(stream: ReadableStream<Uint8Array>): Promise<void> {
    const reader = stream.getReader();
    let [bytes, pending, told] = [0, 0, now()];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const hand = (): void => {
      clearTimeout(timer);
      timer = undefined;
      [pending, told] = [0, now()];
      this.#tellRows();
    };
    try {
      for (let piece = await nextPiece(reader); piece !== null; piece = await nextPiece(reader)) {
        this.#blocks.add(this.#lines.push(piece));
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

  readonly #answers: Answers = {
    detail: (row: number) => this.#detail(row),
    find: (eventId: string) => this.#find(eventId),
    search: (words: string) => this.#search(words),
    result: async (task: number) =>
      ((await this.#texts(`result/${encodeURIComponent(this.#blocks.taskIds[task] ?? '')}`)) ?? none) as ShownText,
    changes: () => this.#changes(),
    steps: async () => ((await this.#texts('steps')) ?? []) as unknown as readonly JournalStep[],
  };

  async #detail(row: number): Promise<StepDetail> {
    return { ...detailOf(this.#lines.line(row), row), ...(await this.#textsOf(row)) };
  }

  /** The line is shown also where the server is gone. */
  async #textsOf(row: number): Promise<StepTexts> {
    try {
      return ((await this.#texts(`row/${row}`)) ?? { step: null, parts: [] }) as StepTexts;
    } catch (error) {
      if (!(error instanceof SourceFault)) throw error;
      return { step: null, parts: [{ kind: 'output', text: { kind: 'none', why: error.message } }] };
    }
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
