/** Finds a line of a trace by its number, and where in the journal its texts are, without keeping anything of most lines. */

import { yieldToLoop } from '@svc/kit/yield-to-loop.ts';
import type { JsonObject } from '@svc/protocol/json-object.ts';
import type { LineFile } from '@svc/record/journal/line-file.ts';
import { parseLineObject, typeOfLine } from '@svc/record/sessions/trace-events.ts';
import { eachLine, type WalkedLine } from './each-line.ts';
import { placedTypes, type Sought, StepPlaces } from './step-places.ts';

/** So far apart are the places that are kept, from which a line is walked to. */
const markBytes = 1024 * 1024;

interface Mark {
  /** The number of the line that begins here, from 0. */
  readonly row: number;
  readonly byte: number;
  readonly places: StepPlaces;
}

export interface FoundLine {
  readonly text: string;
  /** A line of no step has null here. */
  readonly sought: Sought | null;
}

/** One trace, which is walked through once however often it is asked for and however long it grows; one that takes its place is walked anew. */
export class TraceIndex {
  #marks: Mark[] = [];
  #end: Mark = { row: 0, byte: 0, places: new StepPlaces() };
  #identity: string | null = null;
  #walking: Promise<void> = Promise.resolve();

  /** Returns null for one that is not there. */
  async line(file: LineFile, row: number): Promise<FoundLine | null> {
    // A line that is known waits for nobody.
    if (row >= this.#end.row || !this.#isOf(file)) {
      // One behind the other; each caller gets the errors of its own request.
      const walking = this.#walking.then(async () => await this.#walkTo(file, row));
      this.#walking = walking.catch(() => {});
      await walking;
    }
    const mark = this.#marks.findLast((each) => each.row <= row);
    if (mark === undefined || row >= this.#end.row) return null;
    const places = mark.places.copy();
    let at = mark.row;
    for (const line of eachLine(file, mark.byte)) {
      if (line === null) {
        await yieldToLoop();
        continue;
      }
      const event = placedEvent(line);
      const sought = event === null ? null : places.take(event);
      if (at === row) return { text: line.line.toString('utf8'), sought };
      at += 1;
    }
    return null;
  }

  #isOf(file: LineFile): boolean {
    return file.identity === this.#identity && file.size >= this.#end.byte;
  }

  async #walkTo(file: LineFile, row: number): Promise<void> {
    if (!this.#isOf(file)) {
      this.#identity = file.identity;
      this.#marks = [];
      this.#end = { row: 0, byte: 0, places: new StepPlaces() };
    }
    const { places } = this.#end;
    if (this.#end.row > row) return;
    for (const line of eachLine(file, this.#end.byte)) {
      if (line === null) {
        await yieldToLoop();
        continue;
      }
      const { row: at, byte } = this.#end;
      if (byte >= (this.#marks.at(-1)?.byte ?? -markBytes) + markBytes)
        this.#marks.push({ row: at, byte, places: places.copy() });
      const event = placedEvent(line);
      if (event !== null) places.take(event);
      this.#end = { row: at + 1, byte: line.next, places };
      if (at >= row) return;
    }
  }
}

/** What a line records; null where that is no step, and for a line that is too long to be read. */
export function placedEvent({ line, isWhole }: WalkedLine): JsonObject | null {
  return isWhole && placedTypes.has(typeOfLine(line)) ? parseLineObject(line.toString('utf8')) : null;
}
