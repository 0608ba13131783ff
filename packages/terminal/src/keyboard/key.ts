/** What a keyboard can say: the keys that a person presses, and what a terminal reports the same way. */

/** A key with a name; one letter, lower-case, for what is pressed with Ctrl or Alt. */
export type KeyName = NamedKey | Letter;

export type NamedKey =
  | 'enter'
  | 'escape'
  | 'tab'
  | 'backspace'
  | 'delete'
  | 'up'
  | 'down'
  | 'left'
  | 'right'
  | 'home'
  | 'end'
  | 'page-up'
  | 'page-down';

// prettier-ignore
export type Letter =
  | 'a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g' | 'h' | 'i' | 'j' | 'k' | 'l' | 'm'
  | 'n' | 'o' | 'p' | 'q' | 'r' | 's' | 't' | 'u' | 'v' | 'w' | 'x' | 'y' | 'z';

export interface Press {
  readonly kind: 'press';
  readonly name: KeyName;
  readonly ctrl: boolean;
  readonly alt: boolean;
  readonly shift: boolean;
}

export type Key =
  /** Typed characters, without controls. */
  | { readonly kind: 'text'; readonly text: string }
  /** What was pasted, as it came except line ends, which are line feeds: it may hold anything. */
  | { readonly kind: 'paste'; readonly text: string }
  | Press
  /** The answer to `CSI 6n`; both count from 1. */
  | { readonly kind: 'cursor-position'; readonly row: number; readonly column: number };

export interface Modifiers {
  readonly ctrl?: boolean;
  readonly alt?: boolean;
  readonly shift?: boolean;
}

export function press(name: KeyName, { ctrl = false, alt = false, shift = false }: Modifiers = {}): Press {
  return { kind: 'press', name, ctrl, alt, shift };
}

/** The key of a letter in either case; null for any other character. */
export function letterOf(character: string): Letter | null {
  return /^[A-Za-z]$/.test(character) ? (character.toLowerCase() as Letter) : null;
}
