/** Puts tool calls together that a stream brings in pieces. */

import type { ToolCallBlock } from '@svc/guest/driver.ts';
import { countIn, isObject, objectIn, parseJson, textIn, type JsonObject } from '@svc/guest/json.ts';
import { type CallCompanions, noCompanions, withPiece } from './reply-companions.ts';

/** A call with what came beside it. */
export interface GivenCall extends ToolCallBlock {
  readonly given: CallCompanions;
}

interface PartialCall {
  readonly index: number | null;
  id: string;
  name: string;
  input: string;
  given: CallCompanions;
}

interface Piece {
  readonly index: number | null;
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

/**
 * Tool calls put together from their pieces. By the protocol a piece belongs to the call of its index; servers that leave the
 * index out or give every call the same one are recognised by a piece that names a tool anew after a call is whole.
 */
export class ToolCallPieces {
  readonly #calls: PartialCall[] = [];

  /** One entry of `delta.tool_calls`, or a legacy `delta.function_call`. */
  add(entry: JsonObject): void {
    const piece = readPiece(entry);
    const call = this.#callOf(piece);
    if (call === null) {
      this.#calls.push({ ...piece, given: withPiece(noCompanions, entry) });
      return;
    }
    call.given = withPiece(call.given, entry);
    call.id ||= piece.id;
    // Some servers repeat the whole name in every piece.
    if (call.name !== piece.name) call.name += piece.name;
    call.input += piece.input;
  }

  /** The calls in the order in which they began. No arguments at all read as `{}`. */
  finish(): readonly GivenCall[] {
    return this.#calls.map(({ id, name, input, given }) => ({
      id,
      name,
      input: input.trim() === '' ? '{}' : input,
      given,
    }));
  }

  #callOf(piece: Piece): PartialCall | null {
    const sameIndex = this.#calls.findLast((call) => call.index === piece.index);
    const call = piece.index === null ? this.#calls.at(-1) : sameIndex;
    return call === undefined || beginsAnother(call, piece) ? null : call;
  }
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

function beginsAnother(call: PartialCall, piece: Piece): boolean {
  if (piece.name === '' || call.name === '') return false;
  const otherId = piece.id !== '' && call.id !== '' && piece.id !== call.id;
  if (call.input === '') return otherId;
  return isObject(parseJson(call.input)) && (otherId || piece.input !== '');
}
