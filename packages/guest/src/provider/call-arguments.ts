/** Puts the arguments of tool calls right that servers send twice, or with something before them. */

import type { ToolCallBlock } from '../driver.ts';
import { isObject, parseJson } from '../json.ts';

/** Whether the text is a JSON object from its first character to its last. */
export function isWhole(input: string): boolean {
  return isObject(parseJson(input));
}

/** Whether both texts are the same arguments to the digit, one of them perhaps as a JSON text of its own. */
export function sameArguments(left: string, right: string): boolean {
  const other = unwrapped(right);
  return left.trim() === right.trim() || (isWhole(left) && isWhole(other) && compact(left) === compact(other));
}

function unwrapped(input: string): string {
  const value = parseJson(input);
  return typeof value === 'string' ? value : input;
}

/** JSON without the white space between its parts. */
function compact(json: string): string {
  return json.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
}

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
  return calls.filter(
    (call, index) =>
      call.id === '' ||
      !calls
        .slice(0, index)
        .some(({ id, name, input }) => id === call.id && name === call.name && sameArguments(input, call.input)),
  );
}
