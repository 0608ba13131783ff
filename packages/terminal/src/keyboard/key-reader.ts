/** Makes keys of the characters that a terminal sends. `raw-terminal.ts` gives it the characters, and passes on the keys. */

import { type Key, letterOf, type Modifiers, press } from './key.ts';
import { keyOfSequence } from './key-sequences.ts';

export type { Key, KeyName } from './key.ts';

/** The most of a text or a paste that is held back. A longer one is delivered in pieces of this length. */
const maxPiece = 1024 * 1024;
const endOfPaste = '\u001B[201~';

/** Characters that end typed text. Line ends and tabs are not among them: they may belong to a paste that is not marked as one. */
const control = /[^\P{Cc}\t\n\r]/gu;
const pastedLines = /\r[\r\n]*[^\r\n]/;

/**
 * Reads keys. The result does not depend on how the stream of characters is cut into chunks. It depends on when the caller says that nothing
 * follows (`settle`): the escape key is the beginning of all sequences, and lines that come at once are a paste. A sequence that stands for no key
 * is skipped whole. The reader never keeps more than twice 1 MiB.
 */
export class KeyReader {
  /** Text that is held back until something follows it, or `settle` is called. */
  #run = '';
  #runIsPaste = false;
  #state: 'text' | 'escape' | 'two escapes' | 'csi' | 'ss3' | 'console' | 'string' | 'string-escape' | 'half' = 'text';
  #parameters = '';
  #isAfterEscape = false;
  #paste: Paste | null = null;
  /** Whether nothing has come for a long time inside a paste, so that its end may be lost. */
  #isStalled = false;

  /** Returns the keys that this chunk completes. */
  push(chunk: string): Key[] {
    const keys: Key[] = [];
    let rest = chunk;
    if (this.#paste !== null && this.#isStalled && rest.startsWith('\u0003')) {
      // Ctrl+C ends a paste whose end is lost: the paste would swallow all later keys.
      this.#paste = null;
    }
    if (rest !== '') this.#isStalled = false;
    if (this.#paste === null) rest = this.#read(rest, keys);
    this.#paste?.push(rest, keys);
    return keys;
  }

  /** Returns the keys of what was held back. The caller calls it when nothing has followed for `patienceMs`. */
  settle(): Key[] {
    const keys: Key[] = [];
    const paste = this.#paste;
    if (paste === null) {
      this.#settleSequence(keys);
      this.#endRun(keys);
      return keys;
    }
    const after = paste.settle(keys);
    if (after === null) this.#isStalled = true;
    else {
      this.#paste = null;
      return keys.concat(this.push(after), this.settle());
    }
    return keys;
  }

  /** Whether `settle` would change anything. */
  get isWaiting(): boolean {
    return this.patienceMs > 0;
  }

  /** How long the caller waits for more before it calls `settle`; 0 when nothing is held back. */
  get patienceMs(): number {
    if (this.#paste !== null) return this.#isStalled ? 0 : this.#paste.patienceMs;
    if (this.#state !== 'text') return patience.sequence;
    return this.#run === '' ? 0 : patience.text;
  }

  /** Returns the characters behind the start of a paste; '' when no paste begins. */
  #read(chunk: string, keys: Key[]): string {
    for (let at = 0; at < chunk.length;) {
      if (this.#state === 'text') {
        control.lastIndex = at;
        const end = control.exec(chunk)?.index ?? chunk.length;
        this.#extendRun(chunk.slice(at, end), keys);
        at = end;
        if (at === chunk.length) break;
      }
      // When a sequence is broken off, the character that broke it off is read again, as the first of something new.
      if (this.#take(chunk.charAt(at), keys)) at += 1;
      if (this.#paste !== null) return chunk.slice(at);
    }
    return '';
  }

  #extendRun(text: string, keys: Key[]): void {
    this.#run += text;
    while (this.#run.length > maxPiece) {
      const piece = cutPiece(this.#run);
      this.#run = this.#run.slice(piece.length);
      this.#runIsPaste = true;
      keys.push(pasteOf(piece));
    }
  }

  #endRun(keys: Key[]): void {
    const run = this.#run;
    if (run === '') return;
    const isPaste = this.#runIsPaste || pastedLines.test(run);
    this.#run = '';
    this.#runIsPaste = false;
    if (isPaste) keys.push(pasteOf(run));
    else for (const [piece] of run.matchAll(/\r\n?|\n|\t|[^\r\n\t]+/g)) keys.push(typed(piece));
  }

  /** Returns false when the character must be read again, as it does not belong to the sequence. */
  #take(character: string, keys: Key[]): boolean {
    const code = character.charCodeAt(0);
    switch (this.#state) {
      case 'text':
        this.#endRun(keys);
        this.#takeControl(code, keys);
        return true;
      case 'escape':
        return this.#takeAfterEscape(character, keys);
      case 'two escapes':
        this.#isAfterEscape = character === '[' || character === 'O';
        if (!this.#isAfterEscape) keys.push(press('escape'));
        this.#state = 'escape';
        return this.#takeAfterEscape(character, keys);
      case 'csi':
      case 'ss3':
        return this.#takeInSequence(character, this.#state, keys);
      case 'console':
        this.#state = 'text';
        return code >= 0x20;
      case 'string':
        if (code === 0x1b) this.#state = 'string-escape';
        else if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
          this.#state = 'text';
          return code === 0x07 || code === 0x9c;
        }
        return true;
      case 'string-escape':
        this.#state = character === '\\' ? 'text' : 'escape';
        return character === '\\';
      case 'half':
        this.#state = 'text';
        return code >= 0xdc00 && code <= 0xdfff;
    }
  }

  #takeControl(code: number, keys: Key[]): void {
    if (code === 0x1b) this.#state = 'escape';
    else if (code === 0x9b) this.#beginSequence('csi');
    else if (code === 0x8f) this.#beginSequence('ss3');
    else if (code === 0x90 || code === 0x98 || (code >= 0x9d && code <= 0x9f)) this.#state = 'string';
    else keys.push(...controlKey(code, {}));
  }

  #beginSequence(kind: 'csi' | 'ss3'): void {
    this.#state = kind;
    this.#parameters = '';
  }

