import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { anyCharacter } from '../../../../test/support/any-character.ts';
import { inert } from '../screen/inert-text.ts';
import { widthOf } from '../screen/terminal-kind.ts';
import { type Key, type KeyName, type Letter, type Modifiers, press } from './key.ts';
import { type Edit, LineEditor } from './line-editor.ts';

const paste = (text: string): Key => ({ kind: 'paste', text });
const ctrl = (name: Letter): Key => press(name, { ctrl: true });
const alt = (name: KeyName): Key => press(name, { alt: true });

/** Types texts and presses keys one after another; returns what the last one came to. */
function type(editor: LineEditor, ...keys: readonly (string | Key)[]): Edit | undefined {
  let edit: Edit | undefined;
  for (const key of keys) edit = editor.press(typeof key === 'string' ? { kind: 'text', text: key } : key);
  return edit;
}

/** What the line is after some keys, `|` for the cursor. */
function lineAfter(...keys: readonly (string | Key)[]): string {
  const editor = new LineEditor();
  type(editor, ...keys);
  return marked(editor);
}

function marked(editor: LineEditor): string {
  const before = editor.textBefore;
  return `${before}|${editor.text.slice(before.length)}`;
}

describe('the line editor', () => {
  it.each([
    ['left', ['abc', press('left')], 'ab|c'],
    ['Ctrl+B and Ctrl+F', ['abc', ctrl('b'), ctrl('b'), ctrl('f')], 'ab|c'],
    ['Home and End', ['ab', press('home'), 'x', press('end'), 'y'], 'xaby|'],
    ['Ctrl+A and Ctrl+E', ['ab', ctrl('a'), 'x', ctrl('e'), 'y'], 'xaby|'],
    ['Home within one of several lines', ['ab', ctrl('j'), 'cd', press('home')], 'ab\n|cd'],
    ['Ctrl+Home', ['ab', ctrl('j'), 'cd', press('home', { ctrl: true })], '|ab\ncd'],
    ['Alt+B', ['one two-three', alt('b'), alt('b')], 'one |two-three'],
    ['Alt+F', ['one two', ctrl('a'), alt('f')], 'one| two'],
    [
      'Ctrl+left and Ctrl+right',
      ['one two', press('left', { ctrl: true }), press('right', { ctrl: true })],
      'one two|',
    ],
    ['Backspace', ['abc', press('left'), press('backspace')], 'a|c'],
    ['Ctrl+H', ['abc', ctrl('h')], 'ab|'],
    ['Delete', ['abc', ctrl('a'), press('delete')], '|bc'],
    ['Ctrl+D with text', ['abc', ctrl('a'), ctrl('d')], '|bc'],
    ['Ctrl+U', ['one two', alt('b'), ctrl('u')], '|two'],
    ['Ctrl+U at the start of a line', ['a', ctrl('j'), ctrl('u')], 'a|'],
    ['Ctrl+K', ['one two', alt('b'), ctrl('k')], 'one |'],
    ['Ctrl+K at the end of a line', ['a', ctrl('j'), 'b', press('up'), ctrl('k')], 'a|b'],
    ['Ctrl+W', ['one two-three', ctrl('w')], 'one |'],
    ['Alt+Backspace', ['one two-three', alt('backspace')], 'one two-|'],
    ['Alt+D', ['one two', ctrl('a'), alt('d')], '| two'],
    ['Ctrl+Y', ['one two', ctrl('w'), ctrl('y'), ctrl('y')], 'one twotwo|'],
    ['kills one behind the other', ['one two', ctrl('w'), ctrl('w'), ctrl('y')], 'one two|'],
    ['kills apart from each other', ['one two', ctrl('w'), press('left'), ctrl('w'), ctrl('y')], 'one| '],
    ['Alt+Enter', ['a', alt('enter'), 'b'], 'a\nb|'],
    ['Shift+Enter', ['a', press('enter', { shift: true }), 'b'], 'a\nb|'],
    ['Ctrl+J', ['a', ctrl('j'), 'b'], 'a\nb|'],
    ['Enter behind a backslash', ['a\\', press('enter'), 'b'], 'a\nb|'],
    ['an accent for the letter before', ['e', '\u0301', press('backspace')], '|'],
    [
      'an accent in the middle',
      ['xe', press('home'), press('right'), press('right'), '\u0301', press('left')],
      'x|e\u0301',
    ],
    ['a family', ['a👩‍👩‍👧b', press('left'), press('backspace')], 'a|b'],
    ['a hidden character', ['a\u200Bb'], 'ab|'],
  ] satisfies [string, (string | Key)[], string][])('understands %s', (_name, keys, line) => {
    expect(lineAfter(...keys)).toBe(line);
  });

  it('says when a text is to be sent, and keeps it', () => {
    const editor = new LineEditor();
    expect([type(editor, 'a', press('enter')), editor.text, editor.isEmpty]).toEqual(['submit', 'a', false]);
    editor.set('');
    expect([type(editor, press('enter')), editor.isEmpty]).toEqual(['submit', true]);
  });

  it.each([
    press('escape'),
    press('tab'),
    ctrl('c'),
    ctrl('d'),
    ctrl('l'),
    ctrl('r'),
    ctrl('z'),
    press('page-up'),
    press('up'),
    press('down'),
    ctrl('p'),
    alt('x'),
    { kind: 'cursor-position', row: 1, column: 1 } as const,
  ])('leaves %j to its caller', (key) => {
    expect(new LineEditor().press(key)).toBe('unknown');
  });

  it.each([
    press('left'),
    press('right'),
    press('backspace'),
    press('delete'),
    ctrl('k'),
    ctrl('u'),
    ctrl('w'),
    ctrl('y'),
    paste(''),
  ])('says that %j changes nothing in an empty line', (key) => {
    expect(new LineEditor().press(key)).toBe('nothing');
  });

  it('goes up and down among lines, in the same column, and leaves them at the ends', () => {
    const editor = new LineEditor();
    type(editor, 'first line', ctrl('j'), 'x', ctrl('j'), 'third');
    expect([type(editor, press('up')), marked(editor)]).toEqual(['changed', 'first line\nx|\nthird']);
    expect([type(editor, press('up')), marked(editor)]).toEqual(['changed', 'first| line\nx\nthird']);
    expect([type(editor, press('up')), marked(editor)]).toEqual(['unknown', 'first| line\nx\nthird']);
    expect([type(editor, press('down'), ctrl('n')), marked(editor)]).toEqual(['changed', 'first line\nx\nthird|']);
    expect(type(editor, press('down'))).toBe('unknown');
  });

  it('counts cells, not characters, on the way up', () => {
    expect(lineAfter('日本語', ctrl('j'), 'abc', press('up'))).toBe('日|本語\nabc');
  });

  it('keeps a short paste as lines and does not send it', () => {
    const editor = new LineEditor();
    expect([type(editor, 'a', paste('1\n2\tx\n\u001B[31m3')), editor.text]).toEqual(['changed', 'a1\n2    x\n3']);
  });

  it('shows a long paste as one token, and sends it whole', () => {
    const editor = new LineEditor();
    const lines = Array.from({ length: 84 }, (_, index) => `line\t${index}\u001B[2J`).join('\n');
    type(editor, 'see ', paste(lines), '!', press('left'));
    expect(editor.layout(80, 5)).toEqual({ rows: ['see [paste 1: 84 lines]!'], cursor: { row: 0, column: 23 } });
    expect(editor.text).toBe(`see ${lines.replaceAll('\u001B[2J', '')}!`);
    type(editor, press('left'));
    expect(editor.layout(80, 5).cursor.column).toBe(4);
    type(editor, press('right'), paste('x\n'.repeat(11)));
    expect(editor.layout(80, 5).rows).toEqual(['see [paste 1: 84 lines][paste 2: 11 lines]!']);
    type(editor, press('backspace'), press('backspace'));
    expect(editor.text).toBe('see !');
  });

  it('shows a paste of one very long line as a token', () => {
    const editor = new LineEditor();
    type(editor, paste('x'.repeat(5000)));
    expect(editor.layout(80, 5).rows).toEqual(['[paste 1: 5000 characters]']);
    editor.set('');
    type(editor, 'x'.repeat(5000));
    expect(editor.layout(80, 5).rows).toEqual(['[paste 1: 5000 characters]']);
  });

  it.each([
    [10, 'l\nl\nl\nl\nl\nl\nl\nl\nl\nl\n', 11],
    [11, 'l\nl\nl\nl\nl\nl\nl\nl\nl\nl\nl', 1],
  ])('draws a paste of %i lines as it should', (_lines, text, rows) => {
    const editor = new LineEditor();
    type(editor, paste(text));
    expect(editor.layout(80, 20).rows).toHaveLength(rows);
  });

  it('puts a deleted paste back', () => {
    const editor = new LineEditor();
    const lines = 'x\n'.repeat(20);
    type(editor, paste(lines), ctrl('w'), ctrl('y'), ctrl('y'));
    expect(editor.text).toBe(lines + lines);
  });

  it('refuses what does not fit into 1 MiB, and nothing else', () => {
    const editor = new LineEditor();
    expect(type(editor, paste('é'.repeat(512 * 1024 - 1)))).toBe('changed');
    expect(type(editor, paste('é\n'))).toBe('full');
    expect([type(editor, 'ab'), type(editor, 'c'), type(editor, ctrl('j'))]).toEqual(['changed', 'full', 'full']);
    expect(type(editor, ctrl('u'), ctrl('y'))).toBe('changed');
    expect(type(editor, ctrl('y'))).toBe('full');
    editor.set('é'.repeat(1024 * 1024));
    expect(editor.text).toBe('é'.repeat(512 * 1024));
    editor.set(`a${'é'.repeat(1024 * 1024)}`);
    expect(editor.text).toBe(`a${'é'.repeat(512 * 1024 - 1)}`);
  });

  it('shows a text as a token that would be too long to be edited', () => {
    const editor = new LineEditor();
    editor.set('é\n'.repeat(8192));
    expect(editor.layout(80, 5).rows).toHaveLength(5);
    editor.set('é\n'.repeat(8193));
    expect(editor.layout(80, 5).rows).toEqual(['[paste 1: 8193 lines]']);
    editor.set('');
    for (let count = 0; count < 5; count += 1) type(editor, paste('word '.repeat(800)));
    expect(editor.layout(4000, 9).rows.at(-1)).toBe('[paste 1: 4000 characters]');
    expect(editor.text).toBe('word '.repeat(4000));
  });
});

