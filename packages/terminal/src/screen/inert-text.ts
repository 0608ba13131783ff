/** Makes text of others harmless to a terminal. */

/**
 * Makes text of others inert: what a model, a tool or a peer wrote can then be shown on a terminal and only be read. Escape sequences, controls,
 * marks that turn or hide text and piled-up accents are left out; every carriage return begins a new line. Takes time in proportion to the
 * text, whatever it holds, and keeps no more than 4 KiB of it back.
 */
export class InertText {
  /** A control string, such as a window title, that has begun and may never end. */
  #string: string | null = null;
  #state: 'text' | 'escape' | 'sequence' | 'string' | 'string-escape' = 'text';
  #afterReturn = false;
  #marks = 0;
  /** A joiner is kept only between two pictures. */
  #afterPicture = false;
  #joiner = false;
  /** The first half of a character whose second is still to come. */
  #half = '';

  /** The inert text of the next piece. What may be the start of a sequence is held back. */
  push(piece: string): string {
    const whole = this.#half + piece;
    this.#half = endsInHalf.exec(whole)?.[0] ?? '';
    const text = this.#half === '' ? whole : whole.slice(0, -1);
    let shown = '';
    for (let at = 0; at < text.length;) {
      const run = this.#plainRun(text, at);
      const character = run === '' ? String.fromCodePoint(text.codePointAt(at) ?? 0) : run;
      shown += run === '' ? this.#take(character) : run;
      at += character.length;
    }
    return shown;
  }

  /** The text behind a control string that nothing has ended. Makes ready for another text. */
  end(): string {
    const held = this.#string ?? '';
    this.#string = null;
    this.#state = 'text';
    this.#half = '';
    this.#afterReturn = false;
    this.#forgetLast();
    return held;
  }

  /** What stands at a place of the text and has nothing to leave out, as most text has not. */
  #plainRun(text: string, from: number): string {
    if (this.#state !== 'text' || this.#afterReturn) return '';
    special.lastIndex = from;
    const run = text.slice(from, special.exec(text)?.index ?? text.length);
    if (run !== '') this.#forgetLast();
    return run;
  }

