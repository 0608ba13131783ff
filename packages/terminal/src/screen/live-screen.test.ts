import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ShownTerminal } from '../../../../test/support/shown-terminal.ts';
import { type Cursor, type LiveRows, LiveScreen } from './live-screen.ts';

/** A screen whose live rows are set. */
class Drawn extends LiveScreen {
  readonly #set: (rows: LiveRows) => void;

  constructor(shown: ShownTerminal, onResize: () => void = () => {}) {
    let live: LiveRows = { rows: [], cursor: null };
    super(shown.output, () => live, onResize);
    this.#set = (rows) => {
      live = rows;
    };
  }

  show(rows: readonly string[], cursor: Cursor | null): void {
    this.#set({ rows, cursor });
    this.changed();
  }
}

/** `SCREEN_CASES=10000` tries more. */
const cases = Number(process.env['SCREEN_CASES'] ?? 200);

type Step =
  | { readonly kind: 'append'; readonly rows: readonly string[] }
  | { readonly kind: 'show'; readonly rows: readonly string[]; readonly hasCursor: boolean }
  | { readonly kind: 'flush' };

const word = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\u4E16', '\u{1F600}'), maxLength: 9 });
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('append' as const), rows: fc.array(word, { maxLength: 4 }) }),
    fc.record({
      kind: fc.constant('show' as const),
      rows: fc.array(word, { maxLength: 6 }),
      hasCursor: fc.boolean(),
    }),
    fc.constant({ kind: 'flush' as const }),
  ),
  { maxLength: 40 },
);