describe('the rows of the line editor', () => {
  it.each([
    ['nothing', [], { rows: [''], cursor: { row: 0, column: 0 } }],
    ['a full row', ['abcd'], { rows: ['abcd', ''], cursor: { row: 1, column: 0 } }],
    [
      'the cursor in the second row',
      ['abcdefgh', press('left'), press('left'), press('left')],
      { rows: ['abcd', 'efgh'], cursor: { row: 1, column: 1 } },
    ],
    [
      'the cursor before the second row',
      ['abcdef', press('left'), press('left')],
      { rows: ['abcd', 'ef'], cursor: { row: 1, column: 0 } },
    ],
    ['a wide character at the end', ['abc日'], { rows: ['abc', '日'], cursor: { row: 1, column: 2 } }],
    ['the cursor before it', ['abc日', press('left')], { rows: ['abc', '日'], cursor: { row: 1, column: 0 } }],
    ['lines', ['a', ctrl('j'), ctrl('j'), 'b'], { rows: ['a', '', 'b'], cursor: { row: 2, column: 1 } }],
    ['a full row before a line feed', ['abcd', ctrl('j'), 'e'], { rows: ['abcd', 'e'], cursor: { row: 1, column: 1 } }],
    [
      'the cursor between them',
      ['abcd', ctrl('j'), 'e', press('up'), press('end')],
      { rows: ['abcd', '', 'e'], cursor: { row: 1, column: 0 } },
    ],
    ['a character drawn wider than the row', ['👩‍👩‍👧'], { rows: ['👩…'], cursor: { row: 0, column: 3 } }],
    [
      'a label',
      [paste('\n'.repeat(11))],
      { rows: ['[pas', 'te 1', ': 11', ' lin', 'es]'], cursor: { row: 4, column: 3 } },
    ],
  ] satisfies [string, (string | Key)[], object][])('hold %s', (_name, keys, layout) => {
    const editor = new LineEditor();
    type(editor, ...keys);
    expect(editor.layout(4, 9)).toEqual(layout);
  });

  it('surround the cursor, and move only as far as it makes them', () => {
    const editor = new LineEditor();
    type(editor, paste('1\n2\n3\n4\n5\n6'));
    expect(editor.layout(10, 3)).toEqual({ rows: ['4', '5', '6'], cursor: { row: 2, column: 1 } });
    type(editor, press('up'), press('up'));
    expect(editor.layout(10, 3)).toEqual({ rows: ['4', '5', '6'], cursor: { row: 0, column: 1 } });
    type(editor, press('up'));
    expect(editor.layout(10, 3)).toEqual({ rows: ['3', '4', '5'], cursor: { row: 0, column: 1 } });
    type(editor, press('down'));
    expect(editor.layout(10, 3)).toEqual({ rows: ['3', '4', '5'], cursor: { row: 1, column: 1 } });
  });
});

