/** Puts tool calls together that a stream brings in pieces. */

import type { ToolCallBlock } from '../../driver.ts';
import { countIn, isObject, objectIn, textIn, type JsonObject } from '../../json.ts';
import {
  ArgumentsSoFar,
  argumentsText,
  checkParts,
  isWhole,
  sameArguments,
  withoutRepeats,
} from '../call-arguments.ts';
import { type CallCompanions, noCompanions, withPiece } from './reply-companions.ts';

/** A call with what came beside it. */
export interface GivenCall extends ToolCallBlock {
  readonly given: CallCompanions;
}

interface PartialCall {
  readonly index: number | null;
  id: string;
  name: string;
  readonly input: ArgumentsSoFar;
  given: CallCompanions;
}

interface Piece {
  readonly index: number | null;
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

/**
 * Tool calls put together from their pieces. By the protocol a piece belongs to the call of its index. Servers that leave the index out or
 * give every call the same one are recognised by the id of a call that has begun, and by a piece that names a tool anew after a call is whole.
 */
export class ToolCallPieces {
  readonly #calls: PartialCall[] = [];

  /** One entry of `delta.tool_calls`, or a legacy `delta.function_call`. */
  add(entry: JsonObject): void {
    const piece = readPiece(entry);
    const call = this.#callOf(piece);
    if (call === null) {
      const input = new ArgumentsSoFar();
      input.add(piece.input);
      this.#calls.push({ ...piece, input, given: withPiece(noCompanions, entry) });
      checkParts(this.#calls.length, 'tool calls');
      return;
    }
    call.given = withPiece(call.given, entry);
    call.id ||= piece.id;
    // Some servers repeat the whole name in every piece, or the whole call at its end.
    if (call.name !== piece.name) call.name += piece.name;
    if (!repeats(call.input, piece.input)) call.input.add(piece.input);
  }

  /** Whether there is a call, and the arguments of each are whole: nothing of them was cut off. */
  get areWhole(): boolean {
    return this.#calls.length > 0 && this.#calls.every(({ input }) => isWhole(argumentsText(input.text)));
  }

  /** The calls in the order in which they began. No arguments at all read as `{}`. */
  finish(): readonly GivenCall[] {
    return withoutRepeats(
      this.#calls.map(({ id, name, input, given }) => ({ id, name, input: argumentsText(input.text), given })),
    );
  }

  #callOf(piece: Piece): PartialCall | null {
    const { index } = piece;
    const place = (call: PartialCall): boolean => index === null || call.index === null || call.index === index;
    const known = piece.id === '' ? undefined : this.#calls.findLast((call) => call.id === piece.id && place(call));
    const call = known ?? (index === null ? this.#calls.at(-1) : this.#calls.findLast((each) => each.index === index));
    return call === undefined || beginsAnother(call, piece) ? null : call;
  }
}

/** Looked at where the piece is about as long as all before it: a stream of small ones costs no more than its length. */
function repeats(before: ArgumentsSoFar, piece: string): boolean {
  return piece.length * 4 >= before.text.length && before.isWhole && sameArguments(before.text, piece);
}

function readPiece(entry: JsonObject): Piece {
  const called = objectIn(entry, 'function') ?? entry;
  const given = called['arguments'];
  return {
    index: countIn(entry, 'index'),
    id: textIn(entry, 'id'),
    name: textIn(called, 'name'),
    input: isObject(given) ? JSON.stringify(given) : textIn(called, 'arguments'),
  };
}

function beginsAnother({ id, name, input }: PartialCall, piece: Piece): boolean {
  if (piece.name === '' || name === '') return false;
  const otherId = piece.id !== '' && id !== '' && piece.id !== id;
  // Without an index only the id distinguishes calls. Some servers that give an index make a new id for every piece.
  if (otherId && (piece.index === null || input.text === '' || input.isWhole)) return true;
  if (piece.input === '' || !input.isWhole) return false;
  if (piece.name !== name) return true;
  const goesOn = argumentsText(input.text) === '{}' || sameArguments(input.text, piece.input);
  return piece.index === null && piece.id === '' ? true : !goesOn;
}
