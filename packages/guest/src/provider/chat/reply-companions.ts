/** What servers give with a reply and its calls, and want back with them: thoughts, signed or not. */

import type { ContentBlock, ThinkingBlock } from '../../driver.ts';
import { isObject, listIn, objectIn, textIn, type JsonObject } from '../../json.ts';
import { carried, carriedBy } from '../companions.ts';
import { isPlainId } from '../conversation.ts';
import { RequestFailure } from '../../request-failure.ts';

/** Spellings of the thoughts themselves. A server that sends both sends the same text twice. */
const spellings = ['reasoning_content', 'reasoning'] as const;
const maxPieces = 524_288;
/** Keys beside a message, a call or the function of a call that go back as they came. */
const companionKeys = ['extra_content', 'thought_signature', 'provider_specific_fields'] as const;

/** What a call brought: beside its id, and beside its name. */
export interface CallCompanions {
  readonly call: JsonObject;
  readonly function: JsonObject;
}

export const noCompanions: CallCompanions = { call: {}, function: {} };

/** What a piece of a call brings, added to what came before. */
export function withPiece(before: CallCompanions, entry: JsonObject): CallCompanions {
  const [call, called] = [companionsIn(entry), companionsIn(objectIn(entry, 'function') ?? {})];
  return { call: { ...before.call, ...call }, function: { ...before.function, ...called } };
}

function companionsIn(entry: JsonObject): JsonObject {
  const found = companionKeys.filter((key) => entry[key] !== undefined && entry[key] !== null);
  return Object.fromEntries(found.map((key) => [key, entry[key]]));
}

interface GivenCall extends CallCompanions {
  readonly id: string;
}

/** What came with one reply. */
export class ReplyCompanions {
  #spelling: string | null = null;
  #message: JsonObject = {};
  /** The pieces of each entry: they are joined once, at the end. */
  readonly #details: JsonObject[][] = [];
  #pieces = 0;

  /** A piece of the message, whole or a part. */
  add(piece: JsonObject): void {
    this.#spelling ??= spellings.find((key) => typeof piece[key] === 'string') ?? null;
    this.#message = { ...this.#message, ...companionsIn(piece) };
    for (const detail of listIn(piece, 'reasoning_details')) if (isObject(detail)) this.#addDetail(detail);
  }

  /** The thoughts of the reply, with what is to go back with it; null when there is nothing of both. */
  blockOf(giver: string, thinking: string, calls: readonly GivenCall[]): ThinkingBlock | null {
    const given = {
      ...(this.#spelling === null ? {} : { as: this.#spelling }),
      ...(this.#details.length === 0 ? {} : { details: this.#details.map(joinedDetail) }),
      ...(isEmpty(this.#message) ? {} : { message: this.#message }),
      ...(calls.every((call) => isEmpty(call.call) && isEmpty(call.function)) ? {} : { calls }),
    };
    const isOdd = calls.some(({ id }) => id !== '' && !isPlainId(id));
    // Thoughts of no words are wanted back too, with calls.
    const isWanted = thinking !== '' || 'details' in given || 'message' in given || calls.length > 0;
    if (!isOdd && (isEmpty(given) || !isWanted)) return thinking === '' ? null : { text: thinking, signature: null };
    return { text: thinking, signature: carried(giver, given) };
  }

  /** Streams bring an entry in pieces, each with its place in the list. */
  #addDetail(detail: JsonObject): void {
    this.#pieces += 1;
    if (this.#pieces > maxPieces) {
      throw new RequestFailure(`the provider sent more than ${maxPieces} pieces of reasoning_details`, {
        transient: false,
      });
    }
    const last = this.#details.at(-1);
    const [first] = last ?? [];
    if (last === undefined || first === undefined || !isSameDetail(first, detail)) this.#details.push([detail]);
    else last.push(detail);
  }
}

function joinedDetail([first = {}, ...more]: readonly JsonObject[]): JsonObject {
  const news = more.flatMap((piece) => Object.entries(piece).filter(([, value]) => value !== null));
  const texts = ['text', 'summary'].flatMap((key) => {
    const pieces = [first, ...more].map((piece) => piece[key]).filter((text) => typeof text === 'string');
    return pieces.length === 0 ? [] : [[key, pieces.join('')] as const];
  });
  return Object.fromEntries([...Object.entries(first), ...news, ...texts]);
}

function isSameDetail(last: JsonObject, detail: JsonObject): boolean {
  const isText = last['type'] === 'reasoning.text' || last['type'] === 'reasoning.summary';
  return isText && last['type'] === detail['type'] && last['index'] === detail['index'];
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}

/** What goes back with a message to the provider that gave it. */
export interface ReturnedCompanions {
  /** Keys of the message. `inTurnWithCalls` says whether calls were made since the user spoke: else servers do without thoughts, and some refuse them. */
  message(inTurnWithCalls: boolean): JsonObject;
  /** The keys of the next call with this id. */
  call(id: string): CallCompanions;
}

/** Reads what a message carries. */
export function companionsOf(content: readonly ContentBlock[], giver: string): ReturnedCompanions {
  const blocks = content.flatMap((block) => (block.tag === 'thinking' ? [block.val] : []));
  const given = blocks.map(({ signature }) => carriedBy(signature, giver) ?? {});
  const details = given.flatMap((each) => listIn(each, 'details'));
  const calls = given.flatMap((each) => listIn(each, 'calls')).filter(isObject);
  const fields = Object.assign({}, ...given.map((each) => objectIn(each, 'message') ?? {})) as JsonObject;
  const thoughts = blocks.map(({ text }, index) => [textIn(given[index] ?? {}, 'as'), text] as const);
  const spelled = thoughts.filter(([as]) => as !== '');
  return {
    message: (inTurnWithCalls) => {
      if (details.length > 0) return { ...fields, reasoning_details: details };
      const [first] = spelled;
      if (first === undefined || !inTurnWithCalls) return fields;
      return { ...fields, [first[0]]: spelled.map(([, text]) => text).join('') };
    },
    call: (id) => {
      const index = calls.findIndex((call) => call['id'] === id);
      const [call] = index === -1 ? [] : calls.splice(index, 1);
      if (call === undefined) return noCompanions;
      return { call: objectIn(call, 'call') ?? {}, function: objectIn(call, 'function') ?? {} };
    },
  };
}
