/** Finds a line of a trace by its number, and where in the journal its texts are, without keeping anything of most lines. */

import { ownTurn } from '@svc/kit/own-turn.ts';
import { type JsonObject, parseJsonObject } from '@svc/protocol/json-object.ts';
import type { LineCursor } from '../../journal/line-cursor.ts';
import type { LineFile } from '../../journal/line-file.ts';
import { typeOfLine } from '../trace/trace-events.ts';
import { placedTypes, type Sought, StepPlaces } from './step-places.ts';

/** So far apart are the places that are kept, from which a line is walked to. */
const markBytes = 1024 * 1024;
/** Walked before others have their turn. */
const turnBytes = 4 * 1024 * 1024;

interface Mark {
  /** The number of the line that begins here, from 0. */
  readonly row: number;
  readonly byte: number;
  readonly places: StepPlaces;
}

/** One trace, which is walked through once however often it is asked for and however long it grows. */
export class TraceIndex {
  #marks: Mark[] = [];
  #end: Mark = { row: 0, byte: 0, places: new StepPlaces() };
  #walking: Promise<void> = Promise.resolve();

  /** What of the journal a line leads to; null for one of no step, and for one that is not there. */
  async sought(file: LineFile, row: number): Promise<Sought | null> {
    // One behind the other; what one fails of is told to who asked for it.
    const walking = this.#walking.then(async () => await this.#walkTo(file, row));
    this.#walking = walking.catch(() => {});
    await walking;
    const mark = this.#marks.findLast((each) => each.row <= row);
    if (mark === undefined || row >= this.#end.row) return null;
    const places = mark.places.copy();
    let at = mark.row;
    for (const event of placedEvents(file.walk(mark.byte))) {
      const sought = event === null ? null : places.take(event);
      if (at === row) return sought;
      at += 1;
    }
    return null;
  }

  async #walkTo(file: LineFile, row: number): Promise<void> {
    if (file.size < this.#end.byte) {
      this.#marks = [];
      this.#end = { row: 0, byte: 0, places: new StepPlaces() };
    }
    const { places } = this.#end;
    const cursor = file.walk(this.#end.byte);
    let turn = this.#end.byte + turnBytes;
    for (const event of placedEvents(cursor)) {
      const { row: at, byte } = this.#end;
      if (byte >= (this.#marks.at(-1)?.byte ?? -markBytes) + markBytes)
        this.#marks.push({ row: at, byte, places: places.copy() });
      if (event !== null) places.take(event);
      this.#end = { row: at + 1, byte: cursor.offset - cursor.start + cursor.end + 1, places };
      if (at >= row) return;
      if (byte < turn) continue;
      turn = byte + turnBytes;
      await ownTurn();
    }
  }
}

/** For each line what it tells of; null where that is no step, and for a line that is too long to be read. */
export function* placedEvents(cursor: LineCursor): Generator<JsonObject | null> {
  for (;;) {
    while (cursor.next()) {
      const { line } = cursor;
      yield placedTypes.has(typeOfLine(line)) ? parseJsonObject(line.toString('utf8')) : null;
    }
    if (!cursor.isTooLong || !cursor.skip()) return;
    yield null;
  }
}