describe('LiveScreen', () => {
  it('leaves every row of the transcript once in the scrollback, whatever the live rows do', async () => {
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.integer({ min: 20, max: 60 }),
        fc.integer({ min: 1, max: 12 }),
        async (all, columns, height) => {
          const shown = new ShownTerminal(columns, height);
          const screen = new Drawn(shown);
          const transcript: string[] = [];
          let count = 0;
          for (const step of all) {
            if (step.kind === 'append') {
              const rows = step.rows.map((row) => `${(count += 1)} ${row}|`);
              transcript.push(...rows);
              screen.append(rows);
            } else if (step.kind === 'show') {
              const at = { row: Math.max(0, step.rows.length - 1), column: 1 };
              screen.show(
                step.rows.map((row) => `live ${row}|`),
                step.hasCursor && step.rows.length > 0 ? at : null,
              );
            } else screen.flush();
          }
          screen.flush();
          const live = (await shown.rows()).slice(transcript.length);
          expect((await shown.rows()).slice(0, transcript.length)).toEqual(transcript);
          expect(live.length).toBeLessThanOrEqual(Math.min(height, Math.max(2, Math.floor(height / 3))));
          expect(live.every((row) => row.startsWith('live '))).toBe(true);
          screen.close();
          expect(await shown.rows()).toEqual(transcript);
        },
      ),
      { numRuns: cases },
    );
  });

  it('keeps every row through resizes, and leaves no live row behind', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 20, max: 100 }), fc.integer({ min: 6, max: 30 })), { maxLength: 5 }),
        async (sizes) => {
          const shown = new ShownTerminal(60, 20);
          const screen = new Drawn(shown);
          const transcript: string[] = [];
          for (const [index, [columns, rows]] of sizes.entries()) {
            // Shorter than any width: a terminal re-wraps longer ones as it likes.
            const added = Array.from({ length: 7 }, (_, at) => `row ${index}.${at}`);
            transcript.push(...added);
            screen.append(added);
            screen.show([`status ${'s'.repeat(30)}`, '> typed'], { row: 1, column: 7 });
            screen.flush();
            await shown.resize(columns, rows);
            screen.flush();
          }
          screen.close();
          expect((await shown.rows()).filter((row) => row !== '')).toEqual(transcript);
        },
      ),
      { numRuns: cases / 2 },
    );
  });

  it('loses nothing of rows that were laid out for a width that has changed since', async () => {
    const shown = new ShownTerminal(40, 12);
    const screen = new Drawn(shown);
    screen.show(['status'], null);
    screen.flush();
    screen.append([
      '\u2502 the last line of the header is lost, so',
      '> a message of a person that is as long',
      'short',
    ]);
    await shown.resize(20, 10);
    screen.close();
    expect(await shown.rows()).toEqual([
      '\u2502 the last line of t',
      '\u2502 he header is lost,',
      '\u2502  so',
      '> a message of a per',
      '  son that is as lon',
      '  g',
      'short',
    ]);
  });

  it('draws for the size that the terminal has, also where the signal of a change has yet to be heard', async () => {
    const shown = new ShownTerminal(40, 12);
    const screen = new Drawn(shown);
    // As Node does for a standard stream.
    const hear = (): void => {
      Object.assign(shown.stream, { columns: 20, rows: 10 });
      shown.stream.emit('resize');
    };
    process.on('SIGWINCH', hear);
    try {
      shown.terminal.resize(20, 10);
      screen.append(['\u2502 the last line of the header']);
      screen.show([`status ${'s'.repeat(30)}`], null);
      screen.flush();
      screen.flush();
      expect(await shown.rows()).toEqual(['\u2502 the last line of t', '\u2502 he header', 'status ssssssssssss…']);
    } finally {
      process.off('SIGWINCH', hear);
      screen.close();
    }
  });

  it('sends only what differs, and draws the cursor where the person types', async () => {
    const shown = new ShownTerminal();
    const screen = new Drawn(shown);
    screen.show(['turn 1, 3 s', '> abc'], { row: 1, column: 5 });
    screen.flush();
    await shown.rows();
    screen.show(['turn 1, 4 s', '> abc'], { row: 1, column: 5 });
    screen.flush();
    expect(String(shown.stream.read())).toBe('\u001B[?2026h\u001B[?7lturn 1, 4 s\u001B[K\r\u001B[?7h\u001B[?2026l');
    screen.flush();
    expect(shown.stream.read()).toBeNull();
    screen.show(['turn 1, 4 s', '> abc'], { row: 1, column: 3 });
    screen.flush();
    expect(String(shown.stream.read())).toBe(
      '\u001B[?2026h\u001B[?7l\n> a\u001B[7mb\u001B[27mc\u001B[K\r\u001B[?7h\u001B[1A\u001B[?2026l',
    );
    screen.close();
  });

  it('cuts a live row that is too long, and shows the last ones where there are too many', async () => {
    const shown = new ShownTerminal(20, 12);
    const screen = new Drawn(shown);
    screen.show(['a', 'b', 'c', 'd', `\u001B[2m${'long '.repeat(9)}\u001B[22m`], null);
    screen.flush();
    expect(await shown.rows()).toEqual(['b', 'c', 'd', 'long long long long\u2026']);
    screen.close();
  });

  it('erases nothing behind a live row that is as wide as the screen: tmux would erase its last column', async () => {
    const shown = new ShownTerminal(20, 12);
    const screen = new Drawn(shown);
    screen.show(['short'], null);
    screen.flush();
    await shown.rows();
    screen.show(['twenty columns wide.'], null);
    screen.flush();
    expect(String(shown.stream.read())).toBe('\u001B[?2026h\u001B[?7ltwenty columns wide.\r\u001B[?7h\u001B[?2026l');
    screen.close();
  });

  it('leaves nothing of the live rows behind when they are drawn again and the transcript grows at once', async () => {
    const shown = new ShownTerminal();
    const screen = new Drawn(shown);
    screen.show(['status', '> '], { row: 1, column: 2 });
    screen.flush();
    screen.redraw();
    screen.append(['> said']);
    screen.flush();
    expect(await shown.rows()).toEqual(['> said', 'status', '>  ']);
    screen.close();
  });

  it('leaves no live row behind where rows that the terminal wraps below its cursor take that along', async () => {
    const shown = new ShownTerminal(80, 24, { TERM: 'xterm-256color', TERM_PROGRAM: 'vscode' });
    const screen = new Drawn(shown);
    const long = 'x'.repeat(100);
    screen.append(['first']);
    for (const columns of [60, 44]) {
      screen.show([`a ${long}`, `b ${long}`, `c ${long}`], null);
      screen.flush();
      await shown.resize(columns, 24);
    }
    screen.flush();
    expect(await shown.rows()).toEqual([
      'first',
      `a ${'x'.repeat(41)}\u2026`,
      `b ${'x'.repeat(19)}\u2026`,
      `c ${'x'.repeat(19)}\u2026`,
    ]);
    screen.close();
  });

  it('wraps a row of the transcript that no terminal counts wider, and cuts one that may pass for a row of its own', async () => {
    const shown = new ShownTerminal(40, 12);
    const screen = new Drawn(shown);
    screen.append([`\u2502 ${'x'.repeat(38)}`, `\u2502 ${'\u0915'.repeat(38)}`]);
    shown.terminal.resize(30, 12);
    screen.flush();
    expect(await shown.rows()).toEqual([`\u2502 ${'x'.repeat(28)}`, 'x'.repeat(10), `\u2502 ${'\u0915'.repeat(28)}`]);
    screen.close();
  });

  it('gives the screen away without a live row, and draws them again behind what was written meanwhile', async () => {
    const shown = new ShownTerminal();
    const screen = new Drawn(shown);
    screen.append(['first']);
    screen.show(['status'], null);
    screen.suspend();
    shown.stream.write('$ fg\r\n');
    screen.append(['second']);
    screen.resume();
    screen.flush();
    expect(await shown.rows()).toEqual(['first', '$ fg', 'second', 'status']);
    screen.close();
  });
});
