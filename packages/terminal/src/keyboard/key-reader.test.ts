import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { anyCharacter } from '../../../../test/support/any-character.ts';
import { type Key, type Modifiers, type KeyName, press } from './key.ts';
import { KeyReader } from './key-reader.ts';

/** All keys of chunks that come at once. */
function keysOf(...chunks: readonly string[]): Key[] {
  const reader = new KeyReader();
  const keys = chunks.flatMap((chunk) => reader.push(chunk));
  return keys.concat(reader.settle());
}

const text = (typed: string): Key => ({ kind: 'text', text: typed });
const paste = (pasted: string): Key => ({ kind: 'paste', text: pasted });

const named: readonly (readonly [string, KeyName, Modifiers])[] = [
  ['\r', 'enter', {}],
  ['\u001B', 'escape', {}],
  ['\t', 'tab', {}],
  ['\u007F', 'backspace', {}],
  ['\u0008', 'h', { ctrl: true }],
  ['\n', 'j', { ctrl: true }],
  ['\u0001', 'a', { ctrl: true }],
  ['\u0003', 'c', { ctrl: true }],
  ['\u001A', 'z', { ctrl: true }],
  ['\u001B[A', 'up', {}],
  ['\u001BOB', 'down', {}],
  ['\u001B[1;5C', 'right', { ctrl: true }],
  ['\u001B[1;3D', 'left', { alt: true }],
  ['\u001B[5C', 'right', { ctrl: true }],
  ['\u001B[1;8A', 'up', { ctrl: true, alt: true, shift: true }],
  ['\u001B[1;65A', 'up', {}],
  ['\u001B[a', 'up', { shift: true }],
  ['\u001BOd', 'left', { ctrl: true }],
  ['\u001B\u001B[A', 'up', { alt: true }],
  ['\u001B\u001BOC', 'right', { alt: true }],
  ['\u001B[H', 'home', {}],
  ['\u001BOH', 'home', {}],
  ['\u001B[1~', 'home', {}],
  ['\u001B[7~', 'home', {}],
  ['\u001B[F', 'end', {}],
  ['\u001BOF', 'end', {}],
  ['\u001B[4~', 'end', {}],
  ['\u001B[8~', 'end', {}],
  ['\u001B[1;5F', 'end', { ctrl: true }],
  ['\u001B[3~', 'delete', {}],
  ['\u001B[3;5~', 'delete', { ctrl: true }],
  ['\u001B[3^', 'delete', { ctrl: true }],
  ['\u001B[5~', 'page-up', {}],
  ['\u001B[6~', 'page-down', {}],
  ['\u001B[Z', 'tab', { shift: true }],
  ['\u001B\r', 'enter', { alt: true }],
  ['\u001B\n', 'j', { ctrl: true, alt: true }],
  ['\u001B\u007F', 'backspace', { alt: true }],
  ['\u001B\u0008', 'h', { ctrl: true, alt: true }],
  ['\u001Bb', 'b', { alt: true }],
  ['\u001BF', 'f', { alt: true, shift: true }],
  ['\u001B[13u', 'enter', {}],
  ['\u001B[13;2u', 'enter', { shift: true }],
  ['\u001B[13;3u', 'enter', { alt: true }],
  ['\u001B[13;5u', 'enter', { ctrl: true }],
  ['\u001B[13;5:1u', 'enter', { ctrl: true }],
  ['\u001B[27;2;13~', 'enter', { shift: true }],
  ['\u001B[27;5;13~', 'enter', { ctrl: true }],
  ['\u001B[57414;2u', 'enter', { shift: true }],
  ['\u001BOM', 'enter', {}],
  ['\u001B[27u', 'escape', {}],
  ['\u001B[127;5u', 'backspace', { ctrl: true }],
  ['\u001B[99;5u', 'c', { ctrl: true }],
  ['\u001B[98:66;4:1;66u', 'b', { alt: true, shift: true }],
];