  #forgetLast(): void {
    this.#marks = 0;
    this.#afterPicture = this.#joiner = false;
  }

  #take(character: string): string {
    switch (this.#state) {
      case 'text':
        return this.#takeText(character);
      case 'escape':
        return this.#takeEscape(character);
      case 'sequence':
        return this.#takeSequence(character);
      case 'string':
        return this.#takeString(character);
      case 'string-escape':
        return this.#takeStringEscape(character);
    }
  }

  #takeText(character: string): string {
    const code = character.codePointAt(0) ?? 0;
    if (code === 0x0a && this.#afterReturn) {
      this.#afterReturn = false;
      return '';
    }
    this.#afterReturn = false;
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return this.#takeControl(code);
    if (code < 0x7f) {
      this.#forgetLast();
      return character;
    }
    return this.#takeBeyondAscii(character, code);
  }

  #takeControl(code: number): string {
    this.#forgetLast();
    switch (code) {
      case 0x09:
        return '\t';
      case 0x0d:
        this.#afterReturn = true;
        return '\n';
      case 0x0a:
      case 0x0b:
      case 0x0c:
      case 0x85:
        return '\n';
      case 0x1b:
        this.#state = 'escape';
        return '';
      case 0x9b:
        this.#state = 'sequence';
        return '';
      case 0x90:
      case 0x98:
      case 0x9d:
      case 0x9e:
      case 0x9f:
        this.#state = 'string';
        this.#string = '';
        return '';
      default:
        return '';
    }
  }

  #takeBeyondAscii(character: string, code: number): string {
    if (code === 0x200d) {
      this.#joiner = this.#afterPicture;
      return '';
    }
    if (code === 0x2028 || code === 0x2029) return '\n';
    const joined = this.#joiner ? '\u200D' : '';
    this.#joiner = false;
    if (mark.test(character)) return this.#takeMark(character, code);
    this.#marks = 0;
    if (hidden.test(character)) return '';
    const isPicture = picture.test(character);
    const before = isPicture ? joined : '';
    this.#afterPicture = isPicture;
    return before + character;
  }

  #takeMark(character: string, code: number): string {
    const isSelector = (code >= 0xfe00 && code <= 0xfe0f) || (code >= 0xe0100 && code <= 0xe01ef);
    // One behind a picture says how it is drawn; more of them would only hide bytes.
    if (isSelector && !(this.#afterPicture && this.#marks === 0 && (code === 0xfe0e || code === 0xfe0f))) return '';
    this.#marks += 1;
    return this.#marks > maxMarks || code === 0x034f ? '' : character;
  }

  #takeEscape(character: string): string {
    const code = character.codePointAt(0) ?? 0;
    if (character === '[') this.#state = 'sequence';
    else if (character === ']' || character === 'P' || character === 'X' || character === '^' || character === '_') {
      this.#state = 'string';
      this.#string = '';
    } else if (code < 0x20 || code > 0x2f) {
      // Blanks to slashes stand inside a short sequence, the next character ends it; anything else was no sequence.
      this.#state = 'text';
      return code >= 0x30 && code <= 0x7e ? '' : this.#takeText(character);
    }
    return '';
  }

  #takeSequence(character: string): string {
    const code = character.codePointAt(0) ?? 0;
    if (code >= 0x20 && code <= 0x3f) return '';
    this.#state = 'text';
    return code >= 0x40 && code <= 0x7e ? '' : this.#takeText(character);
  }

  #takeString(character: string): string {
    const code = character.codePointAt(0) ?? 0;
    if (code === 0x07 || code === 0x9c) return this.#endString('');
    if (code === 0x1b) {
      this.#state = 'string-escape';
      return '';
    }
    // No string of a terminal holds a control, and none that is meant well is this long.
    if (code < 0x20 || (code >= 0x7f && code < 0xa0) || (this.#string?.length ?? 0) >= maxString) {
      return this.#endString(this.#string ?? '') + this.#takeText(character);
    }
    if (!hidden.test(character) && !mark.test(character)) this.#string += character;
    return '';
  }

  #takeStringEscape(character: string): string {
    if (character === '\\') return this.#endString('');
    const held = this.#endString(this.#string ?? '');
    this.#state = 'escape';
    return held + this.#takeEscape(character);
  }

  #endString(shown: string): string {
    this.#string = null;
    this.#state = 'text';
    return shown;
  }
}

const maxString = 4096;
const maxMarks = 4;
/** Anything but ASCII, Latin, Han and Hangul, which make up most text and have nothing to leave out. */
const special = /[^\t\n\u0020-\u007E\u00AF-\u02FF\u4E00-\u9FFF\uAC00-\uD7A3]/g;
const endsInHalf = /[\uD800-\uDBFF]$/;
const mark = /^\p{M}$/u;
const picture = /^[\p{Extended_Pictographic}\p{Emoji_Modifier}]$/u;
/** Characters that take no room, turn the direction of a text around, or only look empty; and halves of characters. */
const hidden = new RegExp(
  '^[\\u00AD\\u061C\\u115F\\u1160\\u17B4\\u17B5\\u180B-\\u180F\\u200B-\\u200F\\u2028-\\u202E\\u2060-\\u206F\\u3164\\uFEFF\\uFFA0\\uFFF0-\\uFFFB' +
    '\\u{1BCA0}-\\u{1BCA3}\\u{1D173}-\\u{1D17A}\\u{E0000}-\\u{E0FFF}\\p{Cs}]$',
  'u',
);

/** A whole text, inert. */
export function inert(text: string): string {
  const cleaning = new InertText();
  return cleaning.push(text) + cleaning.end();
}

/** The start of a text on one line: cut first, then made inert. */
export function inertLine(text: string, maxCharacters: number): string {
  const looked = text.slice(0, maxCharacters * 2);
  const characters = Array.from(inert(looked).replaceAll(/\s+/g, ' ').trim());
  const isWhole = looked === text && characters.length <= maxCharacters;
  return `${characters.slice(0, maxCharacters).join('')}${isWhole ? '' : '…'}`;
}
