/** All rows of a session as growing columns of numbers, and their short texts. */

import type { RowBlock } from '@svc/protocol/viewed-rows.ts';

/** A column; who reads it looks at no more than the rows that there are. */
class Column<Values extends Uint8Array | Int32Array | Uint32Array | Float64Array> {
  data: Values;
  readonly #make: (length: number) => Values;

  constructor(make: (length: number) => Values) {
    this.#make = make;
    this.data = make(1 << 14);
  }

  put(values: readonly number[], at: number): void {
    if (at + values.length > this.data.length) {
      const larger = this.#make(Math.max(this.data.length * 2, at + values.length));
      larger.set(this.data);
      this.data = larger;
    }
    this.data.set(values, at);
  }
}

/** What is known of all rows. */
export class Columns {
  readonly kind: Column<Uint8Array> = new Column((length) => new Uint8Array(length));
  readonly flags: Column<Uint8Array> = new Column((length) => new Uint8Array(length));
  readonly start: Column<Float64Array> = new Column((length) => new Float64Array(length));
  readonly duration: Column<Float64Array> = new Column((length) => new Float64Array(length));
  readonly task: Column<Int32Array> = new Column((length) => new Int32Array(length));
  readonly input: Column<Uint32Array> = new Column((length) => new Uint32Array(length));
  readonly output: Column<Uint32Array> = new Column((length) => new Uint32Array(length));
  readonly name: Column<Uint32Array> = new Column((length) => new Uint32Array(length));
  /** Each name once. */
  readonly names: string[] = [];
  readonly details: string[] = [];
  /** When the last row ended. */
  end = 0;

  put(rows: RowBlock): void {
    const { first, start, duration } = rows;
    this.kind.put(rows.kind, first);
    this.flags.put(rows.flags, first);
    this.start.put(start, first);
    this.duration.put(duration, first);
    this.task.put(rows.task, first);
    this.input.put(rows.input, first);
    this.output.put(rows.output, first);
    this.name.put(rows.name, first);
    for (const name of rows.names) this.names.push(name);
    for (const [index, detail] of rows.details.entries()) {
      this.details.push(detail);
      this.end = Math.max(this.end, (start[index] ?? 0) + (duration[index] ?? 0));
    }
  }

  kindOf(row: number): number {
    return this.kind.data[row] ?? 255;
  }

  flagsOf(row: number): number {
    return this.flags.data[row] ?? 0;
  }

  startOf(row: number): number {
    return this.start.data[row] ?? 0;
  }

  durationOf(row: number): number {
    return this.duration.data[row] ?? 0;
  }

  taskOf(row: number): number {
    return this.task.data[row] ?? -1;
  }

  inputOf(row: number): number {
    return this.input.data[row] ?? 0;
  }

  outputOf(row: number): number {
    return this.output.data[row] ?? 0;
  }

  nameOf(row: number): string {
    return this.names[this.name.data[row] ?? 0] ?? '';
  }

  detailOf(row: number): string {
    return this.details[row] ?? '';
  }
}