describe('the key reader', () => {
  it.each(named)('reads %j as one key', (sequence, name, modifiers) => {
    expect(keysOf(sequence)).toEqual([press(name, modifiers)]);
    expect(keysOf('a', sequence, '\u0002')).toEqual(
      sequence === '\u001B'
        ? [text('a'), press('b', { ctrl: true, alt: true })]
        : [text('a'), press(name, modifiers), press('b', { ctrl: true })],
    );
  });

  it.each([
    ['a function key', '\u001BOP'],
    ['a function key with a number', '\u001B[15~'],
    ['a function key of the console', '\u001B[[A'],
    ['Insert', '\u001B[2~'],
    ['a report of focus', '\u001B[I'],
    ['a mouse', '\u001B[<0;10;20M'],
    ['what a terminal says of itself', '\u001B[?62;1;4c'],
    ['its colours', '\u001B]11;rgb:0000/0000/0000\u001B\\'],
    ['its name', '\u001BP>|xterm(390)\u001B\\'],
    ['its colours, ended by a bell', '\u001B]11;rgb:0000/0000/0000\u0007'],
    ['eight-bit sequences', '\u009B31m\u009D0;x\u009C'],
    ['a key that is let go', '\u001B[97;5:3u'],
    ['a key of the desktop', '\u001B[99;9u'],
    ['Caps Lock', '\u001B[57358u'],
    ['a character beyond Unicode', '\u001B[99999999u'],
    ['a position of too many cells', '\u001B[1;99999R'],
    ['a sequence of any length', `\u001B[${'1;'.repeat(10_000)}C`],
    ['Alt with a digit', '\u001B1'],
    ['Alt with a letter in two halves', '\u001B😀'],
    ['a paste of nothing', '\u001B[200~\u001B[201~'],
    ['an end of no paste', '\u001B[201~'],
    ['controls without a letter', '\u0000\u001C\u001F'],
  ])('passes over %s', (_name, sequence) => {
    expect(keysOf(`${sequence}b\u001B[A`)).toEqual([text('b'), press('up')]);
  });

  it('begins anew where a sequence is broken off', () => {
    expect(keysOf('\u001B[1;\u001B[A')).toEqual([press('up')]);
    expect(keysOf('\u001B[1;\u0003x')).toEqual([press('c', { ctrl: true }), text('x')]);
    expect(keysOf('\u001B]0;a\rb')).toEqual([paste('\nb')]);
  });

  it('reads where the cursor is', () => {
    expect(keysOf('a\u001B[24;80Rb')).toEqual([text('a'), { kind: 'cursor-position', row: 24, column: 80 }, text('b')]);
  });

  it('waits for what may follow an escape, and says for how long', () => {
    const reader = new KeyReader();
    expect([reader.isWaiting, reader.patienceMs]).toEqual([false, 0]);
    expect([reader.push('\u001B'), reader.isWaiting, reader.patienceMs]).toEqual([[], true, 30]);
    expect([reader.settle(), reader.isWaiting]).toEqual([[press('escape')], false]);
    expect([reader.push('[A'), reader.patienceMs]).toEqual([[], 5]);
    expect(reader.settle()).toEqual([text('[A')]);
  });

  it('reads two escapes as two', () => {
    expect(keysOf('\u001B\u001B')).toEqual([press('escape'), press('escape')]);
    expect(keysOf('\u001B\u001Bb')).toEqual([press('escape'), press('b', { alt: true })]);
  });

  it('forgets the start of a sequence that nothing follows', () => {
    const reader = new KeyReader();
    expect([reader.push('\u001B[1;'), reader.settle(), reader.push('5C'), reader.settle()]).toEqual([
      [],
      [],
      [],
      [text('5C')],
    ]);
  });
});

