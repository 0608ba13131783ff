/** Puts the arguments of tool calls right that servers send twice, or with something before them. */

import type { ToolCallBlock } from '../driver.ts';
import { isObject, parseJson } from '../json.ts';
import { RequestFailure } from '../request-failure.ts';

/** Whether the text is a JSON object from its first character to its last. */
export function isWhole(input: string): boolean {
  return isObject(parseJson(input));
}

/** Whether both texts are the same arguments to the digit, one of them perhaps as a JSON text of its own. */
export function sameArguments(left: string, right: string): boolean {
  return left.trim() === right.trim() || (isWhole(left) && plain(left) === plain(right));
}

function unwrapped(input: string): string {
  const value = parseJson(input);
  return typeof value === 'string' ? value : input;
}

/** JSON without the white space between its parts; what is long stays as it is. */
function compact(json: string): string {
  if (json.length > maxCompared) return json;
  return json.replace(/("[^"\\]*(?:\\.[^"\\]*)*")|\s+/g, '$1');
}

/** Arguments that come in pieces. To know whether they are whole costs no more than their length, however many pieces there are. */
export class ArgumentsSoFar {
  text = '';
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  /** What has come so far: nothing, a part of an object, a whole object, or something else. */
  #state: 'none' | 'open' | 'closed' | 'other' = 'none';
  #isWhole: boolean | null = null;

  add(piece: string): void {
    this.text += piece;
    for (let at = 0; at < piece.length && this.#state !== 'other'; at += 1) this.#follow(piece.charAt(at));
  }

  get isWhole(): boolean {
    if (this.#state !== 'closed') return false;
    return (this.#isWhole ??= isWhole(this.text));
  }

  #follow(character: string): void {
    if (this.#state === 'open') return this.#inside(character);
    if (/[ \t\n\r]/.test(character)) return;
    const opens = this.#state === 'none' && character === '{';
    this.#state = opens ? 'open' : 'other';
    if (opens) this.#depth = 1;
  }

  #inside(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#isInText) {
      if (character === '\\') this.#isEscaped = true;
      else if (character === '"') this.#isInText = false;
    } else if (character === '"') this.#isInText = true;
    else if (character === '{' || character === '[') this.#depth += 1;
    else if (character === '}' || character === ']') {
      this.#depth -= 1;
      if (this.#depth === 0) this.#state = 'closed';
    }
  }
}

const maxCompared = 1024 * 1024;
const emptyBefore = /^\s*\{\s*\}(?=\s*\{)/;

/** Arguments as they are meant: none read as `{}`, `{}` before others counts for nothing, and an object inside a JSON text is taken out. */
export function argumentsText(input: string): string {
  if (input.trim() === '') return '{}';
  const text = input.replace(emptyBefore, '');
  const inner = unwrapped(text);
  return isWhole(inner) ? inner : text;
}

/** The calls without those that came twice: with the same id, name and arguments. */
export function withoutRepeats<Call extends ToolCallBlock>(calls: readonly Call[]): readonly Call[] {
  const seen = new Set<string>();
  return calls.filter(({ id, name, input }) => {
    const key = JSON.stringify([id, name, plain(input)]);
    const isNew = id === '' || !seen.has(key);
    seen.add(key);
    return isNew;
  });
}

/** The same for arguments that are the same. */
function plain(input: string): string {
  const inner = unwrapped(input);
  return isWhole(inner) ? compact(inner) : input.trim();
}

/** The most parts of one reply; a session takes no more calls at once. */
const maxParts = 1_024;

/** Throws `RequestFailure` where a reply has more calls, or blocks, than any that is meant. */
export function checkParts(count: number, what: string): void {
  if (count > maxParts) {
    throw new RequestFailure(`the provider sent a reply of more than ${maxParts} ${what}`, { transient: false });
  }
}
