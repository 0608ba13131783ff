/** Knows what keys the control sequences of terminals stand for. */

import { type Key, letterOf, type Modifiers, type NamedKey, press } from './key.ts';

/** A whole control sequence, `ESC [` or `ESC O` with what follows. */
export interface Sequence {
  readonly kind: 'csi' | 'ss3';
  /** Digits, `;` and `:`; anything else marks a sequence that no key sends. */
  readonly parameters: string;
  readonly final: string;
  /** A terminal that knows no other way puts an escape before the sequence of a key that is pressed with Alt. */
  readonly isAfterEscape: boolean;
}

/** `start of paste` and null for what stands for no key: it is passed over. */
export function keyOfSequence(sequence: Sequence): Key | 'start of paste' | null {
  const { kind, parameters, final, isAfterEscape } = sequence;
  if (!/^[\d;:]{0,32}$/.test(parameters)) return null;
  const numbers = parameters.split(';').map((part) => Number.parseInt(part, 10) || 0);
  const [first = 0, second = 0, third = 0] = numbers;
  if (kind === 'csi') {
    if (final === 'R') return numbers.length === 2 && first > 0 && second > 0 ? positionAt(first, second) : null;
    if (final === 'Z') return press('tab', { shift: true });
    if (final === 'u') return isReleased(parameters) ? null : keyOfCode(first, modifiersOf(second));
    if (final === '~' && first === 200) return 'start of paste';
    if (final === '~' && first === 27) return keyOfCode(third, modifiersOf(second));
    if (final === '~' || final === '^') return ofNumber(sequence, first, second);
  }
  const letter = kind === 'ss3' ? (ss3Letters[final] ?? csiLetters[final]) : csiLetters[final];
  if (letter === undefined || isReleased(parameters)) return null;
  const modifiers = modifiersOf(numbers.length > 1 ? second : first);
  // Arrows in small letters are those of rxvt with Shift, or behind `ESC O` with Ctrl.
  const isSmall = final >= 'a';
  return modifiers === null
    ? null
    : press(letter, {
        ctrl: modifiers.ctrl === true || (isSmall && kind === 'ss3'),
        alt: modifiers.alt === true || isAfterEscape,
        shift: modifiers.shift === true || (isSmall && kind === 'csi'),
      });
}

function positionAt(row: number, column: number): Key | null {
  return row <= maxCells && column <= maxCells ? { kind: 'cursor-position', row, column } : null;
}

const maxCells = 65_535;

const csiLetters: Readonly<Record<string, NamedKey>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  F: 'end',
  H: 'home',
  a: 'up',
  b: 'down',
  c: 'right',
  d: 'left',
};
/** Enter of the number pad, where a program has switched it to sequences. */
const ss3Letters: Readonly<Record<string, NamedKey>> = { M: 'enter' };

const numbered: Readonly<Record<number, NamedKey>> = {
  1: 'home',
  3: 'delete',
  4: 'end',
  5: 'page-up',
  6: 'page-down',
  7: 'home',
  8: 'end',
};

function ofNumber({ parameters, final, isAfterEscape }: Sequence, first: number, second: number): Key | null {
  const name = numbered[first];
  const modifiers = modifiersOf(second);
  if (name === undefined || modifiers === null || isReleased(parameters)) return null;
  return press(name, {
    ...modifiers,
    ctrl: modifiers.ctrl === true || final === '^',
    alt: modifiers.alt === true || isAfterEscape,
  });
}

/** The third kind of event, behind the colon of the second parameter, is a key that is let go. */
function isReleased(parameters: string): boolean {
  return /^[^;]*;\d*:3(?:;|$)/.test(parameters);
}

/** From the number in sequences, one more than a set of bits; null with a key that belongs to the desktop. */
function modifiersOf(number: number): Modifiers | null {
  const bits = Math.max(0, number - 1);
  if ((bits & 0b11000) !== 0) return null;
  return { shift: (bits & 0b1) !== 0, alt: (bits & 0b100010) !== 0, ctrl: (bits & 0b100) !== 0 };
}

const codes: Readonly<Record<number, NamedKey>> = {
  8: 'backspace',
  9: 'tab',
  13: 'enter',
  27: 'escape',
  127: 'backspace',
  // Enter of the number pad.
  57414: 'enter',
};

/** A key by the character that it has, as terminals send it when asked for more than the usual. */
function keyOfCode(code: number, modifiers: Modifiers | null): Key | null {
  if (modifiers === null) return null;
  const name = codes[code];
  if (name !== undefined) return press(name, modifiers);
  if (code < 0x20 || code > 0x10ffff || (code >= 0x7f && code < 0xa0)) return null;
  const character = String.fromCodePoint(code);
  if (modifiers.ctrl !== true && modifiers.alt !== true) {
    // Places for private use stand for keys such as Caps Lock, and halves are no characters.
    return /^[\p{Co}\p{Cs}]$/u.test(character) ? null : { kind: 'text', text: character };
  }
  const letter = letterOf(character);
  return letter === null
    ? null
    : press(letter, { ...modifiers, shift: modifiers.shift === true || letter !== character });
}
