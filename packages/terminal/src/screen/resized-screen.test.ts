import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ReflowingTerminal } from '../../../../test/support/reflowing-terminal.ts';
import { ShownTerminal } from '../../../../test/support/shown-terminal.ts';
import { LiveScreen } from './live-screen.ts';
import { writtenText } from '../../../../test/support/written-text.ts';
import { Output } from './output.ts';
import { terminalOf } from './terminal-kind.ts';

/** `SCREEN_CASES=10000` tries more. */
const cases = Number(process.env['SCREEN_CASES'] ?? 300);

type Size = readonly [columns: number, rows: number];

/** A screen on a terminal that takes what it is sent later, and of whose size the screen hears later. */
class Late {
  readonly terminal: ReflowingTerminal;
  readonly screen: LiveScreen;
  readonly #stream: PassThrough & { columns: number; rows: number };
  #live: readonly string[] = [];
  #size: Size;
  #onItsWay = '';

  constructor([columns, rows]: Size) {
    this.terminal = new ReflowingTerminal(columns, rows);
    this.#stream = Object.assign(new PassThrough(), { columns, rows });
    this.#size = [columns, rows];
    const output = new Output(() => this.#stream, terminalOf({ TERM: 'xterm-256color' }));
    const live = () => ({ rows: this.#live, cursor: { row: this.#live.length - 1, column: 3 } });
    this.screen = new LiveScreen(output, live, () => {});
  }

  show(rows: readonly string[]): void {
    this.#live = rows;
    this.screen.flush();
  }

  /** The next so many characters arrive. */
  arrive(count = Infinity): void {
    this.#onItsWay += writtenText(this.#stream);
    this.terminal.write(this.#onItsWay.slice(0, count));
    this.#onItsWay = this.#onItsWay.slice(count);
  }

  resize(size: Size): void {
    this.#size = size;
    this.terminal.resize(...size);
  }

  hear(): void {
    const [columns, rows] = this.#size;
    Object.assign(this.#stream, { columns, rows });
    this.#stream.emit('resize');
  }

  /** All rows, once everything has arrived and the live rows are gone. */
  end(): readonly string[] {
    this.screen.flush();
    this.arrive();
    this.screen.close();
    this.arrive();
    return this.terminal.rows;
  }
}

type StepTaken =
  | { kind: 'append' | 'show'; lengths: number[] }
  | { kind: 'arrive'; count: number }
  | { kind: 'resize'; size: [columns: number, rows: number] }
  | { kind: 'hear' };

const length = fc.integer({ min: 0, max: 130 });
const size = fc.tuple(fc.integer({ min: 20, max: 120 }), fc.integer({ min: 1, max: 30 }));
const step: fc.Arbitrary<StepTaken> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('append' as const), lengths: fc.array(length, { maxLength: 5 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('show' as const), lengths: fc.array(length, { maxLength: 4 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('arrive' as const), count: fc.integer({ min: 0, max: 400 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('resize' as const), size }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'hear' as const }) },
);

/** The width changes between the two controls that end the third row. */
const betweenRows: [[number, number], StepTaken[]] = [
  [85, 1],
  [
    { kind: 'append', lengths: [77, 80, 70] },
    { kind: 'show', lengths: [] },
    { kind: 'append', lengths: [0] },
    { kind: 'arrive', count: 255 },
    { kind: 'resize', size: [20, 2] },
  ],
];

/** A row of the transcript for the width, behind the gutter, without a blank: a terminal may break it anywhere. */
function rowOf(number: number, cells: number, columns: number): string {
  return `\u2502 ${`<${number}${'x'.repeat(cells)}>`.slice(0, columns - 2)}`;
}

function transcriptOf(rows: readonly string[]): string {
  return rows
    .filter((row) => row.startsWith('\u2502 '))
    .map((row) => row.slice(2))
    .join('');
}

describe('LiveScreen on a terminal whose width changes before it hears of it', () => {
  it('has every row of the transcript shown once and whole, whenever the change comes, also within a frame', () => {
    fc.assert(
      fc.property(size, fc.array(step, { maxLength: 60 }), (first, steps) => {
        const late = new Late(first);
        const transcript: string[] = [];
        for (const taken of steps) {
          if (taken.kind === 'append') {
            const rows = taken.lengths.map((cells, at) => rowOf(transcript.length + at, cells, late.screen.columns));
            transcript.push(...rows);
            late.screen.append(rows);
          } else if (taken.kind === 'show') {
            late.show(taken.lengths.map((cells, index) => (index === 0 ? '\u250A ' : 'live ') + 'y'.repeat(cells)));
          } else if (taken.kind === 'arrive') late.arrive(taken.count);
          else if (taken.kind === 'resize') late.resize(taken.size);
          else late.hear();
        }
        const rows = late.end();
        expect(transcriptOf(rows)).toBe(transcriptOf(transcript));
      }),
      { numRuns: cases, examples: [betweenRows] },
    );
  });

  it('leaves no live row behind where nothing was on its way, however late it hears of it', () => {
    const wide = fc.tuple(fc.integer({ min: 40, max: 120 }), fc.integer({ min: 12, max: 30 }));
    const rest = fc.record({
      sizes: fc.array(wide, { minLength: 1, maxLength: 4 }),
      isHeard: fc.boolean(),
      added: fc.nat(3),
    });
    fc.assert(
      fc.property(wide, fc.array(rest, { maxLength: 12 }), (first, rests) => {
        const late = new Late(first);
        late.screen.append(Array.from({ length: 40 }, (_, index) => `${index}`));
        for (const { sizes, isHeard, added } of rests) {
          late.screen.append(Array.from({ length: added }, () => 'more'));
          late.show([`\u250A ${'y'.repeat(90)}`, `live ${'y'.repeat(70)}`, 'live > typed']);
          late.arrive();
          for (const each of sizes) late.resize(each);
          if (isHeard) late.hear();
        }
        const live = late.end().filter((row) => row.startsWith('\u250A') || row.includes('live') || row.includes('y'));
        expect(live).toEqual([]);
      }),
      { numRuns: cases },
    );
  });

  it('leaves no live row in the scrollback of a terminal that keeps what is erased from its first cell on', () => {
    const late = new Late([40, 8]);
    late.show(['status', '> typed']);
    late.arrive();
    late.screen.append(['first']);
    expect(late.end().filter((row) => row !== '')).toEqual(['first']);
  });

  it.each(['vscode', 'another'])('loses and doubles no row in xterm.js, which calls itself %s', async (name) => {
    const step = fc.record({ size, added: fc.nat(8), does: fc.constantFrom('stays', 'changes', 'changes and tells') });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        const shown = new ShownTerminal(80, 20, { TERM: 'xterm-256color', TERM_PROGRAM: name });
        const live = { rows: [`\u250A ${'y'.repeat(60)}`, `live ${'y'.repeat(70)}`, '> typed'], cursor: null };
        const screen = new LiveScreen(
          shown.output,
          () => live,
          () => {},
        );
        const transcript: string[] = [];
        for (const [index, taken] of steps.entries()) {
          const rows = Array.from({ length: taken.added }, (_, at) => `row ${index}.${at}`);
          transcript.push(...rows);
          screen.append(rows);
          screen.flush();
          await shown.rows();
          if (taken.does === 'changes') shown.terminal.resize(...taken.size);
          if (taken.does === 'changes and tells') await shown.resize(...taken.size);
        }
        screen.close();
        expect((await shown.rows()).filter((row) => row.startsWith('row '))).toEqual(transcript);
      }),
      { numRuns: Math.ceil(cases / 10) },
    );
  });
});