  #takeAfterEscape(character: string, keys: Key[]): boolean {
    const code = character.charCodeAt(0);
    if (code === 0x1b) {
      this.#state = 'two escapes';
      return true;
    }
    if (character === '[' || character === 'O') {
      this.#beginSequence(character === '[' ? 'csi' : 'ss3');
      return true;
    }
    this.#state = /[\]PX^_]/.test(character) ? 'string' : 'text';
    if (code >= 0xd800 && code <= 0xdbff) this.#state = 'half';
    const letter = letterOf(character);
    if (code < 0x20 || code === 0x7f) keys.push(...controlKey(code, { alt: true }));
    else if (this.#state === 'text' && letter !== null) {
      keys.push(press(letter, { alt: true, shift: letter !== character }));
    }
    return true;
  }

  #takeInSequence(character: string, kind: 'csi' | 'ss3', keys: Key[]): boolean {
    if (character >= ' ' && character <= '?') {
      // Longer parameters stand for no key, with any last character.
      if (this.#parameters.length < maxParameters) this.#parameters += character;
      return true;
    }
    const isAfterEscape = this.#isAfterEscape;
    this.#state = 'text';
    this.#isAfterEscape = false;
    if (character < '@' || character > '~') return false;
    if (kind === 'csi' && character === '[' && this.#parameters === '') {
      // Function keys of the Linux console.
      this.#state = 'console';
      return true;
    }
    const key = keyOfSequence({ kind, parameters: this.#parameters, final: character, isAfterEscape });
    if (key === 'start of paste') this.#paste = new Paste();
    else if (key !== null) keys.push(key);
    return true;
  }

  #settleSequence(keys: Key[]): void {
    if (this.#state === 'two escapes') keys.push(press('escape'));
    if (this.#state === 'two escapes' || this.#state === 'escape') keys.push(press('escape'));
    this.#state = 'text';
    this.#isAfterEscape = false;
  }
}

const maxParameters = 64;

/** How long, in milliseconds, the reader waits for more: behind a text, behind an escape, and in the middle of a paste. */
const patience = { text: 5, sequence: 30, paste: 1000 };

/**
 * A paste that the terminal marks at its start and end. A hostile text could contain the end mark, to have the rest of it read as keys. So the paste
 * goes on to the last mark that comes at once.
 */
class Paste {
  #body = '';
  /** The text behind an end mark that may not be the last one; null before the first mark. */
  #after: string | null = null;
  /** The end of a chunk, which may be the start of a mark. */
  #tail = '';

  push(chunk: string, keys: Key[]): void {
    let rest = this.#tail + chunk;
    for (let end = rest.indexOf(endOfPaste); end !== -1; end = rest.indexOf(endOfPaste)) {
      this.#body += (this.#after ?? '') + rest.slice(0, end);
      this.#after = '';
      rest = rest.slice(end + endOfPaste.length);
    }
    const whole = rest.length - startOfMark(rest);
    this.#tail = rest.slice(whole);
    if (this.#after === null) this.#body += rest.slice(0, whole);
    else this.#after += rest.slice(0, whole);
    this.#deliver(keys);
  }

  #deliver(keys: Key[]): void {
    while (this.#after !== null && this.#after.length > maxPiece) {
      const piece = cutPiece(this.#after);
      this.#body += piece;
      this.#after = this.#after.slice(piece.length);
    }
    while (this.#body.length > maxPiece) {
      const piece = cutPiece(this.#body);
      this.#body = this.#body.slice(piece.length);
      keys.push(pasteOf(piece));
    }
  }

  /** Delivers the paste and returns the text behind it. Returns null while its end has not come. */
  settle(keys: Key[]): string | null {
    if (this.#body !== '') keys.push(pasteOf(this.#body));
    this.#body = '';
    return this.#after === null ? null : this.#after + this.#tail;
  }

  get patienceMs(): number {
    if (this.#after === null) return patience.paste;
    return this.#after + this.#tail === '' ? patience.text : patience.sequence;
  }
}

/** How many characters at the end may be the start of the mark that ends a paste. */
function startOfMark(text: string): number {
  for (let length = Math.min(endOfPaste.length - 1, text.length); length > 0; length -= 1) {
    if (endOfPaste.startsWith(text.slice(-length))) return length;
  }
  return 0;
}

/** Returns the longest piece that can be delivered. It never ends with the first half of a character. */
function cutPiece(text: string): string {
  const last = text.charCodeAt(maxPiece - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? maxPiece - 1 : maxPiece);
}

function pasteOf(text: string): Key {
  return { kind: 'paste', text: text.replaceAll(/\r\n?/g, '\n') };
}

function typed(piece: string): Key {
  if (piece === '\n') return press('j', { ctrl: true });
  if (piece === '\t') return press('tab');
  return piece.startsWith('\r') ? press('enter') : { kind: 'text', text: piece };
}

function controlKey(code: number, modifiers: Modifiers): readonly Key[] {
  if (code === 0x0d) return [press('enter', modifiers)];
  if (code === 0x09) return [press('tab', modifiers)];
  if (code === 0x7f) return [press('backspace', modifiers)];
  const letter = code < 0x20 ? letterOf(String.fromCharCode(code + 0x60)) : null;
  return letter === null ? [] : [press(letter, { ...modifiers, ctrl: true })];
}