describe('pasted text', () => {
  it('makes one key, whatever is in it', () => {
    expect(keysOf('a\u001B[200~x\r\ny\rz\u0003\u001B[A\tq\n\u001B[201~\r')).toEqual([
      text('a'),
      paste('x\ny\nz\u0003\u001B[A\tq\n'),
      press('enter'),
    ]);
  });

  it('cannot end itself: all up to the last end that comes at once belongs to it', () => {
    expect(keysOf('\u001B[200~a\u001B[201~rm -r .\r\u001B[201~')).toEqual([paste('arm -r .\n')]);
    expect(keysOf('\u001B[200~a\u001B[201~b\r\u001B[200~c\u001B[201~\r')).toEqual([
      paste('ab\n\u001B[200~c'),
      press('enter'),
    ]);
  });

  it('arrives after a while where its end does not come, and goes on', () => {
    const reader = new KeyReader();
    expect([reader.push('\u001B[200~a\r'), reader.patienceMs]).toEqual([[], 1000]);
    expect([reader.settle(), reader.isWaiting]).toEqual([[paste('a\n')], false]);
    expect([reader.push('b\r'), reader.settle(), reader.push('c\u001B[201~'), reader.settle()]).toEqual([
      [],
      [paste('b\n')],
      [],
      [paste('c')],
    ]);
    expect([reader.push('d\r'), reader.settle()]).toEqual([[], [text('d'), press('enter')]]);
  });

  it('without an end gives the keyboard back for Ctrl+C', () => {
    const reader = new KeyReader();
    expect([reader.push('\u001B[200~a'), reader.push('\u0003'), reader.settle()]).toEqual([[], [], [paste('a\u0003')]]);
    expect([reader.push('\u0003x'), reader.settle()]).toEqual([[press('c', { ctrl: true })], [text('x')]]);
  });

  it('comes in pieces of 1 MiB at any length', () => {
    const length = 1024 * 1024;
    const keys = keysOf('\u001B[200~', 'a'.repeat(length), 'b'.repeat(length), 'c\u001B[201~');
    expect(keys).toEqual([paste('a'.repeat(length)), paste('b'.repeat(length)), paste('c')]);
    const halves = keysOf(`\u001B[200~${'a'.repeat(length - 1)}😀`);
    expect(halves).toEqual([paste('a'.repeat(length - 1)), paste('😀')]);
    expect(keysOf(`${'a'.repeat(length)}b\r`)).toEqual([paste('a'.repeat(length)), paste('b\n')]);
  });

  it('may have a million keys', () => {
    expect(keysOf(`\u001B[200~a\u001B[201~${'\u0002'.repeat(1_000_000)}`)).toHaveLength(1_000_001);
  });

  it('with a million characters, each a chunk of its own, takes no longer than it should', () => {
    const reader = new KeyReader();
    reader.push('\u001B[200~');
    for (let count = 0; count < 1_000_000; count += 1) reader.push('a');
    expect(reader.push('\u001B[201~').concat(reader.settle())).toEqual([paste('a'.repeat(1_000_000))]);
  });
});

describe('text without the marks of a paste', () => {
  it.each([
    ['go\r', [text('go'), press('enter')]],
    ['go\r\n', [text('go'), press('enter')]],
    ['go\r\r', [text('go'), press('enter'), press('enter')]],
    ['go\rmore', [paste('go\nmore')]],
    ['go\r\nmore\r\n', [paste('go\nmore\n')]],
    ['\ty\ra', [paste('\ty\na')]],
    ['a\tb\nc', [text('a'), press('tab'), text('b'), press('j', { ctrl: true }), text('c')]],
    ['y\u001B[A', [text('y'), press('up')]],
  ] satisfies [string, Key[]][])('%j is what it looks like', (typed, keys) => {
    expect(keysOf(typed)).toEqual(keys);
    expect(keysOf(...typed.split(''))).toEqual(keys);
  });

  it('counts as a paste only when it comes at once', () => {
    const reader = new KeyReader();
    expect([reader.push('go\r'), reader.isWaiting, reader.settle()]).toEqual([[], true, [text('go'), press('enter')]]);
    expect([reader.push('more'), reader.settle()]).toEqual([[], [text('more')]]);
  });
});

describe('keys', () => {
  const pieces = fc.oneof(
    fc.constantFrom(...named.map(([sequence]) => sequence)),
    fc.constantFrom(
      '\u001B[200~',
      '\u001B[201~',
      '\u001B[',
      '\u001B]',
      '\u001BP',
      '\u0007',
      '\u001B\\',
      '\u009B',
      '[',
      '1;5',
      '~',
      'R',
      '[[A',
    ),
    fc.constantFrom('a', 'go', '\r', '\r\n', '日本', '👩‍🚀', '\uD83D', '\uDE00', '\u0085'),
    fc.string({ unit: anyCharacter, maxLength: 4 }),
  );

  it('stay the same however the bytes of the terminal are cut', () => {
    fc.assert(
      fc.property(
        fc.array(pieces, { maxLength: 30 }),
        fc.array(fc.nat({ max: 9 }), { maxLength: 200 }),
        (sent, cuts) => {
          const whole = sent.join('');
          const chunks: string[] = [];
          let at = 0;
          for (const length of cuts) {
            chunks.push(whole.slice(at, at + length));
            at += length;
          }
          chunks.push(whole.slice(at));
          expect(keysOf(...chunks)).toEqual(keysOf(whole));
          expect(keysOf(...whole.split(''))).toEqual(keysOf(whole));
        },
      ),
      { numRuns: 5000 },
    );
  });

  it('for text hold no control, and all come out once all is settled', () => {
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), (sent) => {
        const reader = new KeyReader();
        const keys = sent.flatMap((piece) => reader.push(piece)).concat(reader.settle());
        for (const key of keys) if (key.kind === 'text') expect(key.text).not.toMatch(/\p{Cc}/u);
        expect(reader.isWaiting).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });
});