describe('whatever is pressed', () => {
  const modifiers = fc.record({
    ctrl: fc.boolean(),
    alt: fc.boolean(),
    shift: fc.boolean(),
  }) satisfies fc.Arbitrary<Modifiers>;
  const names: readonly KeyName[] = [
    'enter',
    'backspace',
    'delete',
    'up',
    'down',
    'left',
    'right',
    'home',
    'end',
    ...('abcdefghijklmnopqrstuvwxyz'.split('') as Letter[]),
  ];
  const texts = fc.oneof(
    fc.constantFrom(
      'a',
      'word ',
      'é',
      '日',
      '👩‍🚀',
      '\u0301',
      '\u200D',
      '🏽',
      '\\',
      '-',
      '각',
      'ᄀ',
      'ᅡ',
      'न',
      'ि',
      '\uD83D',
    ),
    fc.string({ unit: 'grapheme', maxLength: 5 }),
    fc.string({ unit: anyCharacter, maxLength: 5 }),
  );
  const keys = fc.oneof(
    { weight: 3, arbitrary: texts.map((text): Key => ({ kind: 'text', text })) },
    { weight: 1, arbitrary: fc.array(texts, { maxLength: 25 }).map((lines) => paste(lines.join('\n'))) },
    {
      weight: 4,
      arbitrary: fc
        .record({ name: fc.constantFrom(...names), held: modifiers })
        .map(({ name, held }): Key => press(name, held)),
    },
  );

  it('the text is inert, and the rows fit and hold the cursor', () => {
    fc.assert(
      fc.property(
        fc.array(keys, { maxLength: 40 }),
        fc.integer({ min: 2, max: 30 }),
        fc.integer({ min: 1, max: 8 }),
        (pressed, columns, most) => {
          const editor = new LineEditor();
          for (const key of pressed) {
            editor.press(key);
            const { rows, cursor } = editor.layout(columns, most);
            expect(rows.length).toBeLessThanOrEqual(most);
            for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(columns);
            expect(cursor.row).toBeLessThan(rows.length);
            expect(cursor.column).toBeLessThan(columns);
            expect(widthOf(rows[cursor.row] ?? '')).toBeGreaterThanOrEqual(cursor.column);
            expect(editor.text).not.toMatch(/[^\P{Cc}\t\n]|\p{Cs}/u);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('a text is cut into the characters that a person sees, in whatever order it is typed', () => {
    const segmenter = new Intl.Segmenter();
    fc.assert(
      fc.property(fc.array(fc.tuple(texts, fc.nat({ max: 5 })), { maxLength: 20 }), (typed) => {
        const editor = new LineEditor();
        for (const [text, moves] of typed) {
          editor.press({ kind: 'text', text });
          for (let count = 0; count < moves; count += 1) editor.press(press('left'));
        }
        const whole = editor.text;
        // Flags are pairs counted from the first: those behind an inserted half stay the pairs that they were.
        fc.pre(!/\p{Regional_Indicator}/u.test(whole));
        editor.press(press('end', { ctrl: true }));
        let count = 0;
        while (editor.press(press('backspace')) === 'changed') count += 1;
        expect(count).toBe(Array.from(segmenter.segment(whole)).length);
      }),
      { numRuns: 2000 },
    );
  });

  it('a paste that is neither long nor odd is the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-composite', maxLength: 30 }), (text) => {
        const editor = new LineEditor();
        editor.press(paste(text));
        expect(editor.text).toBe(inert(text).replaceAll('\t', '    '));
      }),
    );
  });
});
